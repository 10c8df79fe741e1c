"""Backup and restore of a store on PostgreSQL: the advice of the commands, run by a shell as it stands."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest
from cluster.postgres import PostgresServer

from tests.harness import clean_environment
from tests.scale.copies import fill_every_table, in_database
from tests.server.commands.conftest import Run


@pytest.fixture
def data(quick_store: Path, tmp_path: Path) -> Path:
    return fill_every_table(copytree(quick_store, tmp_path / "data"))


@pytest.fixture
def flags(cloudconsole: Run, data: Path, postgres: PostgresServer, database: str, tmp_path: Path) -> tuple[object, ...]:
    """Those that name a store on PostgreSQL with something in every table."""
    password = tmp_path / "pass word"
    password.write_text(f"{postgres.password}\n")
    address = postgres.address(database, password=False)
    assert cloudconsole("admin", "copy-to", address, "--password-file", password, "--data", data).code == 0
    return ("--database", address, "--database-password-file", password)


def paste(said: str, beginning: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run what was said, from this beginning on, by a shell that knows no more of the store than these variables."""
    line = said[said.index(beginning) :].strip()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["sh", "-c", line], env=clean_environment(PATH=path, **variables), capture_output=True, text=True, check=False
    )


def test_the_advice_backs_up_and_restores_and_ends_the_sessions_that_live_again(
    cloudconsole: Run, flags: tuple[object, ...], postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    file = tmp_path / "the backup.dump"
    said = cloudconsole("admin", "backup", file, *flags)
    assert (said.code, said.out) == (1, "")
    done = paste(said.err, "umask 077; PGPASSWORD")
    assert (done.returncode, done.stderr) == (0, "")
    assert file.stat().st_mode & 0o777 == 0o600
    before = in_database(postgres.address(database))
    assert cloudconsole("admin", "node", "add", "since", *flags).code == 0
    said = cloudconsole("admin", "restore", file, *flags)
    assert (said.code, said.out) == (1, "")
    done = paste(said.err, "PGPASSWORD")
    assert (done.returncode, done.stderr) == (0, "")
    found = in_database(postgres.address(database))
    assert (found.pop("sessions"), found.pop("guest_sessions")) == ([], [])
    assert found.pop("operator_audit")[-1][3] == "end-sessions"
    assert found == {name: rows for name, rows in before.items() if name in found}


@pytest.mark.parametrize("named_by", ["flag", "variable", "file"])
def test_the_advice_acts_on_the_same_store_where_the_password_is_in_the_address(
    cloudconsole: Run,
    flags: tuple[object, ...],
    postgres: PostgresServer,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    named_by: str,
) -> None:
    file = tmp_path / "the backup.dump"
    paste(cloudconsole("admin", "backup", file, *flags).err, "umask 077")
    address, elsewhere = postgres.address(database), tmp_path / "elsewhere"
    config = tmp_path / "my console.toml"
    config.write_text(f'data = "{elsewhere}"\n' + (f'database = "{address}"\n' if named_by == "file" else ""))
    with monkeypatch.context() as only_here:
        if named_by == "variable":
            only_here.setenv("CLOUDCONSOLE_DATABASE", address)
        named = ("--database", address) if named_by == "flag" else ()
        said = cloudconsole("admin", "restore", file, "--config", config, *named)
    assert postgres.password not in said.err
    assert said.err.count(f"--config '{config}' --database 'postgresql:///?") == 2
    assert "in PGPASSWORD or PGPASSFILE: pg_restore" in said.err
    monkeypatch.chdir(tmp_path)
    refused = paste(said.err, "pg_restore", PGPASSWORD="wrong")
    assert refused.returncode != 0
    done = paste(said.err, "pg_restore", PGPASSWORD=postgres.password)
    assert (done.returncode, done.stderr) == (0, "")
    assert in_database(postgres.address(database))["sessions"] == []
    assert not elsewhere.exists()


def test_a_new_store_names_the_commands_that_come_next_without_the_password(
    cloudconsole: Run, postgres: PostgresServer, database: str
) -> None:
    done = cloudconsole("init", "--password-stdin", "--database", postgres.address(database), stdin=b"a very good one")
    assert done.code == 0
    assert postgres.password not in done.out
    where = "--database 'postgresql:///?"
    assert (f"serve {where}" in done.out, f"doctor {where}" in done.out) == (True, True)
    assert "password not shown: pass it with --database-password-file" in done.out


def test_no_password_is_shown(cloudconsole: Run, postgres: PostgresServer, database: str, tmp_path: Path) -> None:
    for command in ("backup", "restore"):
        said = cloudconsole("admin", command, tmp_path / "x", "--database", postgres.address(database))
        assert said.code == 1
        assert postgres.password not in said.err
        assert f"dbname={database}" in said.err


def test_a_backup_of_an_embedded_store_can_still_be_taken_apart(
    cloudconsole: Run, flags: tuple[object, ...], data: Path, tmp_path: Path
) -> None:
    assert cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data).code == 0
    assert cloudconsole("admin", "restore", tmp_path / "b.tar", "--to", tmp_path / "new", *flags).code == 0
