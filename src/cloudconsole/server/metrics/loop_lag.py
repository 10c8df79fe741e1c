"""Event-loop lag, measured by a heartbeat."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from cloudconsole.server.metrics.layout import HEARTBEATS, LOOP_LAG, MAX_LAG
from cloudconsole.server.metrics.shared_memory import WorkerMetrics

INTERVAL_SECONDS: Final = 0.25
REMEMBERED_INTERVALS: Final = 240
"""The maximum lag covers the current period of this many intervals and the one before: one to two minutes."""


class LoopLagMonitor:
    def __init__(self, metrics: WorkerMetrics, run_periodic_work: Callable[[], None]) -> None:
        self._metrics = metrics
        self._run_periodic_work = run_periodic_work
        self._beats = 0
        self._longest = self._previous_longest = 0
        self._due = 0

    def start(self) -> None:
        """Start in the running loop, and run as long as it does."""
        self._metrics.add(HEARTBEATS)
        self._due = time.perf_counter_ns() + int(INTERVAL_SECONDS * 1_000_000_000)
        asyncio.get_running_loop().call_later(INTERVAL_SECONDS, self._beat)

    def _beat(self) -> None:
        # The loop's clock may be coarse, so it may call a little early.
        self._record_lag(max(0, time.perf_counter_ns() - self._due))
        self._run_periodic_work()
        self.start()

    def _record_lag(self, lag: int) -> None:
        self._beats += 1
        if self._beats % REMEMBERED_INTERVALS == 0:
            self._longest, self._previous_longest = 0, self._longest
        self._longest = max(self._longest, lag)
        self._metrics.observe(LOOP_LAG, lag)
        self._metrics.set(MAX_LAG, max(self._longest, self._previous_longest))
