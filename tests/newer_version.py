"""Stores migrated by a newer version, and such a version: a copy of the package with one more migration."""

import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Final

import cloudconsole
from cloudconsole.store.base import DATABASE_NAMES
from cloudconsole.store.migrations import known_revisions, record_compatibility
from cloudconsole.store.sqlite.engine import opened
from tests.fork_server import MAX_WAIT_SECONDS
from tests.harness import clean_environment
from tests.stores import database_environment

CURRENT_REVISION: Final = known_revisions()[0]
NEWER_REVISION: Final = f"{int(CURRENT_REVISION) + 1:04}"
_MIGRATION: Final = """
import sqlalchemy as sa
from alembic import op
from cloudconsole.store.migrations import includes_part

revision = "{newer}"
down_revision = "{own}"
oldest_compatible = "{oldest_compatible}"

def upgrade() -> None:
    if includes_part("cloud"):
        op.add_column("tenants", sa.Column("note", sa.Text(), nullable=True))
"""


def make_newer(folder: Path, *, oldest_compatible: str) -> None:
    """Give an embedded store the revision of a newer version."""
    for part in DATABASE_NAMES:
        with opened(folder, part) as engine, engine.begin() as connection:
            record_compatibility(connection, NEWER_REVISION, oldest_compatible)
            connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{NEWER_REVISION}'")


class NewerVersion:
    """A copy of the package with one more migration."""

    def __init__(self, folder: Path, *, oldest_compatible: str) -> None:
        """`oldest_compatible` is what its migration declares."""
        self._folder = folder
        package = folder / "cloudconsole"
        copytree(Path(cloudconsole.__file__).parent, package, ignore=ignore_patterns("__pycache__", "web"))
        migration = _MIGRATION.format(newer=NEWER_REVISION, own=CURRENT_REVISION, oldest_compatible=oldest_compatible)
        (package / "store" / "migrations" / "versions" / f"m{NEWER_REVISION}_note.py").write_text(migration)

    def run(self, *arguments: str, data: Path) -> "subprocess.CompletedProcess[str]":
        """Run `cloudconsole` of this version over a store."""
        environment = clean_environment(
            PYTHONPATH=str(self._folder), CLOUDCONSOLE_DATA=str(data), **database_environment(data)
        )
        command = [sys.executable, "-P", "-m", "cloudconsole", *arguments]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=MAX_WAIT_SECONDS, check=False
        )
