"""Retry policy: the deadline of a call and the waits between retries."""

import random
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from cloudconsole.client.exceptions import ConnectionFailed, ConsoleError, RateLimited, ServerError
from cloudconsole.client.options import CallOptions

FIRST_WAIT: Final = 0.1
MAX_WAIT: Final = 5.0
MAX_CONNECT_ATTEMPTS: Final = 5
"""Fail early if nothing listens: usually the URL is wrong."""
TRANSIENT_STATUSES: Final = (502, 503, 504)
"""Server errors that may be temporary."""


class RetryPolicy:
    """Deadline and retries of one call."""

    def __init__(self, options: CallOptions) -> None:
        self.options = options
        self._end = time.monotonic() + options.deadline
        self._retries = 0
        self._failed_connects = 0

    @property
    def remaining(self) -> float:
        return self._end - time.monotonic()

    @contextmanager
    def paused(self) -> Generator[None]:
        """Pause the deadline while the user is prompted."""
        began = time.monotonic()
        yield
        self._end += time.monotonic() - began

    def wait_after(self, problem: ConsoleError, *, may_repeat: bool) -> float | None:
        """Return the seconds to wait before retrying; None to give up.

        A request that must not be repeated is retried only if it was certainly not executed.
        """
        limit = self.options.retries
        is_used_up = limit is not None and self._retries >= limit
        if is_used_up or not _is_retryable(problem, may_repeat=may_repeat):
            return None
        if isinstance(problem, ConnectionFailed) and not problem.was_sent:
            self._failed_connects += 1
            if self._failed_connects > MAX_CONNECT_ATTEMPTS:
                return None
        backoff = min(MAX_WAIT, FIRST_WAIT * 2**self._retries)
        self._retries += 1
        # Jitter, so that clients rejected together do not retry together.
        wait = max(backoff * random.uniform(0.5, 1.0), (problem.retry_after or 0) + random.uniform(0.0, FIRST_WAIT))  # noqa: S311
        return wait if wait < self.remaining else None


def _is_retryable(problem: ConsoleError, *, may_repeat: bool) -> bool:
    if isinstance(problem, RateLimited):
        return True
    if isinstance(problem, ConnectionFailed):
        return problem.may_recover and (may_repeat or not problem.was_sent)
    return isinstance(problem, ServerError) and (
        problem.code == 503 or (may_repeat and problem.code in TRANSIENT_STATUSES)
    )
