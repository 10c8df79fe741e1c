"""Read prices as a backend does."""

from cloudconsole.backends.prices import CachedPrices, PriceList
from cloudconsole.store.base import Reader
from tests.stores import run


def read_prices(cached_prices: CachedPrices, reader: Reader) -> PriceList:
    """Return the current price list."""

    async def read() -> PriceList:
        async with reader.snapshot() as snapshot:
            return await cached_prices.read(snapshot)

    return run(read())
