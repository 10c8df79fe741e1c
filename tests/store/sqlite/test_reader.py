"""Reads, consistent inside a snapshot and current outside, and the change feed."""

import asyncio
from pathlib import Path
from typing import NamedTuple

import pytest
from sqlalchemy import text

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import DatabaseName
from cloudconsole.store.sqlite.engine import open_engine
from cloudconsole.store.sqlite.reader import SqliteReader

pytestmark = pytest.mark.embedded_only

COUNT = "SELECT COUNT(*) FROM nodes"
CLOUD_INSERT = "INSERT INTO tenants (id, name) VALUES (1, 'a')"
ACTIVITY_INSERT = "INSERT INTO secrets (name, value) VALUES ('a', x'00')"


def commit(folder: Path, sql: str, *, part: DatabaseName = "cloud", keep: bool = True) -> None:
    engine = open_engine(folder, part)
    with engine.connect() as connection, connection.begin() as transaction:
        connection.execute(text(sql))
        if not keep:
            transaction.rollback()
    engine.dispose()


def add_node(folder: Path, name: str) -> None:
    commit(folder, f"INSERT INTO nodes (name) VALUES ('{name}')")


def count(reader: SqliteReader) -> int:
    row = asyncio.run(reader.one(COUNT))
    assert row is not None
    return int(row[0])


def test_a_read_sees_what_was_committed_before_it(folder: Path, reader: SqliteReader) -> None:
    assert count(reader) == 0
    add_node(folder, "a")
    assert count(reader) == 1


def test_reads_in_a_snapshot_are_consistent(folder: Path, reader: SqliteReader) -> None:
    async def read_while_another_commits() -> None:
        async with reader.snapshot() as snapshot:
            before = await snapshot.one(COUNT), await snapshot.shared_stamp()
            add_node(folder, "a")
            assert (await snapshot.one(COUNT), await snapshot.shared_stamp()) == before
        async with reader.snapshot() as snapshot:
            assert await snapshot.one(COUNT) == (1,)
            assert await snapshot.shared_stamp() != before[1]

    asyncio.run(read_while_another_commits())


def test_shared_stamp_is_stable_while_nothing_shared_changes(folder: Path, reader: SqliteReader) -> None:
    async def stamp() -> int:
        async with reader.snapshot() as snapshot:
            return await snapshot.shared_stamp()

    before = asyncio.run(stamp())
    commit(folder, ACTIVITY_INSERT, part="activity")
    assert asyncio.run(stamp()) == before


def test_error_ends_the_snapshot(folder: Path, reader: SqliteReader) -> None:
    async def fail() -> None:
        async with reader.snapshot() as snapshot:
            await snapshot.one("SELECT nothing")

    with pytest.raises(Unavailable):
        asyncio.run(fail())
    add_node(folder, "a")
    assert count(reader) == 1


def test_reader_cannot_write(reader: SqliteReader) -> None:
    with pytest.raises(Unavailable):
        asyncio.run(reader.one("INSERT INTO nodes (name) VALUES ('a')"))


# Change feed


class Versions(NamedTuple):
    latest: int
    tenant: int
    session: int


def versions(reader: SqliteReader) -> Versions:
    return Versions(reader.changes.latest, reader.changes.tenant_version(1), reader.changes.session_version(b"hash"))


def poll(reader: SqliteReader) -> Versions:
    asyncio.run(reader.changes.poll())
    return versions(reader)


def test_first_poll_invalidates_everything(reader: SqliteReader) -> None:
    before = reader.changes.latest
    assert poll(reader) == (before + 1, before + 1, before + 1)


def test_polls_without_commits_change_nothing(reader: SqliteReader) -> None:
    assert len({poll(reader) for _ in range(10)}) == 1


def test_cloud_commit_changes_every_tenant_and_no_session(folder: Path, reader: SqliteReader) -> None:
    before = poll(reader)
    commit(folder, CLOUD_INSERT)
    after = poll(reader)
    assert after == (before.latest + 1, before.latest + 1, before.session)
    assert reader.changes.tenant_version(2) == after.tenant


def test_activity_commit_changes_every_session_and_no_tenant(folder: Path, reader: SqliteReader) -> None:
    before = poll(reader)
    commit(folder, ACTIVITY_INSERT, part="activity")
    after = poll(reader)
    assert after == (before.latest + 1, before.tenant, before.latest + 1)
    assert reader.changes.session_version(b"another") == after.session


def test_commits_to_both_databases_are_one_change(folder: Path, reader: SqliteReader) -> None:
    before = poll(reader)
    commit(folder, CLOUD_INSERT)
    commit(folder, ACTIVITY_INSERT, part="activity")
    assert poll(reader) == (before.latest + 1,) * 3


def test_each_poll_numbers_its_changes(folder: Path, reader: SqliteReader) -> None:
    first = poll(reader)
    commit(folder, CLOUD_INSERT)
    second = poll(reader)
    commit(folder, ACTIVITY_INSERT, part="activity")
    assert poll(reader) == (first.latest + 2, second.tenant, first.latest + 2)


def test_change_is_unknown_until_the_next_poll(folder: Path, reader: SqliteReader) -> None:
    before = poll(reader)
    commit(folder, CLOUD_INSERT)
    assert versions(reader) == before
    assert poll(reader) != before


def test_rolled_back_transaction_is_not_a_change(folder: Path, reader: SqliteReader) -> None:
    before = poll(reader)
    commit(folder, CLOUD_INSERT, keep=False)
    assert poll(reader) == before


def test_read_is_not_a_change(reader: SqliteReader) -> None:
    async def read() -> None:
        async with reader.snapshot() as snapshot:
            await snapshot.all("SELECT * FROM tenants")

    before = poll(reader)
    asyncio.run(read())
    assert poll(reader) == before


def test_poll_of_a_closed_reader_fails(reader: SqliteReader) -> None:
    reader.close()
    with pytest.raises(Unavailable):
        poll(reader)
