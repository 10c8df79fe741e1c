"""Operator prices as backends read them: always current, with nodes by name."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

from cloudconsole.backends.prices import CachedPrices
from cloudconsole.core.resources import Amounts
from cloudconsole.store.base import Reader
from cloudconsole.store.tables import nodes, prices
from tests.backends.price_reader import read_prices
from tests.stores import opened

TEN_GB = Amounts(items=1, size_gb=10)


def add(folder: Path, table: Any, **values: Any) -> None:
    with opened(folder, "cloud") as engine, engine.begin() as connection:
        connection.execute(insert(table).values(**values))


def test_operator_changes_are_read_immediately(folder: Path, reader: Reader) -> None:
    cached_prices = CachedPrices(of_types=True)
    book, ids = read_prices(cached_prices, reader)
    assert book.hourly("volume", None, TEN_GB, 5) is None
    assert ids == {}
    add(folder, nodes, id=7, name="north")
    add(folder, prices, kind="volume", unit="gb", node_id=7, start=0, billionths=3)
    book, ids = read_prices(cached_prices, reader)
    assert book.hourly("volume", 7, TEN_GB, 5) == 30
    assert ids == {"north": 7}


def test_price_list_is_cached_while_nothing_changes(folder: Path, reader: Reader) -> None:
    cached_prices = CachedPrices(of_types=True)
    first = read_prices(cached_prices, reader)
    assert read_prices(cached_prices, reader) is first
    add(folder, nodes, id=7, name="north")
    assert read_prices(cached_prices, reader) is not first


@pytest.mark.parametrize(("of_types", "cost"), [(True, 90), (False, 30)])
def test_typed_prices_apply_only_where_types_are_supported(
    folder: Path, reader: Reader, of_types: bool, cost: int
) -> None:
    for billionths, kind in ((3, None), (9, "ssd")):
        add(folder, prices, kind="volume", unit="gb", start=0, billionths=billionths, type=kind)
    book = read_prices(CachedPrices(of_types=of_types), reader).book
    assert book.hourly("volume", None, TEN_GB, 5, "ssd") == cost
