"""Commands that doctor suggests: they run the same installation, as the same user, and fix the problem."""

import getpass
import os
import pwd
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cloudconsole.cli.main import main
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.doctor import sqlite, store
from cloudconsole.server.doctor.config import read_case
from cloudconsole.server.doctor.context_and_findings import DoctorContext, Finding
from cloudconsole.server.doctor.fix_commands import as_root, as_user, program, shell
from cloudconsole.server.doctor.runner import CHECKS
from tests.older_stores import make_older
from tests.server.doctor.conftest import execute, fail_logins

pytestmark = pytest.mark.embedded_only

ONLY_ROOT = pytest.mark.skipif(os.getuid() != 0 and os.environ.get("CI") != "true", reason="only root can chown")
Findings = Callable[[str], list[Finding]]
UNNAMED_USER = 4711
"""A user id without a name."""


def test_program_is_run_by_name_if_it_is_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "my bin" / "cloudconsole"
    installed.parent.mkdir()
    installed.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(installed), "doctor"])
    assert program() == [str(installed)]
    assert shell(*program(), "serve") == f"'{installed}' serve"
    monkeypatch.setenv("PATH", str(installed.parent))
    assert program() == ["cloudconsole"]


def test_module_is_run_with_python_m() -> None:
    assert program() == [sys.executable, "-m", "cloudconsole"]


def test_command_uses_sudo_if_doctor_did(monkeypatch: pytest.MonkeyPatch) -> None:
    user = pwd.getpwuid(os.geteuid()).pw_name
    assert shell("chmod", "600", "a b") == "chmod 600 'a b'"
    monkeypatch.setenv("SUDO_UID", str(os.geteuid() + 1))
    assert shell("chmod", "600", "a b") == f"sudo -u {user} chmod 600 'a b'"


def test_a_command_of_another_user_needs_root(monkeypatch: pytest.MonkeyPatch) -> None:
    daemon = pwd.getpwnam("daemon").pw_uid
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert as_user(daemon, "id") == "runuser -u daemon -- id"
    assert as_root("id") == "id"
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert as_user(daemon, "id") == "sudo -u daemon id"
    assert as_root("id") == "sudo id"
    assert as_user(4711, "id") == ""


def test_flags_that_the_command_accepts_are_repeated() -> None:
    flags = {"config": "my.toml", "data": "my data", "port": "9000"}
    case = DoctorContext(Settings(), [], 0, flags=flags)
    assert case.command("serve").endswith("cloudconsole serve --config my.toml --data 'my data' --port 9000")
    assert case.command("serve", port=1).endswith("cloudconsole serve --config my.toml --data 'my data' --port 1")
    assert case.command("admin", "recount").endswith("admin recount --config my.toml --data 'my data'")


def test_password_in_a_dsn_is_not_repeated() -> None:
    dsn = "postgresql://console:hunter2@127.0.0.1/cloud"
    case = DoctorContext(Settings(database=dsn), [], 0, flags={"database": dsn})
    assert "hunter2" not in case.command("admin", "migrate")


def test_data_directory_is_not_repeated_beside_a_database() -> None:
    case = DoctorContext(Settings(database="postgresql:///cloud"), [], 0, flags={"config": "my.toml", "data": "data"})
    assert case.command("admin", "migrate").endswith("admin migrate --config my.toml")


def paste(commands: str) -> None:
    for command in commands.split(" && "):
        words = shlex.split(command)
        if words[:3] == [sys.executable, "-m", "cloudconsole"]:
            # In this process: the same code, without starting an interpreter.
            assert main(words[3:]) == 0, command
        else:
            subprocess.run(["sh", "-c", command], check=True)


@pytest.fixture(name="data")
def data_with_quoted_name(data: Path, tmp_path: Path) -> Path:
    """The data directory, whose name must be quoted in a shell."""
    directory = tmp_path / "my console's data"
    shutil.move(data, directory)
    directory.chmod(0o700)
    return directory


@pytest.fixture
def findings(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Findings:
    """Return the problems and warnings of a check."""
    config = tmp_path / "my console.toml"
    config.write_text('port = 0\nhost = "0.0.0.0"\n')
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(getpass, "getpass", lambda _prompt: "correct horse battery staple")

    def run(check: str) -> list[Finding]:
        case = read_case({}, {"config": str(config), "data": str(data)}, time.time(), quick=True)
        return [finding for finding in CHECKS[check].run(case) if finding.level != "ok"]

    return run


def _chown(*names: str) -> Callable[[Path], None]:
    """Give files of the data directory to another user; without names, the directory and all files."""

    def chown(data: Path) -> None:
        for name in names or ("", *(file.name for file in data.iterdir())):
            os.chown(data / name, UNNAMED_USER, UNNAMED_USER)

    return chown


def _fail_logins(data: Path) -> None:
    fail_logins(data, "demo", "192.0.2.7", now=time.time())


def _leave_temporary_directory(data: Path) -> None:
    (data / ".restore-abc").mkdir()
    os.utime(data / ".restore-abc", (0, 0))


def _sql(part: str, statement: str) -> Callable[[Path], None]:
    return lambda data: execute(data, part, statement)


@pytest.mark.parametrize(
    ("check", "damage", "level", "text"),
    [
        ("data directory", lambda data: data.chmod(0o755), "warning", "other users can access"),
        ("data directory", lambda data: data.chmod(0o702), "problem", "every user can write to the data directory"),
        ("data directory", lambda data: (data / "cloud.db").chmod(0o640), "problem", "other users can open"),
        pytest.param("data directory", _chown("cloud.db"), "problem", "another user owns cloud.db", marks=ONLY_ROOT),
        pytest.param("data directory", _chown(), "problem", "belongs to 4711", marks=ONLY_ROOT),
        ("data directory", _leave_temporary_directory, "warning", "was left by a killed command"),
        ("data directory", shutil.rmtree, "problem", "no directory"),
        ("databases", lambda data: (data / "activity.db").unlink(), "problem", "does not exist"),
        ("databases", make_older, "problem", "cloud.db has revision 0002, but this version needs"),
        ("databases", _sql("cloud", "PRAGMA journal_mode = DELETE"), "problem", "has journal mode delete, not WAL"),
        ("totals", _sql("cloud", "UPDATE totals SET items = items + 1"), "problem", "totals do not match"),
        ("prices", _sql("cloud", "DELETE FROM prices WHERE kind = 'volume'"), "problem", "× volume on"),
        ("operators", _sql("cloud", "UPDATE accounts SET disabled = 1"), "warning", "no operator can log in"),
        ("operators", _sql("cloud", "UPDATE tenants SET disabled = 1"), "warning", "no operator can log in"),
        ("operators", _sql("cloud", "UPDATE accounts SET role = 'tenant'"), "warning", "no operator can log in"),
        ("operators", _sql("cloud", "DELETE FROM accounts"), "problem", "no accounts"),
        ("sample passwords", lambda _data: None, "problem", "the passwords of demo, other, operator are public"),
        ("login throttle", _fail_logins, "warning", "logins of demo from 192.0.2.7 are throttled"),
    ],
)
def test_the_command_fixes_the_store(
    findings: Findings, data: Path, check: str, damage: Callable[[Path], None], level: str, text: str
) -> None:
    damage(data)
    (fix,) = (finding for finding in findings(check) if text in finding.text)
    assert (fix.level, bool(fix.fix)) == (level, True)
    paste(fix.command)
    assert findings(check) == []


LOCK_SCRIPT = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(f"PRAGMA locking_mode = {sys.argv[2]}")
connection.execute("BEGIN IMMEDIATE")
connection.execute("CREATE TABLE held (a)")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("mode", ["NORMAL", "EXCLUSIVE"])
def test_the_command_ends_the_process_that_locks_the_store(
    findings: Findings, data: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(sqlite, "MAX_WAIT_SECONDS", 0)
    monkeypatch.setattr(store, "READ_TIMEOUT", 0)
    command = [sys.executable, "-c", LOCK_SCRIPT, str(data / "activity.db"), mode]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        try:
            with pytest.raises(sqlite3.OperationalError), sqlite3.connect(data / "activity.db", timeout=0) as other:
                other.execute("DELETE FROM login_failures")
            finding = findings("databases")[0]
            assert f"process {holder.pid}" in finding.text
            assert shlex.split(finding.command) == ["kill", str(holder.pid)]
        finally:
            holder.kill()
