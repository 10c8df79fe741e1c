"""The operator's prices as backends read them: always the newest, and a node's by its name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

from cloudconsole.backends.prices import KeptPrices
from cloudconsole.core.kinds import Amounts
from cloudconsole.store.engine import opened
from cloudconsole.store.preparing import prepare
from cloudconsole.store.reader import Reader
from cloudconsole.store.tables import nodes, prices

TEN_GB = Amounts(items=1, size_gb=10)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    prepare(tmp_path)
    return tmp_path


@pytest.fixture
def reader(folder: Path) -> Iterator[Reader]:
    opened_reader = Reader(folder)
    yield opened_reader
    opened_reader.close()


def add(folder: Path, table: Any, **values: Any) -> None:
    with opened(folder, "cloud") as engine, engine.begin() as connection:
        connection.execute(insert(table).values(**values))


def test_what_an_operator_changes_is_read_at_once(folder: Path, reader: Reader) -> None:
    kept = KeptPrices(reader, of_types=True)
    assert kept.book().hourly("volume", None, TEN_GB, 5) is None
    assert kept.node_id("north") is None
    add(folder, nodes, id=7, name="north")
    add(folder, prices, kind="volume", unit="gb", node_id=7, start=0, billionths=3)
    with kept.snapshot():
        assert kept.node_id("north") == 7
        assert kept.book().hourly("volume", 7, TEN_GB, 5) == 30


def test_the_book_is_kept_while_nothing_changes(folder: Path, reader: Reader) -> None:
    kept = KeptPrices(reader, of_types=True)
    book = kept.book()
    assert kept.book() is book
    add(folder, nodes, id=7, name="north")
    assert kept.book() is not book


@pytest.mark.parametrize(("of_types", "cost"), [(True, 90), (False, 30)])
def test_prices_of_types_are_for_who_has_types(folder: Path, reader: Reader, of_types: bool, cost: int) -> None:
    for billionths, kind in ((3, None), (9, "ssd")):
        add(folder, prices, kind="volume", unit="gb", start=0, billionths=billionths, type=kind)
    book = KeptPrices(reader, of_types=of_types).book()
    assert book.hourly("volume", None, TEN_GB, 5, "ssd") == cost
