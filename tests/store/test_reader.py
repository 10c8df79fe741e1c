"""Reading: of one moment inside a snapshot, the newest outside of one; and a stamp that tells of changes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.engine import Part, open_engine
from cloudconsole.store.preparing import prepare
from cloudconsole.store.reader import Reader

COUNT = "SELECT COUNT(*) FROM nodes"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    prepare(tmp_path)
    return tmp_path


@pytest.fixture
def reader(folder: Path) -> Iterator[Reader]:
    opened = Reader(folder)
    yield opened
    opened.close()


def commit(folder: Path, sql: str, *, part: Part = "cloud", keep: bool = True) -> None:
    engine = open_engine(folder, part)
    with engine.connect() as connection, connection.begin() as transaction:
        connection.execute(text(sql))
        if not keep:
            transaction.rollback()
    engine.dispose()


def add_node(folder: Path, name: str) -> None:
    commit(folder, f"INSERT INTO nodes (name) VALUES ('{name}')")


def test_a_read_sees_what_was_committed_before_it(folder: Path, reader: Reader) -> None:
    assert reader.one(COUNT) == (0,)
    add_node(folder, "a")
    assert reader.one(COUNT) == (1,)


def test_in_a_snapshot_all_reads_are_of_one_moment(folder: Path, reader: Reader) -> None:
    with reader.snapshot():
        assert reader.one(COUNT) == (0,)
        stamp = reader.stamp()
        add_node(folder, "a")
        assert (reader.one(COUNT), reader.stamp()) == ((0,), stamp)
    assert reader.one(COUNT) == (1,)
    assert reader.stamp() != stamp


def test_a_snapshot_ends_with_an_error_too(folder: Path, reader: Reader) -> None:
    with pytest.raises(Unavailable), reader.snapshot():
        reader.one("SELECT nothing")
    add_node(folder, "a")
    assert reader.one(COUNT) == (1,)


def test_nothing_can_be_written(reader: Reader) -> None:
    with pytest.raises(Unavailable):
        reader.one("INSERT INTO nodes (name) VALUES ('a')")


# The stamp


def test_the_stamp_stands_while_nothing_happens(reader: Reader) -> None:
    assert len({reader.stamp() for _ in range(10)}) == 1


def test_a_commit_by_another_connection_moves_the_stamp(reader: Reader, folder: Path) -> None:
    before = reader.stamp()
    commit(folder, "INSERT INTO tenants (id, name) VALUES (1, 'a')")
    assert reader.stamp() != before


def test_what_was_taken_back_does_not_move_the_stamp(reader: Reader, folder: Path) -> None:
    before = reader.stamp()
    commit(folder, "INSERT INTO tenants (id, name) VALUES (1, 'a')", keep=False)
    assert reader.stamp() == before


def test_logins_and_calls_do_not_move_the_stamp(reader: Reader, folder: Path) -> None:
    before = reader.stamp()
    commit(folder, "INSERT INTO secrets (name, value) VALUES ('a', x'00')", part="activity")
    assert reader.stamp() == before


def test_reading_does_not_move_the_stamp(reader: Reader) -> None:
    before = reader.stamp()
    with reader.snapshot():
        reader.all("SELECT * FROM tenants")
    assert reader.stamp() == before
