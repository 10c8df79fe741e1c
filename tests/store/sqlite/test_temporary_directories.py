"""Folders for copies: gone afterwards, and swept away when whoever made them was killed."""

import os
from pathlib import Path

import pytest

from cloudconsole.store.sqlite.backup import MIN_AGE_SECONDS, remove_stale_directories, temporary_directory
from cloudconsole.store.sqlite.store import prepare

pytestmark = pytest.mark.embedded_only


def make_old(folder: Path) -> None:
    before = folder.stat().st_mtime - 2 * MIN_AGE_SECONDS
    os.utime(folder, (before, before))


def leave(place: Path, name: str) -> Path:
    """A folder as a command leaves it that was killed."""
    folder = place / name
    folder.mkdir()
    (folder / "cloud.db").write_text("secret")
    make_old(folder)
    return folder


def test_it_is_for_its_owner_alone_and_gone_afterwards(tmp_path: Path) -> None:
    with temporary_directory(tmp_path, "dry-run") as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "cloud.db").write_text("secret")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [".dry-run-abc", ".restore-abc"])
def test_what_was_left_is_removed_when_a_store_is_prepared(tmp_path: Path, name: str) -> None:
    folder = leave(tmp_path, name)
    prepare(tmp_path)
    assert not folder.exists()


def test_what_is_held_stays(tmp_path: Path) -> None:
    with temporary_directory(tmp_path, "restore") as folder:
        make_old(folder)
        remove_stale_directories(tmp_path)
        assert folder.is_dir()


def test_what_was_made_just_now_stays(tmp_path: Path) -> None:
    (tmp_path / ".dry-run-abc").mkdir()
    remove_stale_directories(tmp_path)
    assert (tmp_path / ".dry-run-abc").is_dir()


def test_nothing_else_is_removed_nor_a_link_followed(tmp_path: Path) -> None:
    others = [leave(tmp_path, name) for name in ("dry-run-abc", ".other-abc")]
    (tmp_path / ".restore-link").symlink_to(others[0])
    (tmp_path / ".restore-file").write_text("precious")
    before = sorted(tmp_path.rglob("*"))
    remove_stale_directories(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before
