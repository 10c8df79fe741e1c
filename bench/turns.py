"""Loads that have the machine in turns, far shorter than a round: if it is slow just then, it is so for all of them.

Only for what answers within microseconds: what is under way at the end of a turn is to be done before the next.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from msgspec import Struct

from bench.figures import Refused

TURN_SECONDS: Final = 0.05
"""Shorter than a shared machine is fast or slow, and long against what caches lose while others have theirs."""
PAUSE_SECONDS: Final = 0.005
"""After each turn, for what is under way by then: it is answered in nobody's time."""
COUNTED: Final = 0.5
"""Of the cycles: those in which all together were fastest. In the others somebody else had the processors."""


class Turns(Struct, frozen=True):
    """Which turn of a cycle is a load's, and of how many."""

    number: int = 0
    all: int = 1

    def whole(self, seconds: int) -> int:
        """How long a run takes in which each has so many seconds."""
        if self.all == 1:
            return seconds
        return math.ceil(seconds * self.all * (1 + PAUSE_SECONDS / TURN_SECONDS))

    def __str__(self) -> str:
        return f"{self.number} {self.all} {TURN_SECONDS * 1e6:.0f} {PAUSE_SECONDS * 1e6:.0f}"


ALONE: Final = Turns()


class Turn(Struct, frozen=True, array_like=True):
    """What was sent and answered within one turn."""

    calls: int
    micros: int

    @property
    def rate(self) -> float:
        return self.calls / self.micros * 1e6


def parse_turns(text: str) -> dict[int, Turn]:
    """Each cycle's turn, as the load has written them: number of the cycle, calls, microseconds."""
    found = (tuple(int(number) for number in each.split(":")) for each in text.split())
    return {cycle: Turn(calls, micros) for cycle, calls, micros in found}


def rates_of(loads: Sequence[Mapping[int, Turn]]) -> list[float]:
    """Each load's calls a second, in the cycles that count."""
    common = set.intersection(*(set(turns) for turns in loads))
    cycles = [cycle for cycle in common if all(turns[cycle].calls for turns in loads)]
    if not cycles:
        raise Refused("there is no cycle of turns in which all were answered")
    usual = [median(turns[cycle].rate for cycle in cycles) for turns in loads]

    def speed(cycle: int) -> float:
        return sum(turns[cycle].rate / each for turns, each in zip(loads, usual, strict=True))

    counted = sorted(cycles, key=speed, reverse=True)[: math.ceil(COUNTED * len(cycles))]
    return [
        sum(turns[cycle].calls for cycle in counted) / sum(turns[cycle].micros for cycle in counted) * 1e6
        for turns in loads
    ]
