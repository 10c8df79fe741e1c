"""How long a call may take with all its repeats, and how long to wait between them."""

import math
import random
import time
from typing import Final

from cloudconsole.client.errors import ConnectionFailed, ConsoleError, RateLimited, ServerError

FIRST_WAIT: Final = 0.1
LONGEST_WAIT: Final = 5.0
MOST_TRIES_TO_CONNECT: Final = 5
"""Where nobody listens, it is told soon: most often the address is wrong."""
PASSING: Final = (502, 503, 504)
"""Faults of a server that may be over in a moment."""


class Patience:
    """That of one call."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._repeats = 0

    @property
    def left(self) -> float:
        return self._end - time.monotonic()

    def wait_after(self, problem: ConsoleError, *, reads: bool) -> float | None:
        """How long to wait before the request is repeated; None where it is not.

        What may change something is repeated only where it surely has not been done.
        """
        if not _is_passing(problem, reads=reads):
            return None
        if isinstance(problem, ConnectionFailed) and not problem.was_sent and self._repeats >= MOST_TRIES_TO_CONNECT:
            return None
        usual = min(LONGEST_WAIT, FIRST_WAIT * 2**self._repeats)
        self._repeats += 1
        # Spread, so that callers who were turned away together do not come back together.
        jitter = random.uniform(0.5, 1.0)  # noqa: S311
        wait = usual * jitter if problem.retry_after is None else problem.retry_after + FIRST_WAIT * jitter
        return wait if wait < self.left else None


def _is_passing(problem: ConsoleError, *, reads: bool) -> bool:
    if isinstance(problem, RateLimited):
        return True
    if isinstance(problem, ConnectionFailed):
        return reads or not problem.was_sent
    return isinstance(problem, ServerError) and (problem.code == 503 or (reads and problem.code in PASSING))


def checked_seconds(name: str, seconds: float) -> float:
    if not 0 < seconds < math.inf:
        raise ValueError(f"{name} is a number of seconds above 0")
    return seconds
