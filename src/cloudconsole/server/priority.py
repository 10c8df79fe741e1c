"""Which of a worker's threads goes first where they share a processor."""

import os
import sys
import threading
from contextlib import suppress
from typing import Final

BEHIND: Final = 5
"""The nice value of a thread that gives way: beside a busy event loop it still has a quarter of the processor."""


def give_way() -> None:
    """Let the event loop go before this thread; on Linux, where threads have priorities of their own."""
    if sys.platform == "linux":
        # Where processes are held to the lowest priority already, there is nothing to give.
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), min(19, os.nice(0) + BEHIND))
