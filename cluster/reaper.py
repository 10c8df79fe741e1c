"""Reaper process: clean up processes and folders even if this process is killed.

It is started with the first registration and receives registrations through a pipe. When the pipe is closed, for any
reason, it kills the remaining processes and removes the remaining folders.
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

from cluster.errors import ClusterError
from cluster.process_signals import kill
from lab.processes import Process

ROOT = Path(__file__).parents[1]
_start_lock = threading.Lock()
_pipe: int | None = None


def register(process: Process) -> None:
    """Kill this process tree if this process exits first."""
    _send({"process": [process.pid, process.start_time], "registered": True})


def unregister(process: Process) -> None:
    """Forget a process that has exited."""
    _send({"process": [process.pid, process.start_time], "registered": False})


def register_folder(folder: Path) -> None:
    """Remove this folder if this process exits first."""
    _send({"folder": str(folder), "registered": True})


def unregister_folder(folder: Path) -> None:
    _send({"folder": str(folder), "registered": False})


def _send(message: dict[str, Any]) -> None:
    global _pipe
    with _start_lock:
        if _pipe is None:
            _pipe = _start()
    os.write(_pipe, json.dumps(message).encode() + b"\n")


def _start() -> int:
    """Start the reaper; return the write end of its pipe, which is not inherited and closes only when we exit."""
    reading, writing = os.pipe()
    os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", __name__],
        os.environ | {"PYTHONPATH": str(ROOT)},
        file_actions=[(os.POSIX_SPAWN_DUP2, reading, 0)],
        setsid=True,  # signals to our process group do not reach it
    )
    os.close(reading)
    return writing


def reap(messages: Iterable[bytes]) -> None:
    """Read all messages, then kill and remove what is still registered."""
    processes: dict[Process, None] = {}
    folders: dict[Path, None] = {}
    for line in messages:
        message = json.loads(line)
        if "folder" in message:
            _update(folders, Path(message["folder"]), message["registered"])
        else:
            _update(processes, Process(*message["process"]), message["registered"])
    for process in reversed(processes):
        with suppress(ClusterError):
            kill(process)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _update(registered: dict[Any, None], item: Any, is_registered: bool) -> None:
    if is_registered:
        registered[item] = None
    else:
        registered.pop(item, None)


if __name__ == "__main__":
    reap(sys.stdin.buffer)
