"""Controllable clock, seeded random source."""

import hashlib
import random
import time
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

from cloudconsole.operator.fields import seconds_of

EARLIEST: Final = int(datetime(1971, 1, 1, tzinfo=UTC).timestamp())
LATEST: Final = int(datetime(9000, 1, 1, tzinfo=UTC).timestamp())
"""Between them every time zone and every cookie's expiry has a date."""


class ControllableClock:
    """Starts at a moment, or at the machine's own; `reset` makes it what it was at the start."""

    def __init__(self, start: float | None = None, *, fixed: bool = False) -> None:
        self._start = time.time() if start is None and fixed else start
        self._starts_fixed = fixed
        self._ahead = 0.0
        """Of the machine's clock, in seconds, while it runs."""
        self._held: float | None = None
        self.reset()

    def now(self) -> float:
        return time.time() + self._ahead if self._held is None else self._held

    @property
    def is_fixed(self) -> bool:
        return self._held is not None

    def set(self, moment: float) -> None:
        """Go to a moment, and run or stand there as before."""
        if self._held is None:
            self._ahead = moment - time.time()
        else:
            self._held = moment

    def fix(self) -> None:
        self._held = self.now()

    def run(self) -> None:
        moment, self._held = self.now(), None
        self.set(moment)

    def reset(self) -> None:
        self._held, self._ahead = None, 0.0
        if self._start is not None:
            self.set(self._start)
        if self._starts_fixed:
            self._held = self._start


def read_moment(value: Any, zone: tzinfo) -> int:
    """The moment that a text tells; a ValueError's text says what it must be."""
    moment = seconds_of(value, zone)
    check_moment(moment)
    return moment


def check_moment(moment: float) -> None:
    if not EARLIEST <= moment < LATEST:
        raise ValueError("must be a time from 1971 to 8999")


class SeededRandomSource:
    """A stream that its seed alone decides, whichever Python it runs on."""

    def __init__(self, seed: str) -> None:
        self._seed = seed.encode()
        self._taken = self._first = 0

    def token_bytes(self, size: int, /) -> bytes:
        self._taken += 1
        return hashlib.shake_256(b"%d:%b" % (self._taken, self._seed)).digest(size)

    def keep_place(self) -> None:
        """From here on `restart` comes back to here."""
        self._first = self._taken

    def restart(self) -> None:
        """All from the kept place again; and Python's own numbers, which request ids are made of, from their start."""
        self._taken = self._first
        random.seed(self._seed)
