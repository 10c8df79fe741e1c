"""Writes of the running server, one at a time in a thread of their own: the event loop never waits for a lock."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

from cloudconsole.server.observing.layout import STORE_WRITES
from cloudconsole.server.observing.meter import Meter
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.engine import BUSY_SECONDS

MOST_WAITING: Final = 500
"""Far more than the logins that can be under way; beyond it, something holds the store up."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Writer:
    def __init__(self, thread: ThreadPoolExecutor, meter: Meter, settle_seconds: float = 0.0) -> None:
        self._thread = thread
        self._meter = meter
        self._settle_seconds = settle_seconds
        self.waiting = 0

    async def run(self, work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Write; `Unavailable` where too many wait already, or its turn does not come."""
        started = time.perf_counter_ns()
        try:
            return await self.look(work, *args, **kwargs)
        finally:
            self._meter.observe(STORE_WRITES, time.perf_counter_ns() - started)

    async def settle(self) -> None:
        """Wait until no worker of any replica answers as if what was written were not: only then say that it is."""
        if self._settle_seconds:
            await asyncio.sleep(self._settle_seconds)

    async def look(
        self, work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """The same for what only reads, and is not measured as a write."""
        if self.waiting >= MOST_WAITING:
            raise Unavailable
        self.waiting += 1
        try:
            async with asyncio.timeout(BUSY_SECONDS):
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._thread, lambda: work(*args, **kwargs))
        except TimeoutError as problem:
            raise Unavailable from problem
        finally:
            self.waiting -= 1
