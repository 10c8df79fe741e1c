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
"""Increases by itself with every tick since the budget was last exceeded."""
LATE: Final = 0.01
"""Requests on a connection that was paused for longer than this may have waited as long."""

COOLDOWN: Final = 0.1
"""Seconds since the budget was last exceeded, after which shedding stops if no connection is paused."""


class Connection(Protocol):
    is_paused: bool
    was_late: bool
    """Whether the request that it reads now may have waited while the connection was paused."""

    def pause(self) -> None:
        """Stop reading."""

    def resume(self) -> None:
        """Continue reading."""


class LoadShedder:
    """Overload detection and load shedding of one worker; `active` during overload."""

    __slots__ = (
        "_budget",
        "_burst",
        "_exceeded_at",
        "_iteration_start",
        "_iteration_work",
        "_paused",
        "_resume_limit",
        "_resumed",
        "_seconds",
        "_started",
        "_work",
        "active",
        "arrived",
        "measuring",
    )

    def __init__(
        self, seconds: Callable[[], float] = time.perf_counter, work: Callable[[], float] = time.thread_time
    ) -> None:
        self._seconds = seconds
        self._work = work
        self.active = False
        self.measuring = False
        """While true, every request calls `should_reject` before it starts."""
        self.arrived = 0
        """Requests since the last response; counted by connections, reset by response writers."""
        self._started = self._burst = self._resume_limit = 0
        self._iteration_start = self._iteration_work = 0.0
        self._budget = BUDGET
        self._exceeded_at = 0.0
        """When the budget was last exceeded."""
        self._paused: deque[tuple[Connection, float]] = deque()
        self._resumed: list[Connection] = []

    def measure(self) -> None:
        """Count a request and start to measure loop iterations; an idle worker saves that cost."""
        self._burst += 1
        if not self.measuring:
            self.measuring = True
            # Iterations are not measured while no requests arrive.
            self.active = self.active and self._continues(self._seconds())
            asyncio.get_running_loop().call_soon(self._start_measuring)

    def should_reject(self, *, is_late: bool) -> bool:
        """Return whether a request that is about to start must be rejected."""
        if is_late or not self.active:
            return is_late
        self._started += 1
        is_exceeded = self._started > MIN_SERVED and self._work() - self._iteration_work > self._budget
        if is_exceeded:
            self._exceeded_at = self._iteration_start
            self._resume_limit = 0
        return is_exceeded

    def pause(self, connection: Connection) -> None:
        """Pause a connection after a rejection; it is resumed in order."""
        if connection.is_paused:
            return
        if not self._paused and not self._resumed:
            asyncio.get_running_loop().call_later(TICK, self._tick)
        connection.pause()
        self._paused.append((connection, self._seconds()))

    def _start_measuring(self) -> None:
        """Run among the callbacks of an iteration; what this schedules runs before those of the next."""
        self._start_iteration()
        asyncio.get_running_loop().call_soon(self._measure_iteration)

    def _measure_iteration(self) -> None:
        """Run once per iteration, after reading and before processing; stop when few requests arrive."""
        arrived, self.arrived = self.arrived, 0
        work = self._start_iteration()
        if self.active:
            self.active = self._continues(self._iteration_start)
            self._burst = 0
        else:
            if work < LONG_ITERATION or arrived < MIN_REQUESTS:
                self._burst = arrived
            self.active = self._burst > BURST
            self._exceeded_at = self._iteration_start
        self.measuring = arrived >= (1 if self.active else MIN_REQUESTS)
        if self.measuring:
            asyncio.get_running_loop().call_soon(self._measure_iteration)

    def _continues(self, now: float) -> bool:
        return bool(self._paused or self._resumed) or now - self._exceeded_at < COOLDOWN

    def _start_iteration(self) -> float:
        """Return the CPU time of the previous iteration."""
        previous_start, previous_work = self._iteration_start, self._iteration_work
        self._iteration_start, self._iteration_work = self._seconds(), self._work()
        work = self._iteration_work - previous_work
        self._budget = BUDGET + min(self._iteration_start - previous_start - work, LATE)
        self._started = 0
        return work

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
            connection.resume()
            self._resumed.append(connection)
        if self._resumed:
            asyncio.get_running_loop().call_later(TICK, self._tick)
