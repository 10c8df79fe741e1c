"""Backups where there is no room for them, and of stores that cannot be written to: when they are wanted most."""

import os
import resource
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from shutil import copytree

import pytest

from cloudconsole.store.base import DATABASE_NAMES, StoreError
from cloudconsole.store.sqlite.backup import read_only_snapshot
from tests.other_users import STRANGER
from tests.server.commands.conftest import Run

pytestmark = pytest.mark.embedded_only

LITTLE = 128 * 1024
"""Less than a store has."""


@contextmanager
def size_limit() -> Iterator[None]:
    """No file becomes larger than a little."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LITTLE, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def small_disk(folder: Path) -> Iterator[str]:
    """A folder on a disk of its own, or under a limit where no disk can be had; gives what its end is called."""
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={LITTLE}", "none", folder], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        with size_limit():
            yield "Input/output error"
        return
    try:
        yield "No space left on device"
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_full_disk_is_not_blamed_on_the_store(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir(mode=0o700)
    with small_disk(folder) as reason:
        done = cloudconsole("admin", "backup", folder / "b.tar", "--data", data)
        left = list(folder.iterdir())
    assert (done.code, done.err) == (1, f"cloudconsole: {folder}/b.tar cannot be written: {reason}\n")
    assert left == []


def test_a_copy_that_cannot_be_written_is_not_blamed_on_the_store(
    cloudconsole: Run, data: Path, tmp_path: Path
) -> None:
    with size_limit():
        done = cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data)
    assert (done.code, done.err) == (1, f"cloudconsole: {tmp_path}/b.tar cannot be written: Input/output error\n")


# Stores that cannot be written to


class Reader:
    """Someone who may read a store's folder, and write to another one: as root, somebody else."""

    def __init__(self, place: Path) -> None:
        self.data, self.own = place / "data", place / "own"

    @contextmanager
    def at_work(self) -> Iterator[None]:
        is_root = os.geteuid() == 0
        for file in self.data.iterdir():
            file.chmod(0o444 if is_root else 0o400)
        self.data.chmod(0o555 if is_root else 0o500)
        self.own.mkdir(mode=0o700)
        if is_root:
            os.chown(self.own, STRANGER, -1)
            os.seteuid(STRANGER)
        try:
            yield
        finally:
            if is_root:
                os.seteuid(0)
            self.data.chmod(0o700)


@pytest.fixture
def reader() -> Iterator[Reader]:
    # Others cannot look into the usual folders of tests.
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Reader(Path(name))


def as_it_is(data: Path, target: Path) -> None:
    copytree(data, target)


def without_lock(data: Path, target: Path) -> None:
    copytree(data, target)
    (target / "lock").unlink()


def with_a_log(data: Path, target: Path) -> None:
    """As a machine leaves it that stopped: what was written last is in the log alone."""
    with closing(sqlite3.connect(data / "cloud.db")) as writer:
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute("INSERT INTO nodes (name) VALUES ('last')")
        writer.commit()
        copytree(data, target)


@pytest.mark.parametrize("make", [as_it_is, without_lock, with_a_log])
def test_a_store_that_cannot_be_written_to_is_backed_up(
    cloudconsole: Run, data: Path, tmp_path: Path, reader: Reader, make: Callable[[Path, Path], None]
) -> None:
    make(data, reader.data)
    before = sorted(reader.data.iterdir())
    with reader.at_work():
        done = cloudconsole("admin", "backup", reader.own / "b.tar", "--data", reader.data)
        after = sorted(reader.data.iterdir())
    assert done.code == 0
    assert done.err.startswith("cloudconsole: backup finished but not recorded in the audit log: ")
    assert after == before
    assert cloudconsole("admin", "restore", reader.own / "b.tar", "--to", tmp_path / "new").code == 0
    with closing(sqlite3.connect(tmp_path / "new/cloud.db")) as connection:
        found = {name for (name,) in connection.execute("SELECT name FROM nodes")}
    assert found
    assert ("last" in found) is (make is with_a_log)


def test_a_log_that_cannot_be_read_is_not_passed_over(cloudconsole: Run, data: Path, reader: Reader) -> None:
    with_a_log(data, reader.data)
    (reader.data / "cloud.db-shm").unlink()
    with reader.at_work():
        done = cloudconsole("admin", "backup", reader.own / "b.tar", "--data", reader.data)
    words = f"{reader.data}/cloud.db-wal cannot be read in a directory that is not writable"
    fix = "copy the directory to a writable one and pass that with --data"
    assert (done.code, done.err) == (1, f"cloudconsole: {words}: {fix}\n")
    assert list(reader.own.iterdir()) == []


@pytest.mark.parametrize("part", DATABASE_NAMES)
def test_what_others_write_meanwhile_is_noticed(data: Path, part: str) -> None:
    held = ExitStack()
    held.enter_context(read_only_snapshot(data, DATABASE_NAMES))
    with closing(sqlite3.connect(data / f"{part}.db")) as writer, writer:
        writer.execute("CREATE TABLE more (id INTEGER)")
    with pytest.raises(StoreError, match="was written to during the backup: try again"):
        held.close()
