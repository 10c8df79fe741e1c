"""Whose data folder is taken: our own or root's, and none that everyone can write to."""

import os
import pwd
from pathlib import Path
from stat import S_IMODE

import pytest

from cloudconsole.store.base import StoreError
from cloudconsole.store.sqlite.permissions import find_unsafe_permissions
from cloudconsole.store.sqlite.store import prepare, require_current
from tests.other_users import give_to_a_stranger

pytestmark = pytest.mark.embedded_only


def test_a_folder_of_ones_own_is_taken(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert find_unsafe_permissions(tmp_path) is None


def test_a_folder_of_roots_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert find_unsafe_permissions(Path("/")) is None


def test_a_folder_that_a_group_writes_to_is_taken(tmp_path: Path) -> None:
    tmp_path.chmod(0o2770)
    assert find_unsafe_permissions(tmp_path) is None


def test_a_folder_of_another_user_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, ourselves = give_to_a_stranger(tmp_path, monkeypatch)
    danger = find_unsafe_permissions(tmp_path)
    assert danger is not None
    assert danger.text == f"the data directory {tmp_path} belongs to {owner}, who can replace its files"
    assert danger.fix == f"run this as {owner}, or chown -R {ourselves} {tmp_path}"


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
def test_a_folder_that_everyone_writes_to_is_not(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    danger = find_unsafe_permissions(tmp_path)
    assert danger is not None
    assert danger.fix == f"chmod o-w {tmp_path}"


def test_no_store_is_made_in_a_dangerous_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(StoreError, match=f"every user can write to the data directory .*: chmod o-w {tmp_path}"):
        prepare(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_no_store_is_read_in_a_dangerous_folder(data: Path) -> None:
    require_current(data, "cloud")
    data.chmod(0o777)
    with pytest.raises(StoreError, match="every user can write to"):
        require_current(data, "cloud")


def test_what_we_make_is_closed_whatever_the_umask_lets_through(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        prepare(tmp_path / "data")
    finally:
        os.umask(before)
    assert S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert {S_IMODE(file.stat().st_mode) for file in (tmp_path / "data").iterdir()} == {0o600}
    assert (tmp_path / "data").owner() == pwd.getpwuid(os.geteuid()).pw_name
