"""Reading: of one moment inside a snapshot, the newest outside of one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.engine import open_engine
from cloudconsole.store.preparing import prepare
from cloudconsole.store.reader import Reader
from cloudconsole.store.tables import nodes

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


def add_node(folder: Path, name: str) -> None:
    engine = open_engine(folder, "cloud")
    with engine.begin() as connection:
        connection.execute(insert(nodes).values(name=name))
    engine.dispose()


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
