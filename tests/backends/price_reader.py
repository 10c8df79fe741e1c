"""What backends read, read by a test."""

from cloudconsole.backends.prices import CachedPrices, PriceList
from cloudconsole.store.base import Reader
from tests.stores import run


def read_prices(kept: CachedPrices, reader: Reader) -> PriceList:
    """Those of now."""

    async def read() -> PriceList:
        async with reader.snapshot() as moment:
            return await kept.read(moment)

    return run(read())
