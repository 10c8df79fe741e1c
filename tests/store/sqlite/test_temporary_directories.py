"""Temporary directories for copies: removed after use, or later if the command was killed."""

import os
from pathlib import Path

import pytest

from cloudconsole.store.sqlite.store import prepare
from cloudconsole.store.sqlite.temporary_directories import (
    MIN_AGE_SECONDS,
    remove_stale_directories,
    temporary_directory,
)

pytestmark = pytest.mark.embedded_only


def make_old(directory: Path) -> None:
    before = directory.stat().st_mtime - 2 * MIN_AGE_SECONDS
    os.utime(directory, (before, before))


def leave_directory(parent: Path, name: str) -> Path:
    """Create a directory as a killed command leaves it."""
    directory = parent / name
    directory.mkdir()
    (directory / "cloud.db").write_text("secret")
    make_old(directory)
    return directory


def test_directory_is_private_and_removed_after_use(tmp_path: Path) -> None:
    with temporary_directory(tmp_path, "dry-run") as directory:
        assert directory.stat().st_mode & 0o777 == 0o700
        (directory / "cloud.db").write_text("secret")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [".dry-run-abc", ".restore-abc"])
def test_stale_directory_is_removed_when_a_store_is_prepared(tmp_path: Path, name: str) -> None:
    directory = leave_directory(tmp_path, name)
    prepare(tmp_path)
    assert not directory.exists()


def test_directory_in_use_is_not_removed(tmp_path: Path) -> None:
    with temporary_directory(tmp_path, "restore") as directory:
        make_old(directory)
        remove_stale_directories(tmp_path)
        assert directory.is_dir()


def test_recent_directory_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / ".dry-run-abc").mkdir()
    remove_stale_directories(tmp_path)
    assert (tmp_path / ".dry-run-abc").is_dir()


def test_other_files_and_links_are_not_removed(tmp_path: Path) -> None:
    others = [leave_directory(tmp_path, name) for name in ("dry-run-abc", ".other-abc")]
    (tmp_path / ".restore-link").symlink_to(others[0])
    (tmp_path / ".restore-file").write_text("precious")
    before = sorted(tmp_path.rglob("*"))
    remove_stale_directories(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before
