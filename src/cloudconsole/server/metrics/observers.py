"""Observers that record metrics: event-loop lag, and requests to OpenStack."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from cloudconsole.backends.openstack.config import Service
from cloudconsole.server.metrics.layout import (
    HEARTBEATS,
    LOOP_LAG,
    MAX_LAG,
    UPSTREAM_FAILURES,
    UPSTREAM_IN_FLIGHT,
    UPSTREAM_OFFSETS,
)
from cloudconsole.server.metrics.shared_memory import WorkerMetrics
from cloudconsole.spec.errors import UpstreamFailed, UpstreamTimeout

INTERVAL_SECONDS: Final = 0.25
REMEMBERED_INTERVALS: Final = 240
"""The maximum lag covers the current period of this many intervals and the one before: one to two minutes."""


class LoopLagMonitor:
    def __init__(self, metrics: WorkerMetrics, take_readings: Callable[[], None]) -> None:
        self._metrics = metrics
        self._take_readings = take_readings
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
        self._take_readings()
        self.start()

    def _record_lag(self, lag: int) -> None:
        self._beats += 1
        if self._beats % REMEMBERED_INTERVALS == 0:
            self._longest, self._previous_longest = 0, self._longest
        self._longest = max(self._longest, lag)
        self._metrics.observe(LOOP_LAG, lag)
        self._metrics.set(MAX_LAG, max(self._longest, self._previous_longest))


class UpstreamObserver:
    """Counts requests to OpenStack in shared memory."""

    def __init__(self, metrics: WorkerMetrics) -> None:
        self._metrics = metrics

    def started(self, service: Service) -> None:
        self._metrics.add(UPSTREAM_IN_FLIGHT[service])

    def finished(self, service: Service, nanoseconds: int) -> None:
        self._metrics.add(UPSTREAM_IN_FLIGHT[service], -1)
        self._metrics.observe(UPSTREAM_OFFSETS[service], nanoseconds)

    def failed(self, service: Service, *, was_slow: bool) -> None:
        reason = UpstreamTimeout.error if was_slow else UpstreamFailed.error
        self._metrics.add(UPSTREAM_FAILURES[service, reason])
