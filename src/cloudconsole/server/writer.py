"""Writer: one thread that writes to the store, with a bounded queue and a lower scheduling priority."""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar

from cloudconsole.server.metrics.layout import STORE_WRITES
from cloudconsole.server.metrics.shared_memory import WorkerMetrics
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import BUSY_SECONDS, write_deadline

MOST_WAITING: Final = 500
"""Far more than the logins that can be under way; beyond it, something holds the store up."""
CLOSE_SECONDS: Final = 2
"""What is not written by then when we end will not be; nobody was told that it is."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class _QueuedJob(NamedTuple):
    work: Callable[[], Any]
    answer: "Future[Any]"
    """Cancelled when whoever waited for it has gone."""
    until: float


class Writer:
    def __init__(self, name: str, metrics: WorkerMetrics, settle_seconds: float = 0.0) -> None:
        self._metrics = metrics
        self._replication_wait_seconds = settle_seconds
        self._limiter: SimpleQueue[_QueuedJob | None] = SimpleQueue()
        # Whatever it hangs in, it must not keep the process from ending.
        self._thread = Thread(target=_take, args=(self._limiter,), name=name, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many turns have not come yet, those whose callers have gone among them."""
        return self._limiter.qsize()

    async def write(
        self, work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Write; `Unavailable` where too many wait already, or it is not done in time."""
        started = time.perf_counter_ns()
        try:
            return await self.read(work, *args, **kwargs)
        finally:
            self._metrics.observe(STORE_WRITES, time.perf_counter_ns() - started)

    async def wait_for_replicas(self) -> None:
        """Wait until no worker of any replica answers as if what was written were not: only then say that it is."""
        if self._replication_wait_seconds:
            await asyncio.sleep(self._replication_wait_seconds)

    async def read(
        self, work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """The same for what only reads, and is not measured as a write."""
        if self.waiting >= MOST_WAITING:
            raise Unavailable(of_store=True)
        response: Future[Result] = Future()
        self._limiter.put(_QueuedJob(partial(work, *args, **kwargs), response, time.monotonic() + BUSY_SECONDS))
        try:
            async with asyncio.timeout(BUSY_SECONDS):
                return await asyncio.wrap_future(response)
        except TimeoutError as problem:
            raise Unavailable from problem

    def close(self) -> None:
        self._limiter.put(None)
        self._thread.join(CLOSE_SECONDS)


def _take(limiter: "SimpleQueue[_QueuedJob | None]") -> None:
    """One after the other, but for those that nobody waits for any more."""
    while (turn := limiter.get()) is not None:
        if turn.answer.set_running_or_notify_cancel():
            write_deadline.set(turn.until)
            try:
                turn.answer.set_result(turn.work())
            except BaseException as problem:  # noqa: BLE001 - it is for whoever waits
                turn.answer.set_exception(problem)


NICENESS: Final = 5
"""The nice value of a thread that gives way: beside a busy event loop it still has a quarter of the processor."""


def lower_priority() -> None:
    """Let the event loop go before this thread; on Linux, where threads have priorities of their own."""
    if sys.platform == "linux":
        # Where processes are held to the lowest priority already, there is nothing to give.
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), min(19, os.nice(0) + NICENESS))
