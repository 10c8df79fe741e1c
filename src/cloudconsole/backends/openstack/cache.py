"""One reading of the cloud for all who ask the same: while it is under way, and for a few seconds after."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from cloudconsole.backends.openstack.client import TokenRejected
from cloudconsole.core.clock import Clock

Value = TypeVar("Value")

MOST_RECORDS: Final = 100_000
"""So many flavors, servers and the like are kept at the most: some 50 MB."""


class CachedRead(Struct, Generic[Value], frozen=True):
    value: Value
    read_at: float
    """When it was begun: nothing in it is older."""
    records: int


class SingleFlightCache:
    """Kept readings are bounded by what they hold, and the least recently used make room for new ones."""

    def __init__(self, clock: Clock, most_records: int = MOST_RECORDS) -> None:
        self._clock = clock
        self._most_records = most_records
        self.records = 0
        self._kept: OrderedDict[Hashable, CachedRead[Any]] = OrderedDict()
        self._under_way: dict[Hashable, asyncio.Task[CachedRead[Any]]] = {}

    def cached(self, key: Hashable, seconds: float) -> CachedRead[Any] | None:
        """The reading of at most so many seconds ago."""
        reading = self._kept.get(key)
        # `read_at <= now`, because a clock may be set back.
        if reading is None or not reading.read_at <= self._clock.now() < reading.read_at + seconds:
            return None
        self._kept.move_to_end(key)
        return reading

    async def get(
        self,
        key: Hashable,
        seconds: float,
        token: str,
        read: Callable[[], Coroutine[Any, Any, Value]],
        weigh: Callable[[Value], int],
    ) -> CachedRead[Value]:
        """The reading that is under way or a new one, which is kept for so many seconds; its failure is all's.

        But for one: a token that was refused is only its holder's. Whoever has another goes on without that one.
        """
        while True:
            task = self._under_way.get(key) or self._begin(key, seconds, read, weigh)
            try:
                # It goes on when whoever began it leaves.
                return await asyncio.shield(task)
            except TokenRejected as refused:
                if refused.token == token:
                    raise

    async def close(self) -> None:
        """End what is under way."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(
        self,
        key: Hashable,
        seconds: float,
        read: Callable[[], Coroutine[Any, Any, Value]],
        weigh: Callable[[Value], int],
    ) -> "asyncio.Task[CachedRead[Value]]":
        read_at = self._clock.now()

        async def reading() -> CachedRead[Value]:
            value = await read()
            return CachedRead(value, read_at, weigh(value))

        def ended(task: "asyncio.Task[CachedRead[Value]]") -> None:
            del self._under_way[key]
            if not task.cancelled() and task.exception() is None and seconds > 0:
                self._keep(key, task.result())

        task = asyncio.create_task(reading())
        self._under_way[key] = task
        task.add_done_callback(ended)
        return task

    def _keep(self, key: Hashable, reading: CachedRead[Any]) -> None:
        replaced = self._kept.pop(key, None)
        if replaced is not None:
            self.records -= replaced.records
        self._kept[key] = reading
        self.records += reading.records
        while self.records > self._most_records:
            _, oldest = self._kept.popitem(last=False)
            self.records -= oldest.records
