"""A recording that is being made: it has the clock, and says when there is enough of it."""

import asyncio
import time
from typing import Any

from history.recording import AnyOperation, Beginning, Recording


class Recorder(Recording):
    """Begins when it is made; to be used on one event loop."""

    def __init__(self, *, wanted: int, **beginning: Any) -> None:
        super().__init__(Beginning(epoch=time.time(), **beginning))
        self._start = time.monotonic()
        self._wanted = wanted
        self.enough = asyncio.Event()

    def now(self) -> float:
        """Seconds since it began, by a clock that only goes forward."""
        return round(time.monotonic() - self._start, 6)

    def add(self, operation: AnyOperation) -> None:
        super().add(operation)
        if len(self.operations) >= self._wanted:
            self.enough.set()

    async def wait(self, seconds: float) -> bool:
        """Wait so long, or until there is enough; whether there is."""
        try:
            async with asyncio.timeout(seconds):
                await self.enough.wait()
        except TimeoutError:
            return False
        return True
