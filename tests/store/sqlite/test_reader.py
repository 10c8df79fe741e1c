"""Reads, consistent inside a snapshot and current outside, and the change feed."""

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import text

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import DatabaseName
from cloudconsole.store.sqlite.engine import open_engine
from cloudconsole.store.sqlite.reader import SqliteReader

pytestmark = pytest.mark.embedded_only

COUNT = "SELECT COUNT(*) FROM nodes"
CLOUD_COMMIT: dict[str, Any] = {"sql": "INSERT INTO tenants (id, name) VALUES (1, 'a')"}
ACTIVITY_COMMIT: dict[str, Any] = {"sql": "INSERT INTO secrets (name, value) VALUES ('a', x'00')", "part": "activity"}


def commit(folder: Path, sql: str, *, part: DatabaseName = "cloud", keep: bool = True) -> None:
    engine = open_engine(folder, part)
    with engine.connect() as connection, connection.begin() as transaction:
        connection.execute(text(sql))
        if not keep:
            transaction.rollback()
    engine.dispose()


def add_node(folder: Path, name: str) -> None:
    commit(folder, f"INSERT INTO nodes (name) VALUES ('{name}')")


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
    commit(folder, **ACTIVITY_COMMIT)
    assert asyncio.run(stamp()) == before


def test_error_ends_the_snapshot(folder: Path, reader: SqliteReader) -> None:
    async def fail() -> None:
        async with reader.snapshot() as snapshot:
            await snapshot.one("SELECT nothing")

    with pytest.raises(Unavailable):
        asyncio.run(fail())
    add_node(folder, "a")
    assert asyncio.run(reader.one(COUNT)) == (1,)


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


@pytest.mark.parametrize(
    ("commits", "changed"),
    [
        pytest.param([], "", id="no commit"),
        pytest.param([{**CLOUD_COMMIT, "keep": False}], "", id="rollback"),
        pytest.param([CLOUD_COMMIT], "tenant", id="cloud"),
        pytest.param([ACTIVITY_COMMIT], "session", id="activity"),
        pytest.param([CLOUD_COMMIT, ACTIVITY_COMMIT], "tenant session", id="both"),
    ],
)
def test_poll_detects_commits(folder: Path, reader: SqliteReader, commits: list[dict[str, Any]], changed: str) -> None:
    """A commit changes every tenant or every session; commits to both databases are one change."""
    before = poll(reader)
    for given in commits:
        commit(folder, **given)
    assert versions(reader) == before
    after = poll(reader)
    expected = before._replace(**dict.fromkeys(changed.split(), before.latest + 1))
    assert after == expected._replace(latest=before.latest + bool(changed))
    assert reader.changes.tenant_version(2) == after.tenant
    assert reader.changes.session_version(b"another") == after.session
    assert poll(reader) == after


def test_each_poll_numbers_its_changes(folder: Path, reader: SqliteReader) -> None:
    first = poll(reader)
    commit(folder, **CLOUD_COMMIT)
    second = poll(reader)
    commit(folder, **ACTIVITY_COMMIT)
    assert poll(reader) == (first.latest + 2, second.tenant, first.latest + 2)


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
