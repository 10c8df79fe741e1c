"""Operator prices as backends read them: always current, with nodes by name."""

from pathlib import Path
from typing import Any

from sqlalchemy import insert

from cloudconsole.backends.prices import CachedPrices, PriceList
from cloudconsole.core.resources import Amounts
from cloudconsole.store.base import Reader
from cloudconsole.store.tables import nodes, prices
from tests.stores import opened, run

TEN_GB = Amounts(items=1, size_gb=10)


def add(folder: Path, table: Any, **values: Any) -> None:
    with opened(folder, "cloud") as engine, engine.begin() as connection:
        connection.execute(insert(table).values(**values))


def read_prices(cached_prices: CachedPrices, reader: Reader) -> PriceList:
    async def read() -> PriceList:
        async with reader.snapshot() as snapshot:
            return await cached_prices.read(snapshot)

    return run(read())


def test_price_list_is_cached_until_an_operator_changes_something(folder: Path, reader: Reader) -> None:
    cached_prices = CachedPrices(of_types=True)
    first = read_prices(cached_prices, reader)
    assert (first.book.hourly("volume", None, TEN_GB, 5), first.nodes) == (None, {})
    assert read_prices(cached_prices, reader) is first
    add(folder, nodes, id=7, name="north")
    add(folder, prices, kind="volume", unit="gb", node_id=7, start=0, billionths=3)
    second = read_prices(cached_prices, reader)
    assert (second.book.hourly("volume", 7, TEN_GB, 5), second.nodes) == (30, {"north": 7})
