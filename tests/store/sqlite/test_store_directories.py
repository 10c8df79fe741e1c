"""Data directories of embedded stores: creation, permissions, and temporary directories for copies."""

import asyncio
import os
import pwd
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from stat import S_IMODE

import pytest

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import DATABASE_NAMES, DatabaseName, Store, StoreError, run_with_reader
from cloudconsole.store.health import unexpected_revisions
from cloudconsole.store.sqlite.permissions import find_unsafe_permissions
from cloudconsole.store.sqlite.store import SqliteStore, prepare, require_current
from cloudconsole.store.sqlite.temporary_directories import (
    MIN_AGE_SECONDS,
    remove_stale_directories,
    temporary_directory,
)
from cloudconsole.store.tables import nodes
from tests.other_users import chown_to_other_user

pytestmark = pytest.mark.embedded_only


async def is_current(store: Store) -> bool:
    async with run_with_reader(store) as reader:
        return await unexpected_revisions(reader) == []


def test_store_is_named_by_its_directory_and_has_no_replicas(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "data")
    assert (str(store), store.replication_wait_seconds) == (f"the store in {tmp_path}/data", 0)


@pytest.mark.parametrize("create", [SqliteStore.migrate, SqliteStore.prepare])
def test_missing_store_is_created(tmp_path: Path, create: Callable[[SqliteStore], None]) -> None:
    store = SqliteStore(tmp_path / "a/b/data")
    assert not store.exists()
    create(store)
    assert store.exists()
    assert asyncio.run(is_current(store))


@pytest.mark.parametrize("part", DATABASE_NAMES)
def test_missing_database_is_not_current(tmp_path: Path, part: DatabaseName) -> None:
    store = SqliteStore(tmp_path)
    with pytest.raises(StoreError):
        store.require_current(part)
    store.migrate()
    store.require_current(part)


def test_written_rows_are_read_until_the_reader_is_closed(folder: Path) -> None:
    store = SqliteStore(folder)
    with store.opened("cloud") as engine, engine.begin() as connection:
        connection.execute(nodes.insert().values(name="north"))

    async def names() -> None:
        async with run_with_reader(store) as reader:
            assert await reader.all("SELECT name FROM nodes") == [("north",)]
        with pytest.raises(Unavailable):
            await reader.all("SELECT name FROM nodes")

    asyncio.run(names())


# Permissions: directories of our own or root's, unless every user can write to them


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


def test_database_of_another_program_is_rejected(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "cloud.db")) as connection, connection:
        connection.execute("CREATE TABLE tenants (something_else TEXT)")
    with pytest.raises(StoreError, match=f"{tmp_path}/cloud.db does not belong to a Cloud Console store: pass"):
        require_current(tmp_path, "cloud")


def test_new_store_is_private_regardless_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        prepare(tmp_path / "data")
    finally:
        os.umask(before)
    assert S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert {S_IMODE(file.stat().st_mode) for file in (tmp_path / "data").iterdir()} == {0o600}
    assert (tmp_path / "data").owner() == pwd.getpwuid(os.geteuid()).pw_name


# Temporary directories: removed after use, or later if the command was killed


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
        assert S_IMODE(directory.stat().st_mode) == 0o700
        (directory / "cloud.db").write_text("secret")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [".dry-run-abc", ".restore-abc"])
def test_stale_directory_is_removed_when_a_store_is_prepared(tmp_path: Path, name: str) -> None:
    directory = leave_directory(tmp_path, name)
    prepare(tmp_path)
    assert not directory.exists()


def test_used_or_recent_directories_and_others_are_not_removed(tmp_path: Path) -> None:
    others = [leave_directory(tmp_path, name) for name in ("dry-run-abc", ".other-abc")]
    (tmp_path / ".restore-link").symlink_to(others[0])
    (tmp_path / ".restore-file").write_text("precious")
    (tmp_path / ".dry-run-recent").mkdir()
    with temporary_directory(tmp_path, "restore") as directory:
        make_old(directory)
        before = sorted(tmp_path.rglob("*"))
        remove_stale_directories(tmp_path)
        assert sorted(tmp_path.rglob("*")) == before
