"""Backups to full disks and of read-only stores: situations in which a backup matters most."""

import os
import resource
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from cloudconsole.store.base import DATABASE_NAMES, StoreError
from cloudconsole.store.sqlite.backup import read_only_snapshot
from tests.other_users import OTHER_UID
from tests.server.commands.conftest import Run

pytestmark = pytest.mark.embedded_only

SMALL_SIZE = 128 * 1024
"""Less than the size of a store."""


@contextmanager
def size_limit() -> Iterator[None]:
    """Limit the size of every file that is written."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL_SIZE, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def small_disk(directory: Path) -> Iterator[str]:
    """Mount a small disk, or limit file sizes where that is not possible; yield the expected error."""
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SMALL_SIZE}", "none", directory], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        with size_limit():
            yield "Input/output error"
        return
    try:
        yield "No space left on device"
    finally:
        subprocess.run(["umount", directory], check=True)


def test_full_disk_is_reported_for_the_backup_file(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    directory = tmp_path / "small"
    directory.mkdir(mode=0o700)
    with small_disk(directory) as reason:
        done = cloudconsole("admin", "backup", directory / "b.tar", "--data", data)
        left = list(directory.iterdir())
    assert (done.code, done.err) == (1, f"cloudconsole: {directory}/b.tar cannot be written: {reason}\n")
    assert left == []


def test_failed_copy_is_reported_for_the_backup_file(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    with size_limit():
        done = cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data)
    assert (done.code, done.err) == (1, f"cloudconsole: {tmp_path}/b.tar cannot be written: Input/output error\n")


# Read-only stores


class ReadOnlyUser:
    """A user who may only read the data directory, and write to another one; for root, a different user."""

    def __init__(self, parent: Path) -> None:
        self.data, self.writable = parent / "data", parent / "own"

    @contextmanager
    def active(self) -> Iterator[None]:
        is_root = os.geteuid() == 0
        for file in self.data.iterdir():
            file.chmod(0o444 if is_root else 0o400)
        self.data.chmod(0o555 if is_root else 0o500)
        self.writable.mkdir(mode=0o700)
        if is_root:
            os.chown(self.writable, OTHER_UID, -1)
            os.seteuid(OTHER_UID)
        try:
            yield
        finally:
            if is_root:
                os.seteuid(0)
            self.data.chmod(0o700)


@pytest.fixture
def read_only_user() -> Iterator[ReadOnlyUser]:
    # Other users cannot read pytest's temporary directories.
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield ReadOnlyUser(Path(name))


def without_lock(data: Path, target: Path) -> None:
    copytree(data, target, ignore=ignore_patterns("lock"))


def with_wal(data: Path, target: Path) -> None:
    """As after a crash: the last change is only in the write-ahead log."""
    with closing(sqlite3.connect(data / "cloud.db")) as writer:
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute("INSERT INTO nodes (name) VALUES ('last')")
        writer.commit()
        copytree(data, target)


@pytest.mark.parametrize("copy_store", [copytree, without_lock, with_wal])
def test_read_only_store_is_backed_up(
    cloudconsole: Run,
    data: Path,
    tmp_path: Path,
    read_only_user: ReadOnlyUser,
    copy_store: Callable[[Path, Path], object],
) -> None:
    copy_store(data, read_only_user.data)
    before = sorted(read_only_user.data.iterdir())
    with read_only_user.active():
        done = cloudconsole("admin", "backup", read_only_user.writable / "b.tar", "--data", read_only_user.data)
        after = sorted(read_only_user.data.iterdir())
    assert done.code == 0
    assert done.err.startswith("cloudconsole: backup finished but not recorded in the audit log: ")
    assert after == before
    assert cloudconsole("admin", "restore", read_only_user.writable / "b.tar", "--to", tmp_path / "new").code == 0
    with closing(sqlite3.connect(tmp_path / "new/cloud.db")) as connection:
        found = {name for (name,) in connection.execute("SELECT name FROM nodes")}
    assert found
    assert ("last" in found) is (copy_store is with_wal)


def test_unreadable_wal_fails_the_backup(cloudconsole: Run, data: Path, read_only_user: ReadOnlyUser) -> None:
    with_wal(data, read_only_user.data)
    (read_only_user.data / "cloud.db-shm").unlink()
    with read_only_user.active():
        done = cloudconsole("admin", "backup", read_only_user.writable / "b.tar", "--data", read_only_user.data)
    message = f"{read_only_user.data}/cloud.db-wal cannot be read in a directory that is not writable"
    fix = "copy the directory to a writable one and pass that with --data"
    assert (done.code, done.err) == (1, f"cloudconsole: {message}: {fix}\n")
    assert list(read_only_user.writable.iterdir()) == []


@pytest.mark.parametrize("part", DATABASE_NAMES)
def test_write_during_a_read_only_snapshot_is_detected(data: Path, part: str) -> None:
    snapshot = ExitStack()
    snapshot.enter_context(read_only_snapshot(data, DATABASE_NAMES))
    with closing(sqlite3.connect(data / f"{part}.db")) as writer, writer:
        writer.execute("CREATE TABLE more (id INTEGER)")
    with pytest.raises(StoreError, match="was written to during the backup: try again"):
        snapshot.close()
