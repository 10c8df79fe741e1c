"""Load shedding: reject requests beyond a worker's capacity, early and cheaply.

Each iteration of a worker's event loop reads from all connections, then processes what arrived. Overload shows in the
iterations: during a long one many more requests arrive, and together they exceed a burst. From then on each iteration
has a budget of CPU time, and requests that start when it is used up are rejected (503 with `Retry-After`).

A rejection costs more than half as much as a response, mostly for reading and writing. So a rejected connection is
paused and resumed later, a few connections at a time; a request that it sent meanwhile is late, and is rejected too.
This leaves most of the time for the requests that are served, with near-normal latency. While there is time left, more
and more connections are resumed per tick. Shedding stops when all are resumed and nothing was rejected for a moment.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

MIN_REQUESTS: Final = 64
LONG_ITERATION: Final = 0.02
"""Seconds of CPU time, so that other processes on the machine do not make an iteration look long."""
BURST: Final = 512
"""Requests in an iteration, and in the long ones right before it, that are simply served; more is overload."""

BUDGET: Final = 0.001
"""Seconds, plus the idle time right before, since requests that arrive in small groups are no overload."""
MIN_SERVED: Final = 8
TICK: Final = 0.001
RESUMED_PER_TICK: Final = 2
"""The number grows by this much with every tick, until the budget is exceeded again."""
LATE: Final = 0.01
"""Requests on a connection that was paused for longer than this may have waited as long."""

COOLDOWN: Final = 0.1
"""Seconds since the budget was last exceeded, after which shedding stops if no connection is paused."""


class PausableConnection(Protocol):
    is_paused: bool
    was_late: bool
    """Whether the request that it reads now may have waited while the connection was paused."""

    def update_reading(self) -> None:
        """Stop or continue reading, after a change of `is_paused`."""


class LoadShedder:
    """Overload detection and load shedding of one worker; `active` during overload."""

    def __init__(
        self, seconds: Callable[[], float] = time.perf_counter, work: Callable[[], float] = time.thread_time
    ) -> None:
        self._seconds, self._work = seconds, work
        self.active = self._is_measured = False
        self._started = self._burst = self._resume_limit = 0
        # `_exceeded_at` is when the budget was last exceeded.
        self._iteration_start = self._iteration_work = self._budget = self._exceeded_at = 0.0
        self._paused: deque[tuple[PausableConnection, float]] = deque()
        self._resumed: list[PausableConnection] = []

    def start_iteration(self, arrived: int) -> None:
        """Note how many requests were read; call this once per iteration, before they are processed."""
        was_measured, self._is_measured = self._is_measured, self.active or arrived >= MIN_REQUESTS
        if not self._is_measured:
            # A worker with little to do saves the cost of measuring.
            return
        previous_start, previous_work = self._iteration_start, self._iteration_work
        self._iteration_start, self._iteration_work = self._seconds(), self._work()
        work = self._iteration_work - previous_work if was_measured else 0.0
        self._started = 0
        if self.active:
            self._budget = BUDGET + min(self._iteration_start - previous_start - work, LATE)
            is_recent = self._iteration_start - self._exceeded_at < COOLDOWN
            self.active = is_recent or bool(self._paused or self._resumed)
            self._burst = 0
        else:
            self._budget = BUDGET
            self._burst = arrived + (self._burst if work >= LONG_ITERATION else 0)
            self.active = self._burst > BURST
            self._exceeded_at = self._iteration_start

    def should_reject(self) -> bool:
        """Return whether a request that is about to start must be rejected; call this only while `active`."""
        self._started += 1
        is_exceeded = self._started > MIN_SERVED and self._work() - self._iteration_work > self._budget
        if is_exceeded:
            self._exceeded_at = self._iteration_start
            self._resume_limit = 0
        return is_exceeded

    def pause(self, connection: PausableConnection) -> None:
        """Pause a connection after a rejection; it is resumed in order."""
        if connection.is_paused:
            return
        if not self._paused and not self._resumed:
            asyncio.get_running_loop().call_later(TICK, self._tick)
        connection.is_paused = True
        connection.update_reading()
        self._paused.append((connection, self._seconds()))

    def _tick(self) -> None:
        """Resume some paused connections; a request sent during the pause is read before the next tick."""
        for connection in self._resumed:
            connection.was_late = False
        now = self._seconds()
        self._resumed = []
        self._resume_limit += RESUMED_PER_TICK
        for _ in range(min(self._resume_limit, len(self._paused))):
            connection, since = self._paused.popleft()
            connection.was_late = now - since > LATE
            connection.is_paused = False
            connection.update_reading()
            self._resumed.append(connection)
        if self._resumed:
            asyncio.get_running_loop().call_later(TICK, self._tick)
