"""Measurements and ratios. A ratio is computed within each round; the median over the rounds is reported."""

import math
from collections.abc import Sequence
from statistics import median
from typing import Final, Literal

from msgspec import Struct

Unit = Literal["requests/s", "logins/s", "resources/s", "ms", "µs", "µs/KB", "queries", "MB", "GB"]

MIN_GROWTH_RATIO: Final = 0.8
"""The speed that a larger dataset must retain, relative to the smaller one."""


class InvalidRun(Exception):
    """The run cannot be reported; the message gives the reason."""


class Spread(Struct, frozen=True):
    median: float
    minimum: float
    maximum: float


class Measurement(Struct, frozen=True):
    """One variant's value in every round, in the order of the rounds."""

    name: str
    unit: Unit
    rounds: list[float]
    cpu_us: list[float] = []
    """Microseconds of server CPU time per request; barely affected by other load on the machine."""

    @property
    def spread(self) -> Spread:
        return spread(self.rounds)


class Ratio(Struct, frozen=True):
    """One variant relative to another, round by round."""

    name: str
    rounds: list[float]
    at_least: float | None = None
    at_most: float | None = None

    @property
    def spread(self) -> Spread:
        return spread(self.rounds)

    @property
    def met(self) -> bool | None:
        if self.at_least is None and self.at_most is None:
            return None
        value = self.spread.median
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)


class UpperLimit(Struct, frozen=True):
    """A value that must stay below a limit."""

    name: str
    unit: Unit
    value: float
    below: float

    @property
    def met(self) -> bool:
        return self.value < self.below


class Latencies(Struct, frozen=True):
    """The latency of every request of one variant, in milliseconds, round by round."""

    name: str
    rounds: list[list[float]]

    @property
    def values(self) -> list[float]:
        return [value for each in self.rounds for value in each]

    def percentile(self, percent: int) -> float:
        ordered = sorted(self.values)
        if not ordered:
            raise InvalidRun(f"{self.name}: no requests were measured")
        return ordered[math.ceil(len(ordered) * percent / 100) - 1]

    @property
    def medians(self) -> Measurement:
        """The median of every round, for ratios within rounds."""
        return Measurement(self.name, "ms", [spread(each).median for each in self.rounds])


class Table(Struct, frozen=True):
    head: list[str]
    rows: list[list[str]]


class PartResult(Struct, frozen=True):
    name: str
    ratios: list[Ratio]
    measurements: list[Measurement]
    limits: list[UpperLimit] = []
    notes: list[str] = []
    """Facts of this run, such as program versions."""
    latencies: list[Latencies] = []
    tables: list[Table] = []
    """Values that are neither compared nor repeated."""


def spread(values: Sequence[float]) -> Spread:
    if not values:
        raise InvalidRun("no rounds were measured")
    return Spread(median(values), min(values), max(values))


def ratio(
    name: str, one: Measurement, other: Measurement, at_least: float | None = None, at_most: float | None = None
) -> Ratio:
    """Divide `one` by `other` within each round, so that effects on both cancel out."""
    if len(one.rounds) != len(other.rounds):
        raise InvalidRun(f"{name}: {one.name} and {other.name} were not measured in the same rounds")
    if not all(other.rounds):
        raise InvalidRun(f"{name}: {other.name} is zero in some round")
    values = [mine / theirs for mine, theirs in zip(one.rounds, other.rounds, strict=True)]
    return Ratio(name, values, at_least, at_most)


def cpu_ratio(name: str, one: Measurement, other: Measurement) -> Ratio:
    """Compare CPU time per request: how many requests `one` serves in the CPU time that `other` needs for one.

    Equals the ratio of request rates when each server saturates its own core. It stays valid when the load generator
    cannot saturate a server, or when other processes share the core.
    """
    values = [theirs / mine for mine, theirs in zip(one.cpu_us, other.cpu_us, strict=True)]
    return Ratio(f"{name}, by CPU time", values)
