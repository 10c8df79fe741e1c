"""The PostgreSQL document: its examples work in order, with only names and paths replaced."""

import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest
from cluster.postgres import PostgresServer

from tests.harness import clean_environment

pytestmark = pytest.mark.slow

DOCUMENT = (Path(__file__).parents[2] / "docs/operations/postgresql.md").read_text()
PASSWORD = re.compile("PASSWORD '([^']+)'")


def blocks(language: str) -> str:
    return "".join(re.findall(rf"^```{language}\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL))


def test_every_example_works(fast_hash_store: Path, postgres: PostgresServer, database: str, tmp_path: Path) -> None:
    name = f"{database}_documented"
    for statement in blocks("sql").split(";\n"):
        if statement:
            postgres.execute(re.sub(r"\bconsole\b", name, statement))
    substitutions = {
        # The local server has no TLS.
        "?sslmode=verify-full&sslrootcert=/etc/ssl/certs/ca-certificates.crt": "",
        "postgresql://console@db.example.com/console": f"postgresql://{name}@127.0.0.1:{postgres.port}/{name}",
        "/etc/cloudconsole": str(tmp_path),
        "/backups": str(tmp_path),
        "/var/lib/cloudconsole": str(tmp_path / "data"),
    }

    def substituted(text: str) -> str:
        for documented, actual in substitutions.items():
            text = text.replace(documented, actual)
        return text

    found = PASSWORD.search(DOCUMENT)
    assert found is not None
    (tmp_path / "database-password").write_text(found[1])
    (tmp_path / "cloudconsole.toml").write_text(substituted(blocks("toml")))
    copytree(fast_hash_store, tmp_path / "data")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    result = subprocess.run(
        ["sh", "-e", "-c", substituted(blocks("sh"))],
        cwd=tmp_path,
        env=clean_environment(PATH=path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    for words in ("are up to date", "compared row by row", "all sessions ended", "nothing to remove"):
        assert words in result.stdout
    postgres.drop_database(name)
    postgres.execute(f"DROP ROLE {name}")
