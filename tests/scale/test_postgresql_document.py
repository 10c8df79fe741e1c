"""The document of a store on PostgreSQL: its examples work in their order, as they stand but for names and places."""

import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest
from cluster.postgres import PostgresServer

from tests.harness import clean_environment

pytestmark = pytest.mark.long

DOCUMENT = (Path(__file__).parents[2] / "docs/operations/postgresql.md").read_text()
PASSWORD = re.compile("PASSWORD '([^']+)'")


def blocks(language: str) -> str:
    return "".join(re.findall(rf"^```{language}\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL))


def test_every_example_works(quick_store: Path, postgres: PostgresServer, database: str, tmp_path: Path) -> None:
    name = f"{database}_documented"
    for statement in blocks("sql").split(";\n"):
        if statement:
            postgres.execute(re.sub(r"\bconsole\b", name, statement))
    places = {
        # There is no TLS to this machine itself.
        "?sslmode=verify-full&sslrootcert=/etc/ssl/certs/ca-certificates.crt": "",
        "postgresql://console@db.example.com/console": f"postgresql://{name}@127.0.0.1:{postgres.port}/{name}",
        "/etc/cloudconsole": str(tmp_path),
        "/backups": str(tmp_path),
        "/var/lib/cloudconsole": str(tmp_path / "data"),
    }

    def here(text: str) -> str:
        for documented, place in places.items():
            text = text.replace(documented, place)
        return text

    found = PASSWORD.search(DOCUMENT)
    assert found is not None
    (tmp_path / "database-password").write_text(found[1])
    (tmp_path / "cloudconsole.toml").write_text(here(blocks("toml")))
    copytree(quick_store, tmp_path / "data")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-e", "-c", here(blocks("sh"))],
        cwd=tmp_path,
        env=clean_environment(PATH=path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("are up to date", "compared row by row", "all sessions ended", "nothing to remove"):
        assert words in done.stdout
    postgres.drop_database(name)
    postgres.execute(f"DROP ROLE {name}")
