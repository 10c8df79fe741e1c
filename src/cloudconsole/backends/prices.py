"""The operator's prices, shared by all backends."""

from collections.abc import Hashable
from typing import NamedTuple

from cloudconsole.core.pricing import Price, PriceBook
from cloudconsole.store.base import Snapshot

_PRICES = "SELECT kind, unit, node_id, start, billionths, type FROM prices"
_WITHOUT_TYPE = f"{_PRICES} WHERE type IS NULL"
_NODES = "SELECT name, id FROM nodes"


class PriceList(NamedTuple):
    book: PriceBook
    nodes: dict[str, int]
    """Node ids by name, for prices that apply to one node."""


class CachedPrices:
    """A cache of the prices, of which there may be thousands, until they change."""

    def __init__(self, *, of_types: bool) -> None:
        """`of_types` includes the prices for single types, which only typed resources need."""
        self._prices = _PRICES if of_types else _WITHOUT_TYPE
        self._stamp: Hashable = None
        self._list = PriceList(PriceBook(()), {})

    async def read(self, snapshot: Snapshot) -> PriceList:
        """Return the prices as of a snapshot."""
        stamp = await snapshot.shared_stamp()
        if self._stamp == stamp:
            return self._list
        book = PriceBook(Price(*row) for row in await snapshot.all(self._prices))
        prices = PriceList(book, {str(name): node_id for name, node_id in await snapshot.all(_NODES)})
        # A concurrent read may have cached newer prices; these are still right for this snapshot.
        self._stamp, self._list = stamp, prices
        return prices
