"""How many lines of a kind may be written: whatever repeats without end is counted instead, so that no disk fills."""

import time
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

Kind = TypeVar("Kind", bound=Hashable)


class Allowance(Generic[Kind]):
    """So many lines of each kind within a stretch of time, which begins with its first; what is beyond is counted."""

    def __init__(self, lines: int, stretch: float, seconds: Callable[[], float] = time.monotonic) -> None:
        self._lines = lines
        self._stretch = stretch
        self._seconds = seconds
        self._used: dict[Kind, int] = {}
        self._over_at: dict[Kind, float] = {}

    def takes(self, kind: Kind) -> bool:
        """Whether a line of this kind may be written; to be asked once for each, after telling what was left out."""
        used = self._used.get(kind, 0)
        if not used:
            self._over_at[kind] = self._seconds() + self._stretch
        self._used[kind] = used + 1
        return used < self._lines

    def left_out(self, *, until_now: bool = False) -> Iterator[tuple[Kind, int]]:
        """End the stretches that are over, or all, and give how many lines each was short of."""
        # Of equal length, they are over in the order in which they began.
        while self._over_at:
            kind, over_at = next(iter(self._over_at.items()))
            if not until_now and over_at > self._seconds():
                return
            del self._over_at[kind]
            number = self._used.pop(kind) - self._lines
            if number > 0:
                yield kind, number
