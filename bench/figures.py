"""Figures out of rounds: a ratio is taken within each round, and only then comes the median over the rounds."""

import math
from collections.abc import Sequence
from statistics import median
from typing import Final, Literal

from msgspec import Struct

Unit = Literal["calls/s", "logins/s", "resources/s", "ms", "µs", "µs/KB", "queries", "MB", "GB"]

FLAT: Final = 0.8
"""Growth counts as flat while the larger store keeps this much of the smaller one's speed."""


class Refused(Exception):
    """The run is worth nothing; the text says what was wrong."""


class Spread(Struct, frozen=True):
    """The middle of some figures, and the least and the greatest of them."""

    middle: float
    least: float
    greatest: float


class Measured(Struct, frozen=True):
    """One variant's figure of every round, in the order of the rounds."""

    name: str
    unit: Unit
    rounds: list[float]
    cpu: list[float] = []
    """Microseconds of the server's processor time a call: they hardly suffer from what else the machine does."""

    @property
    def spread(self) -> Spread:
        return spread(self.rounds)


class Ratio(Struct, frozen=True):
    """One variant against another, round by round."""

    name: str
    rounds: list[float]
    goal: float | None = None
    """The least it should be."""
    limit: float | None = None
    """The most it should be."""

    @property
    def spread(self) -> Spread:
        return spread(self.rounds)

    @property
    def met(self) -> bool | None:
        if self.goal is None and self.limit is None:
            return None
        middle = self.spread.middle
        return (self.goal is None or middle >= self.goal) and (self.limit is None or middle <= self.limit)


class Ceiling(Struct, frozen=True):
    """A figure that should stay below a limit."""

    name: str
    unit: Unit
    value: float
    limit: float

    @property
    def met(self) -> bool:
        return self.value < self.limit


class Times(Struct, frozen=True):
    """What every single call of one variant took, in milliseconds, round by round."""

    name: str
    rounds: list[list[float]]

    @property
    def calls(self) -> list[float]:
        return [call for each in self.rounds for call in each]

    def percentile(self, percent: int) -> float:
        """The time within which so many of a hundred calls were answered."""
        ordered = sorted(self.calls)
        if not ordered:
            raise Refused(f"{self.name}: there is no call to take a figure from")
        return ordered[math.ceil(len(ordered) * percent / 100) - 1]

    @property
    def middles(self) -> Measured:
        """The median of every round, to be compared within it."""
        return Measured(self.name, "ms", [spread(each).middle for each in self.rounds])


class Table(Struct, frozen=True):
    """What is neither compared nor spread: a head and rows of text, the numbers in them written out."""

    head: list[str]
    rows: list[list[str]]


class PartResult(Struct, frozen=True):
    name: str
    ratios: list[Ratio]
    measured: list[Measured]
    ceilings: list[Ceiling] = []
    notes: list[str] = []
    times: list[Times] = []
    tables: list[Table] = []


def spread(figures: Sequence[float]) -> Spread:
    if not figures:
        raise Refused("there is no round to take a figure from")
    return Spread(median(figures), min(figures), max(figures))


def by_processor_time(name: str, one: Measured, other: Measured) -> Ratio:
    """How many calls `one` answers in the processor time that `other` takes for one.

    Where a server has its core to itself, that is the ratio of their rates; where the load cannot keep it busy, or
    other programs have a part of its core (and one of many threads gets more of it than one of few), it still is.
    """
    return Ratio(f"{name}, by processor time", [theirs / mine for mine, theirs in zip(one.cpu, other.cpu, strict=True)])


def ratio(name: str, one: Measured, other: Measured, goal: float | None = None, limit: float | None = None) -> Ratio:
    """`one` over `other` in each round: what both rounds suffered alike falls out."""
    if len(one.rounds) != len(other.rounds):
        raise Refused(f"{name}: {one.name} and {other.name} were not measured in the same rounds")
    if not all(other.rounds):
        raise Refused(f"{name}: {other.name} answered nothing in some round")
    return Ratio(name, [mine / theirs for mine, theirs in zip(one.rounds, other.rounds, strict=True)], goal, limit)
