"""How long a call may take with all its repeats, and how long to wait between them."""

import random
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from cloudconsole.client.exceptions import ConnectionFailed, ConsoleError, RateLimited, ServerError

FIRST_WAIT: Final = 0.1
LONGEST_WAIT: Final = 5.0
MOST_TRIES_TO_CONNECT: Final = 5
"""Where nobody listens, it is told soon: most often the address is wrong."""
LONGEST_DEADLINE: Final = 86_400
TRANSIENT_STATUSES: Final = (502, 503, 504)
"""Faults of a server that may be over in a moment."""


class RetryPolicy:
    """That of one call."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._repeats = 0
        self._unconnected = 0

    @property
    def remaining(self) -> float:
        return self._end - time.monotonic()

    @contextmanager
    def held(self) -> Generator[None]:
        """Within, no time passes: a person is asked."""
        began = time.monotonic()
        yield
        self._end += time.monotonic() - began

    def wait_after(self, problem: ConsoleError, *, may_repeat: bool) -> float | None:
        """How long to wait before the request is repeated; None where it is not.

        Where it may not, because it may change something, it is only after what surely has not been done.
        """
        if not _is_passing(problem, may_repeat=may_repeat):
            return None
        if isinstance(problem, ConnectionFailed) and not problem.was_sent:
            self._unconnected += 1
            if self._unconnected > MOST_TRIES_TO_CONNECT:
                return None
        usual = min(LONGEST_WAIT, FIRST_WAIT * 2**self._repeats)
        self._repeats += 1
        # Spread, so that callers who were turned away together do not come back together.
        wait = max(usual * random.uniform(0.5, 1.0), (problem.retry_after or 0) + random.uniform(0.0, FIRST_WAIT))  # noqa: S311
        return wait if wait < self.remaining else None


def _is_passing(problem: ConsoleError, *, may_repeat: bool) -> bool:
    if isinstance(problem, RateLimited):
        return True
    if isinstance(problem, ConnectionFailed):
        return may_repeat or not problem.was_sent
    return isinstance(problem, ServerError) and (
        problem.code == 503 or (may_repeat and problem.code in TRANSIENT_STATUSES)
    )


def validate_timeout(name: str, seconds: float) -> float:
    if not 0 < seconds <= LONGEST_DEADLINE:
        raise ValueError(f"{name} is a number of seconds above 0 and up to {LONGEST_DEADLINE}")
    return seconds
