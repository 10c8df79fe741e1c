"""Processes of a serving console, seen and steered from outside; on Linux."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from tests.fork_server import run_warm
from tests.harness import OverHttp, RunningServer, clean_environment

Result = TypeVar("Result")


def eventually(attempt: Callable[[], Result | None], *, tries: int = 2400) -> Result:
    """The first result that is true; waits for it, but not for ever."""
    for _ in range(tries):
        result = attempt()
        if result:
            return result
        time.sleep(0.05)
    raise AssertionError("it did not come about")


def command(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """`cloudconsole` with these arguments, to its end."""
    return run_warm(arguments, clean_environment(**environment))


def workers(server: RunningServer) -> set[int]:
    """The process ids of a supervisor's workers."""
    return children_of(server.process.pid)


def children_of(process: int) -> set[int]:
    return {child for child, (parent, state) in _processes() if parent == process and state != "Z"}


def is_running(process: int) -> bool:
    return any(found == process and state != "Z" for found, (_, state) in _processes())


def _processes() -> Iterator[tuple[int, tuple[int, str]]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
        except OSError:
            continue
        state, parent = stat.rpartition(")")[2].split()[:2]
        yield int(folder.name), (int(parent), state)


@contextmanager
def connection_to(server: RunningServer, worker: int) -> Iterator[OverHttp]:
    """A connection that this worker serves: the others stand still while it is made."""
    others = workers(server) - {worker}
    wire = OverHttp(server.base)
    try:
        for other in others:
            os.kill(other, signal.SIGSTOP)
        serving = wire_worker(server, wire)
    finally:
        for other in others:
            with suppress(ProcessLookupError):
                os.kill(other, signal.SIGCONT)
    assert serving == worker
    try:
        yield wire
    finally:
        wire.close()


def wire_worker(server: RunningServer, wire: OverHttp) -> int:
    """The process that serves a connection, by the log line of a call over it."""
    name = uuid4().hex
    assert wire.send("GET", "/api/", [("X-Request-ID", name)]).status == 200
    found = eventually(lambda: [line for line in log_lines(server) if line["request_id"] == name])
    return int(found[0]["process"])


def log_lines(server: RunningServer) -> list[dict[str, Any]]:
    """What a server has logged so far, which must be JSON; its last line may still be under way."""
    return [json.loads(line) for line in server.log().split("\n")[:-1]]
