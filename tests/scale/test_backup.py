"""Backup and restore of a store on PostgreSQL, with the commands that `admin backup` and `restore` print."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest
from cluster.postgres import PASSWORD, PostgresServer

from tests.harness import clean_environment
from tests.scale.copies import fill_every_table, postgres_rows
from tests.server.commands.conftest import Run


@pytest.fixture
def data(fast_hash_store: Path, tmp_path: Path) -> Path:
    return fill_every_table(copytree(fast_hash_store, tmp_path / "data"))


@pytest.fixture
def address(postgres: PostgresServer, database: str) -> str:
    return postgres.address(database)


@pytest.fixture
def flags(cloudconsole: Run, data: Path, address: str, tmp_path: Path) -> list[object]:
    """Flags that select a PostgreSQL store with rows in every table."""
    password, user = tmp_path / "pass word", address.replace(f":{PASSWORD}", "")
    password.write_text(f"{PASSWORD}\n")
    assert cloudconsole("admin", "copy-to", user, "--password-file", password, "--data", data).code == 0
    return ["--database", user, "--database-password-file", password]


def run_printed_command(output: str, start: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run the part of the output from `start` on in a shell, with only these variables about the store."""
    command = output[output.index(start) :].strip()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["sh", "-c", command],
        env=clean_environment(PATH=path, **variables),
        capture_output=True,
        text=True,
        check=False,
    )


def test_printed_commands_back_up_restore_and_end_sessions(
    cloudconsole: Run, flags: list[object], address: str, tmp_path: Path
) -> None:
    file = tmp_path / "the backup.dump"
    result = cloudconsole("admin", "backup", file, *flags)
    assert (result.code, result.out) == (1, "")
    done = run_printed_command(result.err, "umask 077; PGPASSWORD")
    assert (done.returncode, done.stderr) == (0, "")
    assert file.stat().st_mode & 0o777 == 0o600
    before = postgres_rows(address)
    assert cloudconsole("admin", "node", "add", "since", *flags).code == 0
    result = cloudconsole("admin", "restore", file, *flags)
    assert (result.code, result.out) == (1, "")
    done = run_printed_command(result.err, "PGPASSWORD")
    assert (done.returncode, done.stderr) == (0, "")
    found = postgres_rows(address)
    assert (found.pop("sessions"), found.pop("guest_sessions")) == ([], [])
    assert found.pop("operator_audit")[-1][3] == "end-sessions"
    assert found == {name: rows for name, rows in before.items() if name in found}


def test_printed_restore_command_targets_the_same_store(
    cloudconsole: Run, flags: list[object], address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, elsewhere, config = tmp_path / "the backup.dump", tmp_path / "elsewhere", tmp_path / "my console.toml"
    run_printed_command(cloudconsole("admin", "backup", file, *flags).err, "umask 077")
    config.write_text(f'data = "{elsewhere}"\n')
    with monkeypatch.context() as patch:
        patch.setenv("CLOUDCONSOLE_DATABASE", address)
        result = cloudconsole("admin", "restore", file, "--config", config)
    assert PASSWORD not in result.err
    assert result.err.count(f"--config '{config}' --database 'postgresql:///?") == 2
    assert "in PGPASSWORD or PGPASSFILE: pg_restore" in result.err
    monkeypatch.chdir(tmp_path)
    assert run_printed_command(result.err, "pg_restore", PGPASSWORD="wrong").returncode != 0
    done = run_printed_command(result.err, "pg_restore", PGPASSWORD=PASSWORD)
    assert (done.returncode, done.stderr) == (0, "")
    assert postgres_rows(address)["sessions"] == []
    assert not elsewhere.exists()


def test_init_prints_the_next_commands_without_the_password(cloudconsole: Run, address: str) -> None:
    done = cloudconsole("init", "--password-stdin", "--database", address, stdin=b"a very good one")
    where = "--database 'postgresql:///?"
    assert (done.code, f"serve {where}" in done.out, f"doctor {where}" in done.out) == (0, True, True)
    assert PASSWORD not in done.out
    assert "password not shown: pass it with --database-password-file" in done.out


@pytest.mark.parametrize("verb", ["backup", "restore"])
def test_backup_and_restore_never_show_the_password(cloudconsole: Run, address: str, database: str, verb: str) -> None:
    result = cloudconsole("admin", verb, "x", "--database", address)
    assert (result.code, f"dbname={database}" in result.err, PASSWORD in result.err) == (1, True, False)


def test_embedded_backup_can_still_be_unpacked(
    cloudconsole: Run, flags: list[object], data: Path, tmp_path: Path
) -> None:
    assert cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data).code == 0
    assert cloudconsole("admin", "restore", tmp_path / "b.tar", "--to", tmp_path / "new", *flags).code == 0
