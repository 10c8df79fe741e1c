"""Alembic migrations: one history for both databases.

Alembic is imported only to migrate: most processes find a current store, and Alembic would take a tenth of their
memory.

Migrations follow expand-contract. Each, from 0010 on, declares in `oldest_compatible` the oldest revision whose
programs can serve on the tables it leaves. Older programs do not have its code, so the database itself records it, in
`schema_revisions`.
"""

import json
import logging
from collections.abc import Set
from functools import cache
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, column, func, insert, inspect, select, table

from cloudconsole.core.clock import SystemClock
from cloudconsole.store.base import DatabaseName, StoreError, read_only_engine
from cloudconsole.store.tables import operator_audit

log = logging.getLogger(__name__)

MIGRATE: Final = "migrate"
"""The change in the audit log."""

_VERSION: Final = table("alembic_version", column("version_num"))
_REVISIONS: Final = table("schema_revisions", column("revision"), column("oldest_compatible"))
_SCRIPTS: Final = Path(__file__).with_name("versions")


def migrate(engine: Engine, parts: Set[DatabaseName], revision: str = "head", *, actor: str | None = None) -> None:
    """Bring the database behind `engine` up to date, or to a revision; reject a newer, incompatible one.

    With an `actor`, the migration of existing tables is logged, and audited in the same transaction.
    """
    if is_usable(engine):
        return
    with engine.begin() as connection:
        before = revision_of(connection)
        upgrade(connection, parts, revision)
        after = revision_of(connection)
        is_recorded = actor is not None and before is not None
        if is_recorded and "cloud" in parts:
            revisions = {"before": json.dumps({"revision": before}), "after": json.dumps({"revision": after})}
            entry = {"at": int(SystemClock().now()), "actor": actor, "change": MIGRATE, **revisions}
            connection.execute(insert(operator_audit).values(entry))
    if is_recorded:
        # A warning, so that commands show it too: older versions may be unable to use the tables.
        log.warning(
            "migrated the store (%s) from revision %s to %s",
            ", ".join(sorted(parts)),
            before,
            after,
            extra={"fields": {"event": MIGRATE, "actor": actor, "from_revision": before, "to_revision": after}},
        )


def upgrade(connection: Connection, parts: Set[DatabaseName], revision: str = "head") -> None:
    """Migrate within an open transaction, without committing it."""
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection, "parts": parts})
    config.set_main_option("script_location", "cloudconsole.store:migrations")
    command.upgrade(config, revision)


def is_usable(engine: Engine) -> bool:
    """Whether this program can serve the database: at its own revision, or at a newer, compatible one.

    A newer, incompatible one raises `StoreError`.
    """
    with read_only_engine(engine).connect() as connection:
        revision = revision_of(connection)
        return is_compatible(connection, revision) or is_newest(revision)


def is_compatible(connection: Connection, revision: str | None) -> bool:
    """Return whether the database has a newer revision that declares itself compatible with this program."""
    own = known_revisions()[0]
    if revision is None or revision <= own or not inspect(connection).has_table(_REVISIONS.name):
        return False
    oldest = connection.scalar(select(_REVISIONS.c.oldest_compatible).where(_REVISIONS.c.revision == revision))
    return oldest is not None and oldest <= own


def record_compatibility(connection: Connection, revision: str, oldest_compatible: str) -> None:
    """Record the oldest revision whose programs can serve on a revision's tables and on all before it."""
    before = connection.scalar(select(func.max(_REVISIONS.c.oldest_compatible)))
    oldest = max(oldest_compatible, before or oldest_compatible)
    connection.execute(insert(_REVISIONS).values(revision=revision, oldest_compatible=oldest))


def reject_newer(engine: Engine) -> None:
    """Reject any newer revision, for operations that must know every table and column."""
    is_newest(current_revision(engine))


def is_newest(revision: str | None) -> bool:
    """Return whether a revision is this program's newest; reject an unknown one."""
    known = known_revisions()
    if revision is not None and revision not in known:
        raise StoreError(
            f"the store was created by a newer Cloud Console (revision {revision}): install that version",
            f"数据存储由更新版本的 Cloud Console（版本 {revision}）创建：请安装该版本",
        )
    return revision == known[0]


def current_revision(engine: Engine) -> str | None:
    """Return the revision of the database, or None if it has never been migrated."""
    with read_only_engine(engine).connect() as connection:
        return revision_of(connection)


def revision_of(connection: Connection) -> str | None:
    """Return the revision as seen by a transaction."""
    if not inspect(connection).has_table(_VERSION.name):
        return None
    revision: str | None = connection.scalar(select(_VERSION.c.version_num))
    return revision


@cache
def known_revisions() -> tuple[str, ...]:
    """Return the revisions this program knows, newest first."""
    names = (script.stem.removeprefix("m") for script in _SCRIPTS.glob("m*.py"))
    return tuple(sorted((name.partition("_")[0] for name in names), reverse=True))


def includes_part(part: DatabaseName) -> bool:
    """Return whether the database being migrated contains this part; for use in migrations."""
    from alembic import context

    return part in context.config.attributes["parts"]
