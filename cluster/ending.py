"""A process and all that it started, halted or ended together, by id."""

import signal
import time
from collections.abc import Sequence
from contextlib import suppress

from cluster.errors import ClusterFailed
from lab.processes import Process, send, status_of, tree

HALTING_SECONDS = 30
KILLING_SECONDS = 30


def halt(head: Process) -> None:
    """Nothing that any of them does goes on when this returns."""
    send([head], signal.SIGSTOP)  # it goes first: it begins no more of them
    deadline = time.monotonic() + HALTING_SECONDS
    while moving := [member for member in tree(head) if not _is_halted(member)]:
        if time.monotonic() > deadline:
            raise ClusterFailed(f"these processes would not halt: {[member.pid for member in moving]}")
        send(moving, signal.SIGSTOP)
        time.sleep(0.001)


def let_go_on(head: Process) -> None:
    """The first process goes on last, so that none of the others seems lost to it."""
    send(reversed(tree(head)), signal.SIGCONT)


def kill(head: Process) -> None:
    """End all of them at once, whatever they are doing; none is left when this returns."""
    # None of them may see another die, and act on it.
    with suppress(ClusterFailed):
        halt(head)
    doomed = tree(head)
    send(doomed, signal.SIGKILL)
    _wait_for_end(doomed)


def _wait_for_end(doomed: Sequence[Process]) -> None:
    deadline = time.monotonic() + KILLING_SECONDS
    while left := [member.pid for member in doomed if member.alive]:
        if time.monotonic() > deadline:
            raise ClusterFailed(f"these processes would not end: {left}")
        time.sleep(0.005)


def _is_halted(process: Process) -> bool:
    status = status_of(process.pid)
    return status is None or status.letter in "TtZX"
