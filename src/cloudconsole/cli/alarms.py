"""The seconds that a call may take, held to whatever the console does: also one that sends letter by letter."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_AGAIN: Final = 0.25
"""Seconds until it rings again: what rings may be taken for a lost connection, and be tried once more."""

_GRACE: Final = 0.25
"""So much longer, since whoever keeps the time by itself says better what went wrong."""


@contextmanager
def bounded(seconds: float, failure: Callable[[], Exception]) -> Iterator[None]:
    """Within, the failure is raised after so many seconds."""
    if threading.current_thread() is not threading.main_thread():
        # Only there signals are heard.
        yield
        return

    def ring(*_: object) -> None:
        raise failure()

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def paused() -> Iterator[None]:
    """Within, no time is counted: somebody types, or some vault is asked."""
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        yield
    finally:
        if left:
            signal.setitimer(signal.ITIMER_REAL, left, _AGAIN)
