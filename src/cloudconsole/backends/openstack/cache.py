"""Single-flight cache: concurrent identical reads share one, whose result is cached for some seconds."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from cloudconsole.backends.openstack.client import TokenRejected
from cloudconsole.core.clock import Clock

Value = TypeVar("Value")

MAX_RECORDS: Final = 100_000
"""Limit on cached flavors, servers and so on: some 50 MB."""


class CachedRead(Struct, Generic[Value], frozen=True):
    value: Value
    read_at: float
    """When the read began: the data is at least this new."""
    records: int


class SingleFlightCache:
    """An LRU cache, bounded by the number of records in the cached reads."""

    def __init__(self, clock: Clock, max_records: int = MAX_RECORDS) -> None:
        self._clock = clock
        self._max_records = max_records
        self.records = 0
        self._cache: OrderedDict[Hashable, CachedRead[Any]] = OrderedDict()
        self._in_flight: dict[Hashable, asyncio.Task[CachedRead[Any]]] = {}

    def cached(self, key: Hashable, seconds: float) -> CachedRead[Any] | None:
        """Return the cached read if it is younger than `seconds`."""
        entry = self._cache.get(key)
        # `read_at <= now`, because a clock may be set back.
        if entry is None or not entry.read_at <= self._clock.now() < entry.read_at + seconds:
            return None
        self._cache.move_to_end(key)
        return entry

    async def get(
        self,
        key: Hashable,
        seconds: float,
        token: str,
        read: Callable[[], Coroutine[Any, Any, Value]],
        weigh: Callable[[Value], int],
    ) -> CachedRead[Value]:
        """Join the read in flight or start one, whose result is cached for `seconds`; all share its failure.

        The exception is a rejected token: requests with another token start a new read.
        """
        while True:
            task = self._in_flight.get(key) or self._start(key, seconds, read, weigh)
            try:
                # The read continues if the request that started it is cancelled.
                return await asyncio.shield(task)
            except TokenRejected as rejected:
                if rejected.token == token:
                    raise

    async def close(self) -> None:
        """Cancel the reads in flight."""
        tasks = list(self._in_flight.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(
        self,
        key: Hashable,
        seconds: float,
        read: Callable[[], Coroutine[Any, Any, Value]],
        weigh: Callable[[Value], int],
    ) -> "asyncio.Task[CachedRead[Value]]":
        read_at = self._clock.now()

        async def run() -> CachedRead[Value]:
            value = await read()
            return CachedRead(value, read_at, weigh(value))

        def finish(task: "asyncio.Task[CachedRead[Value]]") -> None:
            del self._in_flight[key]
            if not task.cancelled() and task.exception() is None and seconds > 0:
                self._store(key, task.result())

        task = asyncio.create_task(run())
        self._in_flight[key] = task
        task.add_done_callback(finish)
        return task

    def _store(self, key: Hashable, entry: CachedRead[Any]) -> None:
        replaced = self._cache.pop(key, None)
        if replaced is not None:
            self.records -= replaced.records
        self._cache[key] = entry
        self.records += entry.records
        while self.records > self._max_records:
            _, oldest = self._cache.popitem(last=False)
            self.records -= oldest.records
