"""Accepted data directories: our own or root's, unless every user can write to them."""

import os
import pwd
from pathlib import Path
from stat import S_IMODE

import pytest

from cloudconsole.store.base import StoreError
from cloudconsole.store.sqlite.permissions import find_unsafe_permissions
from cloudconsole.store.sqlite.store import prepare, require_current
from tests.other_users import chown_to_other_user

pytestmark = pytest.mark.embedded_only


@pytest.mark.parametrize("mode", [0o755, 0o2770])
def test_own_directory_that_not_everyone_can_write_to_is_accepted(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    assert find_unsafe_permissions(tmp_path) is None


def test_directory_of_root_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert find_unsafe_permissions(Path("/")) is None


def test_directory_of_another_user_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, current_user = chown_to_other_user(tmp_path, monkeypatch)
    problem = find_unsafe_permissions(tmp_path)
    assert problem is not None
    assert problem.text == f"the data directory {tmp_path} belongs to {owner}, who can replace its files"
    assert problem.fix == f"run this as {owner}, or chown -R {current_user} {tmp_path}"


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
def test_world_writable_directory_is_rejected(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    problem = find_unsafe_permissions(tmp_path)
    assert problem is not None
    assert problem.fix == f"chmod o-w {tmp_path}"


def test_no_store_is_created_in_an_unsafe_directory(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(StoreError, match=f"every user can write to the data directory .*: chmod o-w {tmp_path}"):
        prepare(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_no_store_is_read_in_an_unsafe_directory(data: Path) -> None:
    require_current(data, "cloud")
    data.chmod(0o777)
    with pytest.raises(StoreError, match="every user can write to"):
        require_current(data, "cloud")


def test_new_store_is_private_regardless_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        prepare(tmp_path / "data")
    finally:
        os.umask(before)
    assert S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert {S_IMODE(file.stat().st_mode) for file in (tmp_path / "data").iterdir()} == {0o600}
    assert (tmp_path / "data").owner() == pwd.getpwuid(os.geteuid()).pw_name
