"""Which workers are frozen: their event loops do not advance, although the supervisor runs."""

from collections.abc import Mapping
from typing import Final

POLL_SECONDS: Final = 0.1
"""Between two looks of the supervisor at its workers."""


class Liveness:
    """Judges workers by the beats that they count themselves.

    Time counts by looks and not by a clock: while the machine is suspended, or too busy to run the supervisor, no
    worker counts as frozen.
    """

    def __init__(self, seconds: int) -> None:
        """`seconds` without a beat make a worker count as frozen; 0 turns this off."""
        self._limit = seconds / POLL_SECONDS
        self._seen: dict[int, tuple[int, int]] = {}

    def frozen(self, beats: Mapping[int, int]) -> list[int]:
        """Look once, at the beats by worker: those that are frozen. One that is starting has no beat yet."""
        before = self._seen
        self._seen = {}
        for worker, number in beats.items():
            seen, looks = before.get(worker, (0, 0))
            self._seen[worker] = number, looks + 1 if number == seen else 0
        if not self._limit:
            return []
        return [worker for worker, (number, looks) in self._seen.items() if number and looks >= self._limit]
