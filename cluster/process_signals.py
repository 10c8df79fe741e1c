"""Suspend, resume and kill process trees."""

import signal
import time
from collections.abc import Sequence
from contextlib import suppress

from cluster.errors import ClusterError
from lab.processes import Process, send, status_of, tree

SUSPEND_SECONDS = 30
KILL_SECONDS = 30


def suspend(root: Process) -> None:
    """Suspend a process tree, and wait until all its processes have stopped."""
    send([root], signal.SIGSTOP)  # first, so that it starts no more children
    deadline = time.monotonic() + SUSPEND_SECONDS
    while running := [member for member in tree(root) if not _is_stopped(member)]:
        if time.monotonic() > deadline:
            raise ClusterError(f"processes did not stop: {[member.pid for member in running]}")
        send(running, signal.SIGSTOP)
        time.sleep(0.001)


def resume(root: Process) -> None:
    """Resume a process tree, the root last, so that it does not find its children unresponsive."""
    send(reversed(tree(root)), signal.SIGCONT)


def kill(root: Process) -> None:
    """Kill a process tree at once, and wait until all its processes are gone."""
    # Suspended first, so that no process reacts to the death of another.
    with suppress(ClusterError):
        suspend(root)
    members = tree(root)
    send(members, signal.SIGKILL)
    _wait_for_exit(members)


def _wait_for_exit(processes: Sequence[Process]) -> None:
    deadline = time.monotonic() + KILL_SECONDS
    while left := [member.pid for member in processes if member.alive]:
        if time.monotonic() > deadline:
            raise ClusterError(f"processes did not exit: {left}")
        time.sleep(0.005)


def _is_stopped(process: Process) -> bool:
    status = status_of(process.pid)
    return status is None or status.state in "TtZX"
