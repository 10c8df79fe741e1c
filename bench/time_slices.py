"""Interleaved time slices, much shorter than a round: a slow phase of the machine affects all variants alike.

Only for servers that respond within microseconds: the pause after a slice must suffice for pending responses.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from msgspec import Struct

from bench.measurements import InvalidRun

SLICE_SECONDS: Final = 0.05
"""Shorter than the fast and slow phases of a shared machine; long compared with refilling the CPU caches."""
PAUSE_SECONDS: Final = 0.005
"""After each slice, for pending responses, which are not counted."""
COUNTED_SHARE: Final = 0.5
"""The share of cycles that counts: the fastest ones. In the others, other processes used the CPUs."""


class SliceSchedule(Struct, frozen=True):
    """Which slice of each cycle a load generator uses, and how many slices a cycle has."""

    index: int = 0
    count: int = 1

    def total_seconds(self, seconds: int) -> int:
        """Duration of a run in which each load generator gets this many seconds."""
        if self.count == 1:
            return seconds
        return math.ceil(seconds * self.count * (1 + PAUSE_SECONDS / SLICE_SECONDS))

    def __str__(self) -> str:
        return f"{self.index} {self.count} {SLICE_SECONDS * 1e6:.0f} {PAUSE_SECONDS * 1e6:.0f}"


UNSLICED: Final = SliceSchedule()


class TimeSlice(Struct, frozen=True, array_like=True):
    """The requests that were sent and answered within one slice."""

    requests: int
    micros: int

    @property
    def rate(self) -> float:
        return self.requests / self.micros * 1e6


def parse_slices(text: str) -> dict[int, TimeSlice]:
    """Parse the slices by cycle as wrk.lua writes them: cycle, requests, microseconds."""
    found = (tuple(int(number) for number in each.split(":")) for each in text.split())
    return {cycle: TimeSlice(requests, micros) for cycle, requests, micros in found}


def sliced_rates(variants: Sequence[Mapping[int, TimeSlice]]) -> list[float]:
    """Return the requests per second of each variant over the fastest cycles."""
    common = set.intersection(*(set(slices) for slices in variants))
    cycles = [cycle for cycle in common if all(slices[cycle].requests for slices in variants)]
    if not cycles:
        raise InvalidRun("no cycle of time slices has responses for every variant")
    typical = [median(slices[cycle].rate for cycle in cycles) for slices in variants]

    def speed(cycle: int) -> float:
        return sum(slices[cycle].rate / each for slices, each in zip(variants, typical, strict=True))

    counted = sorted(cycles, key=speed, reverse=True)[: math.ceil(COUNTED_SHARE * len(cycles))]
    return [
        sum(slices[cycle].requests for cycle in counted) / sum(slices[cycle].micros for cycle in counted) * 1e6
        for slices in variants
    ]
