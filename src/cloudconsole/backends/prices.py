"""The operator's prices, as every backend reads them."""

from contextlib import AbstractContextManager

from cloudconsole.core.estimate import Price, PriceBook
from cloudconsole.store.reader import Reader

_PRICES = "SELECT kind, unit, node_id, start, billionths, type FROM prices"
_WITHOUT_TYPE = f"{_PRICES} WHERE type IS NULL"
_NODES = "SELECT name, id FROM nodes"


class KeptPrices:
    """Kept while nothing changes: there may be thousands of prices. To be asked in a snapshot."""

    def __init__(self, reader: Reader, *, of_types: bool) -> None:
        """`of_types` tells whether there is anything that has a type, and so may have a price of its own."""
        self._reader = reader
        self._prices = _PRICES if of_types else _WITHOUT_TYPE
        self._stamp: int | None = None
        self._book = PriceBook(())
        self._nodes: dict[str, int] = {}

    def snapshot(self) -> AbstractContextManager[None]:
        return self._reader.snapshot()

    def book(self) -> PriceBook:
        self._renew()
        return self._book

    def node_id(self, name: str) -> int | None:
        """The node of this name, which may have prices of its own; None where there is none."""
        self._renew()
        return self._nodes.get(name)

    def _renew(self) -> None:
        stamp = self._reader.stamp()
        if self._stamp != stamp:
            self._book = PriceBook(Price(*row) for row in self._reader.all(self._prices))
            self._nodes = {str(name): node_id for name, node_id in self._reader.all(_NODES)}
            self._stamp = stamp
