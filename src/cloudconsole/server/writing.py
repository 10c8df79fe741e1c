"""Writes of the running server, one at a time in a thread of their own: the event loop never waits for a lock."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.engine import BUSY_SECONDS

MOST_WAITING: Final = 500
"""Far more than the logins that can be under way; beyond it, something holds the store up."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Writer:
    def __init__(self, thread: ThreadPoolExecutor) -> None:
        self._thread = thread
        self._waiting = 0

    async def run(self, work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Do the work in the thread; `Unavailable` where too many wait already, or its turn does not come."""
        if self._waiting >= MOST_WAITING:
            raise Unavailable
        self._waiting += 1
        try:
            async with asyncio.timeout(BUSY_SECONDS):
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._thread, lambda: work(*args, **kwargs))
        except TimeoutError as problem:
            raise Unavailable from problem
        finally:
            self._waiting -= 1
