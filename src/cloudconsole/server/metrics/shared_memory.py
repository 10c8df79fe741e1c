"""Counting in memory that all processes of a console share: one writer for each region, so no lock is needed."""

import mmap
import os
import time
from bisect import bisect_left

from cloudconsole.server.metrics.layout import (
    ACCEPTING,
    GAUGES,
    HEARTBEATS,
    OPERATION_OFFSETS,
    OUTCOME_OFFSETS,
    OUTCOMES,
    PROCESS,
    RESTARTS,
    SECONDS_BOUNDS,
    STOPPING,
    UNDRAINED,
    WORKER_CELLS,
)

_CELL_BYTES = 8
_BUCKETS = len(OUTCOMES)
_SUM = len(SECONDS_BOUNDS) + 1


class WorkerMetrics:
    """One worker's figures. A call costs three additions; they are in shared memory as soon as they are made."""

    __slots__ = ("_cells",)

    def __init__(self, cells: memoryview) -> None:
        self._cells = cells

    def count_request(self, call: str, outcome: str, nanoseconds: int) -> None:
        cells, place = self._cells, OPERATION_OFFSETS[call]
        cells[place + OUTCOME_OFFSETS[outcome]] += 1
        place += _BUCKETS
        cells[place + bisect_left(SECONDS_BOUNDS, nanoseconds)] += 1
        cells[place + _SUM] += nanoseconds

    def observe(self, histogram: int, nanoseconds: int) -> None:
        cells = self._cells
        cells[histogram + bisect_left(SECONDS_BOUNDS, nanoseconds)] += 1
        cells[histogram + _SUM] += nanoseconds

    def add(self, cell: int, number: int = 1) -> None:
        self._cells[cell] += number

    def set(self, cell: int, number: int) -> None:
        self._cells[cell] = number

    def begin(self) -> None:
        """This process takes the region over; what its predecessor counted goes on from there."""
        self.clear_gauges()
        self._cells[PROCESS] = os.getpid()
        self._cells[UNDRAINED] = 1

    def clear_gauges(self) -> None:
        for cell in GAUGES:
            self._cells[cell] = 0

    def note_restart(self, reason: str) -> None:
        """For the parent alone, while no worker has the region."""
        self._cells[RESTARTS[reason]] += 1


class SharedMetrics:
    """The figures of all workers: a region for each, made before they are forked."""

    def __init__(self, workers: int) -> None:
        cells = memoryview(mmap.mmap(-1, workers * WORKER_CELLS * _CELL_BYTES)).cast("q")
        starts = range(0, workers * WORKER_CELLS, WORKER_CELLS)
        self._regions = [cells[start : start + WORKER_CELLS] for start in starts]
        self.made_at = time.time()

    def worker(self, worker: int) -> WorkerMetrics:
        return WorkerMetrics(self._regions[worker])

    def is_accepting(self) -> bool:
        """Whether every worker accepts connections."""
        return all(region[ACCEPTING] for region in self._regions)

    def beats(self) -> dict[int, int]:
        """How often each worker's event loop was seen to advance since the worker began."""
        return {worker: region[HEARTBEATS] for worker, region in enumerate(self._regions)}

    def stop(self) -> None:
        """Let every worker know that all of them stop; for the parent alone."""
        for region in self._regions:
            region[STOPPING] = 1

    def is_stopping(self, worker: int) -> bool:
        """Whether all workers stop, as far as this one can know."""
        return bool(self._regions[worker][STOPPING])

    def is_drained(self) -> bool:
        """Whether no worker has calls to finish before it stops."""
        return not any(region[UNDRAINED] for region in self._regions)

    def read(self) -> list[list[int]]:
        """A copy of every worker's cells."""
        return [region.tolist() for region in self._regions]


def standalone_metrics() -> WorkerMetrics:
    """For a console that nobody looks at from outside."""
    return SharedMetrics(1).worker(0)
