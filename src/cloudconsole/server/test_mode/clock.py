"""Controllable clock, seeded random source."""

import hashlib
import random
import time
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

from cloudconsole.operator.fields import seconds_of

EARLIEST: Final = int(datetime(1971, 1, 1, tzinfo=UTC).timestamp())
LATEST: Final = int(datetime(9000, 1, 1, tzinfo=UTC).timestamp())
"""Between these, every time zone offset and cookie expiry is a valid date."""


class ControllableClock:
    """A clock that starts at a given time or the machine's; `reset` restores its initial state."""

    def __init__(self, start: float | None = None, *, fixed: bool = False) -> None:
        self._start = time.time() if start is None and fixed else start
        self._starts_fixed = fixed
        self._ahead = 0.0
        """Seconds ahead of the machine's clock, while running."""
        self._fixed_at: float | None = None
        self.reset()

    def now(self) -> float:
        return time.time() + self._ahead if self._fixed_at is None else self._fixed_at

    @property
    def is_fixed(self) -> bool:
        return self._fixed_at is not None

    def set(self, moment: float) -> None:
        """Set the time; stay running or fixed."""
        if self._fixed_at is None:
            self._ahead = moment - time.time()
        else:
            self._fixed_at = moment

    def fix(self) -> None:
        self._fixed_at = self.now()

    def run(self) -> None:
        moment, self._fixed_at = self.now(), None
        self.set(moment)

    def reset(self) -> None:
        self._fixed_at, self._ahead = None, 0.0
        if self._start is not None:
            self.set(self._start)
        if self._starts_fixed:
            self._fixed_at = self._start


def read_moment(value: Any, zone: tzinfo) -> int:
    """Parse a time in the supported range; raise ValueError otherwise."""
    moment = seconds_of(value, zone)
    check_moment(moment)
    return moment


def check_moment(moment: float) -> None:
    if not EARLIEST <= moment < LATEST:
        raise ValueError("must be a time from 1971 to 8999")


class SeededRandomSource:
    """Random source determined by its seed alone, on every Python version."""

    def __init__(self, seed: str) -> None:
        self._seed = seed.encode()
        self._position = self._saved = 0

    def token_bytes(self, size: int, /) -> bytes:
        self._position += 1
        return hashlib.shake_256(b"%d:%b" % (self._position, self._seed)).digest(size)

    def save_position(self) -> None:
        """Save the position to which `restart` returns."""
        self._saved = self._position

    def restart(self) -> None:
        """Return to the saved position, and reseed `random`, the source of request ids."""
        self._position = self._saved
        random.seed(self._seed)
