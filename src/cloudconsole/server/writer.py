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

MAX_WAITING: Final = 500
"""Far more than the number of concurrent logins; more waiting jobs mean that the store is blocked."""
CLOSE_SECONDS: Final = 2
"""Jobs that are not done by then are dropped at exit; no client got a response for them."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class _QueuedJob(NamedTuple):
    work: Callable[[], Any]
    result: "Future[Any]"
    """Cancelled when the waiting request is gone."""
    until: float


class Writer:
    def __init__(self, name: str, metrics: WorkerMetrics, replication_wait_seconds: float = 0.0) -> None:
        self._metrics = metrics
        self._replication_wait_seconds = replication_wait_seconds
        self._queue: SimpleQueue[_QueuedJob | None] = SimpleQueue()
        # A daemon thread, so that a blocked job does not keep the process alive.
        self._thread = Thread(target=_run_jobs, args=(self._queue,), name=name, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Number of queued jobs, including cancelled ones."""
        return self._queue.qsize()

    async def write(
        self, work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Run a write; raise `Unavailable` if the queue is full or the write takes too long."""
        started = time.perf_counter_ns()
        try:
            return await self.read(work, *args, **kwargs)
        finally:
            self._metrics.observe(STORE_WRITES, time.perf_counter_ns() - started)

    async def wait_for_replicas(self) -> None:
        """Wait until every worker of every replica must have seen the write; only then acknowledge it."""
        if self._replication_wait_seconds:
            await asyncio.sleep(self._replication_wait_seconds)

    async def read(
        self, work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Run a read, like `write` but without its metric."""
        if self.waiting >= MAX_WAITING:
            raise Unavailable(of_store=True)
        result: Future[Result] = Future()
        self._queue.put(_QueuedJob(partial(work, *args, **kwargs), result, time.monotonic() + BUSY_SECONDS))
        try:
            async with asyncio.timeout(BUSY_SECONDS):
                return await asyncio.wrap_future(result)
        except TimeoutError as problem:
            raise Unavailable from problem

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join(CLOSE_SECONDS)


def _run_jobs(queue: "SimpleQueue[_QueuedJob | None]") -> None:
    """Run the jobs in order, except cancelled ones."""
    while (job := queue.get()) is not None:
        if job.result.set_running_or_notify_cancel():
            write_deadline.set(job.until)
            try:
                job.result.set_result(job.work())
            except BaseException as problem:  # noqa: BLE001 - re-raised in the waiting request
                job.result.set_exception(problem)


NICENESS: Final = 5
"""Nice value of background threads: beside a busy event loop they still get a quarter of the CPU."""


def lower_priority() -> None:
    """Lower the priority of this thread below the event loop's; only on Linux, which has priorities per thread."""
    if sys.platform == "linux":
        # Fails harmlessly where the priority is restricted.
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), min(19, os.nice(0) + NICENESS))
