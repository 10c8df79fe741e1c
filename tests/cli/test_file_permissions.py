"""Files that decide where credentials go are rejected when other users can change them."""

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cloudconsole.cli.config import read_profiles
from cloudconsole.cli.errors import UsageError
from cloudconsole.cli.passwords import in_file
from tests.other_users import chown_to_other_user


def read_profiles_of(file: Path) -> object:
    return read_profiles(file)


def read_password_of(file: Path) -> object:
    password = in_file("--password-file", file)
    assert password
    return password.read()


BOTH = pytest.mark.parametrize("read", [read_profiles_of, read_password_of])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "a file"
    file.write_text("# also good as TOML\n")
    file.chmod(0o600)
    return file


@BOTH
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_file_writable_by_others_is_rejected_with_a_fix(file: Path, read: Callable[[Path], object], mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(UsageError) as rejected:
        read(file)
    message, command = str(rejected.value).split("fix it with: ")
    assert message.startswith(f"{file}: ")
    subprocess.run(shlex.split(command), check=True, timeout=300)
    assert read(file)


@BOTH
def test_a_file_that_others_can_only_read_is_accepted(file: Path, read: Callable[[Path], object]) -> None:
    file.chmod(0o644)
    assert read(file)


@BOTH
def test_a_file_that_another_user_owns_is_rejected(
    file: Path, read: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    chown_to_other_user(file, monkeypatch)
    with pytest.raises(UsageError, match=f"owned by another user; .*: chown {os.geteuid()} "):
        read(file)


def test_a_password_may_come_through_a_pipe(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.fchmod(read_end, 0o622)
    os.write(write_end, b"secret\n")
    os.close(write_end)
    try:
        assert read_password_of(Path(f"/dev/fd/{read_end}")) == "secret"
    finally:
        os.close(read_end)
