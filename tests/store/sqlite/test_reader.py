"""Reading: of one moment inside a snapshot, the newest outside of one; and word of what was committed since."""

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
IN_THE_CLOUD = "INSERT INTO tenants (id, name) VALUES (1, 'a')"
IN_THE_ACTIVITY = "INSERT INTO secrets (name, value) VALUES ('a', x'00')"


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


def test_in_a_snapshot_all_reads_are_of_one_moment(folder: Path, reader: SqliteReader) -> None:
    async def read_while_another_commits() -> None:
        async with reader.snapshot() as moment:
            before = await moment.one(COUNT), await moment.shared_stamp()
            add_node(folder, "a")
            assert (await moment.one(COUNT), await moment.shared_stamp()) == before
        async with reader.snapshot() as moment:
            assert await moment.one(COUNT) == (1,)
            assert await moment.shared_stamp() != before[1]

    asyncio.run(read_while_another_commits())


def test_the_shared_stamp_stands_while_nothing_shared_changes(folder: Path, reader: SqliteReader) -> None:
    async def stamp() -> int:
        async with reader.snapshot() as moment:
            return await moment.shared_stamp()

    before = asyncio.run(stamp())
    commit(folder, IN_THE_ACTIVITY, part="activity")
    assert asyncio.run(stamp()) == before


def test_a_snapshot_ends_with_an_error_too(folder: Path, reader: SqliteReader) -> None:
    async def fail() -> None:
        async with reader.snapshot() as moment:
            await moment.one("SELECT nothing")

    with pytest.raises(Unavailable):
        asyncio.run(fail())
    add_node(folder, "a")
    assert count(reader) == 1


def test_nothing_can_be_written(reader: SqliteReader) -> None:
    with pytest.raises(Unavailable):
        asyncio.run(reader.one("INSERT INTO nodes (name) VALUES ('a')"))


# Numbered changes


class Known(NamedTuple):
    latest: int
    of_tenant: int
    of_session: int


def known(reader: SqliteReader) -> Known:
    return Known(reader.changes.latest, reader.changes.tenant_version(1), reader.changes.session_version(b"hash"))


def look(reader: SqliteReader) -> Known:
    asyncio.run(reader.changes.poll())
    return known(reader)


def test_what_was_kept_before_the_first_look_holds_no_more(reader: SqliteReader) -> None:
    before = reader.changes.latest
    assert look(reader) == (before + 1, before + 1, before + 1)


def test_what_was_read_after_a_look_holds_while_nothing_happens(reader: SqliteReader) -> None:
    assert len({look(reader) for _ in range(10)}) == 1


def test_a_commit_to_the_cloud_is_a_change_of_every_tenant_and_of_no_session(
    folder: Path, reader: SqliteReader
) -> None:
    before = look(reader)
    commit(folder, IN_THE_CLOUD)
    after = look(reader)
    assert after == (before.latest + 1, before.latest + 1, before.of_session)
    assert reader.changes.tenant_version(2) == after.of_tenant


def test_a_commit_to_the_activity_is_a_change_of_every_session_and_of_no_tenant(
    folder: Path, reader: SqliteReader
) -> None:
    before = look(reader)
    commit(folder, IN_THE_ACTIVITY, part="activity")
    after = look(reader)
    assert after == (before.latest + 1, before.of_tenant, before.latest + 1)
    assert reader.changes.session_version(b"another") == after.of_session


def test_commits_to_both_are_one_change_of_everything(folder: Path, reader: SqliteReader) -> None:
    before = look(reader)
    commit(folder, IN_THE_CLOUD)
    commit(folder, IN_THE_ACTIVITY, part="activity")
    assert look(reader) == (before.latest + 1,) * 3


def test_each_look_gives_what_it_finds_a_number_of_its_own(folder: Path, reader: SqliteReader) -> None:
    first = look(reader)
    commit(folder, IN_THE_CLOUD)
    second = look(reader)
    commit(folder, IN_THE_ACTIVITY, part="activity")
    assert look(reader) == (first.latest + 2, second.of_tenant, first.latest + 2)


def test_a_change_is_unknown_until_somebody_looks(folder: Path, reader: SqliteReader) -> None:
    before = look(reader)
    commit(folder, IN_THE_CLOUD)
    assert known(reader) == before
    assert look(reader) != before


def test_what_was_taken_back_is_no_change(folder: Path, reader: SqliteReader) -> None:
    before = look(reader)
    commit(folder, IN_THE_CLOUD, keep=False)
    assert look(reader) == before


def test_reading_is_no_change(reader: SqliteReader) -> None:
    async def read() -> None:
        async with reader.snapshot() as moment:
            await moment.all("SELECT * FROM tenants")

    before = look(reader)
    asyncio.run(read())
    assert look(reader) == before


def test_where_nothing_can_be_learnt_a_look_fails(reader: SqliteReader) -> None:
    reader.close()
    with pytest.raises(Unavailable):
        look(reader)
