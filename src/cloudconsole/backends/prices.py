"""The operator's prices, shared by all backends."""

from collections.abc import Hashable
from datetime import tzinfo

from cloudconsole.core.clock import Clock, format_local
from cloudconsole.core.ports import CacheableResult, PriceList, Tenant
from cloudconsole.core.pricing import Price, PriceBook, format_amount
from cloudconsole.core.resources import PRICED_UNITS
from cloudconsole.spec.extension_records import PriceItem
from cloudconsole.store.base import Reader, Snapshot

_PRICES = "SELECT kind, unit, node_id, start, billionths, type FROM prices"
_WITHOUT_TYPE = f"{_PRICES} WHERE type IS NULL"
_NODES = "SELECT name, id FROM nodes"


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


class StoredPriceCatalog:
    def __init__(self, reader: Reader, clock: Clock, zone: tzinfo) -> None:
        self._reader = reader
        self._clock = clock
        self._zone = zone
        self._all = CachedPrices(of_types=True)
        self._without_types = CachedPrices(of_types=False)

    async def price_list(self, tenant: Tenant) -> PriceList:
        # Resources of the embedded store have no types.
        prices = self._without_types if tenant.credentials is None else self._all
        async with self._reader.snapshot() as snapshot:
            return await prices.read(snapshot)

    async def prices(self, tenant: Tenant) -> CacheableResult[list[PriceItem]]:
        now = self._clock.now()
        book, nodes = await self.price_list(tenant)
        names: dict[int | None, str] = {node_id: name for name, node_id in nodes.items()}
        prices = sorted(book.current_and_future(now), key=lambda entry: _order(entry[0], names))
        items = [self._item(price, end, now, names.get(price.node_id)) for price, end in prices]
        return CacheableResult(items, book.next_change(now))

    def _item(self, price: Price, end: int | None, now: float, node: str | None) -> PriceItem:
        return PriceItem(
            res_type=price.kind,
            unit=price.unit,
            region=node,
            type=price.type,
            price=format_amount(price.billionths or 0),
            start_at=format_local(price.start, self._zone),
            end_at=None if end is None else format_local(end, self._zone),
            in_force=price.start <= now,
        )


def _order(price: Price, names: dict[int | None, str]) -> tuple[int, int, str, str, int]:
    unit = PRICED_UNITS[price.kind].index(price.unit)
    return list(PRICED_UNITS).index(price.kind), unit, names.get(price.node_id, ""), price.type or "", price.start
