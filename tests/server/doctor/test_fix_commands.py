"""Commands that doctor suggests: they run the same installation, as the same user."""

import os
import pwd
import sys
from pathlib import Path

import pytest

from cloudconsole.server.config.settings import Settings
from cloudconsole.server.doctor.context_and_findings import DoctorContext
from cloudconsole.server.doctor.fix_commands import as_root, as_user, program, shell


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a program that was started by its path."""
    program = tmp_path / "my bin" / "cloudconsole"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(program), "doctor"])
    return program


def test_program_on_the_path_is_run_by_name(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(installed.parent))
    assert program() == ["cloudconsole"]


def test_program_elsewhere_is_run_by_path(installed: Path) -> None:
    assert program() == [str(installed)]
    assert shell(*program(), "serve") == f"'{installed}' serve"


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
