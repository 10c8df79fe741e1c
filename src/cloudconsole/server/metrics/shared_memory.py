"""Metrics in memory shared by all processes: one writer per region, so no lock is needed."""

import mmap
import os
import time
from bisect import bisect_left

from cloudconsole.server.metrics.layout import (
    ACCEPTING,
    EXTENSION_ERROR,
    GAUGES,
    HEARTBEATS,
    OUTCOME_OFFSETS,
    OUTCOMES,
    PROCESS,
    RESTARTS,
    SECONDS_BOUNDS,
    STOPPING,
    UNDRAINED,
    operation_offsets,
    worker_cells,
)

_CELL_BYTES = 8
_BUCKETS = len(OUTCOMES)
_EXTENSION_ERROR = OUTCOME_OFFSETS[EXTENSION_ERROR]
_SUM = len(SECONDS_BOUNDS) + 1


class WorkerMetrics:
    """Metrics of one worker; a request costs three additions in shared memory."""

    __slots__ = ("_cells", "_operations")

    def __init__(self, cells: memoryview, operations: dict[str, int]) -> None:
        self._cells = cells
        self._operations = operations

    def count_request(self, call: str, outcome: str, nanoseconds: int) -> None:
        cells, offset = self._cells, self._operations[call]
        cells[offset + OUTCOME_OFFSETS.get(outcome, _EXTENSION_ERROR)] += 1
        offset += _BUCKETS
        cells[offset + bisect_left(SECONDS_BOUNDS, nanoseconds)] += 1
        cells[offset + _SUM] += nanoseconds

    def observe(self, histogram: int, nanoseconds: int) -> None:
        cells = self._cells
        cells[histogram + bisect_left(SECONDS_BOUNDS, nanoseconds)] += 1
        cells[histogram + _SUM] += nanoseconds

    def add(self, cell: int, number: int = 1) -> None:
        self._cells[cell] += number

    def set(self, cell: int, number: int) -> None:
        self._cells[cell] = number

    def get(self, cell: int) -> int:
        return self._cells[cell]

    def begin(self) -> None:
        """Take over the region for this process; counters continue from the predecessor's values."""
        self.clear_gauges()
        self._cells[PROCESS] = os.getpid()
        self._cells[UNDRAINED] = 1

    def clear_gauges(self) -> None:
        for cell in GAUGES:
            self._cells[cell] = 0

    def note_restart(self, reason: str) -> None:
        """Count a restart; only for the parent, while no worker uses the region."""
        self._cells[RESTARTS[reason]] += 1


class SharedMetrics:
    """Metrics of all workers: one region each, allocated before they are forked."""

    def __init__(self, workers: int, plugins: tuple[str, ...] = ()) -> None:
        self.operations = operation_offsets(plugins)
        size = worker_cells(plugins)
        cells = memoryview(mmap.mmap(-1, workers * size * _CELL_BYTES)).cast("q")
        self._regions = [cells[start : start + size] for start in range(0, workers * size, size)]
        self.made_at = time.time()

    def worker(self, worker: int) -> WorkerMetrics:
        return WorkerMetrics(self._regions[worker], self.operations)

    def is_accepting(self) -> bool:
        """Return whether every worker accepts connections."""
        return all(region[ACCEPTING] for region in self._regions)

    def beats(self) -> dict[int, int]:
        """Return the heartbeat counters by worker."""
        return {worker: region[HEARTBEATS] for worker, region in enumerate(self._regions)}

    def stop(self) -> None:
        """Signal to every worker that all of them stop; only for the parent."""
        for region in self._regions:
            region[STOPPING] = 1

    def is_stopping(self, worker: int) -> bool:
        """Return whether the supervisor stops all workers."""
        return bool(self._regions[worker][STOPPING])

    def is_drained(self) -> bool:
        """Return whether all workers are drained."""
        return not any(region[UNDRAINED] for region in self._regions)

    def read(self) -> list[list[int]]:
        """Return a copy of every worker's cells."""
        return [region.tolist() for region in self._regions]


def standalone_metrics(plugins: tuple[str, ...] = ()) -> WorkerMetrics:
    """Return metrics that no other process reads."""
    return SharedMetrics(1, plugins).worker(0)
