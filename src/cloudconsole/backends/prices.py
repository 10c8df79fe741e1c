"""The operator's prices, as every backend reads them."""

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
    """The ids of nodes, which may have prices of their own, by their names."""


class CachedPrices:
    """Kept while nothing changes: there may be thousands of prices."""

    def __init__(self, *, of_types: bool) -> None:
        """`of_types` tells whether there is anything that has a type, and so may have a price of its own."""
        self._prices = _PRICES if of_types else _WITHOUT_TYPE
        self._stamp: Hashable = None
        self._list = PriceList(PriceBook(()), {})

    async def read(self, moment: Snapshot) -> PriceList:
        """Those of a snapshot's moment."""
        stamp = await moment.shared_stamp()
        if self._stamp == stamp:
            return self._list
        book = PriceBook(Price(*row) for row in await moment.all(self._prices))
        found = PriceList(book, {str(name): node_id for name, node_id in await moment.all(_NODES)})
        # Another may have read newer ones meanwhile; these are right for this moment all the same.
        self._stamp, self._list = stamp, found
        return found
