"""Time as the console sees it: whole or fractional seconds since the epoch, from a clock that tests can hold."""

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch, UTC."""


class SystemClock:
    def now(self) -> float:
        return time.time()
