"""Whoever starts processes here may be killed, and can then end nothing: a guardian, which outlives him, does.

It is a process of its own, begun with the first thing to guard. It is told by a pipe what there is; when that is
closed, however it came to it, it ends the processes and removes the folders that are left.
"""

import json
import os
import shutil
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from cluster.ending import kill
from cluster.errors import ClusterFailed
from lab.processes import Process

ROOT = Path(__file__).parents[1]
_starting = threading.Lock()
_pipe: int | None = None


def guard(process: Process) -> None:
    """End this process with all that it started, should we end before it does."""
    _tell({"process": [process.pid, process.began], "guarded": True})


def release(process: Process) -> None:
    """It has ended."""
    _tell({"process": [process.pid, process.began], "guarded": False})


def guard_folder(folder: Path) -> None:
    """Remove this folder, should we end before that is done."""
    _tell({"folder": str(folder), "guarded": True})


def release_folder(folder: Path) -> None:
    _tell({"folder": str(folder), "guarded": False})


def _tell(message: dict[str, Any]) -> None:
    global _pipe
    with _starting:
        if _pipe is None:
            _pipe = _begin()
    os.write(_pipe, json.dumps(message).encode() + b"\n")


def _begin() -> int:
    """The writing end of its pipe, which nobody inherits, and which is never closed but by our end."""
    reading, writing = os.pipe()
    os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", __name__],
        os.environ | {"PYTHONPATH": str(ROOT)},
        file_actions=[(os.POSIX_SPAWN_DUP2, reading, 0)],
        setsid=True,  # what interrupts us does not reach it
    )
    os.close(reading)
    return writing


def watch(messages: Iterable[bytes]) -> None:
    """Take messages to their end, then end and remove what is left of what they told of."""
    processes: dict[Process, None] = {}
    folders: dict[Path, None] = {}
    for line in messages:
        message = json.loads(line)
        if "folder" in message:
            _note(folders, Path(message["folder"]), message["guarded"])
        else:
            _note(processes, Process(*message["process"]), message["guarded"])
    for process in reversed(processes):
        with suppress(ClusterFailed):
            kill(process)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _note(guarded: dict[Any, None], what: Any, is_guarded: bool) -> None:
    if is_guarded:
        guarded[what] = None
    else:
        guarded.pop(what, None)


if __name__ == "__main__":
    watch(sys.stdin.buffer)
