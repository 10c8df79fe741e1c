"""Inspect and control the processes of a running console from outside (Linux only)."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pytest

from tests.fork_server import polls, run_forked
from tests.harness import ApiClient, HttpTransport, RunningServer, clean_environment

Result = TypeVar("Result")

needs_curl = pytest.mark.skipif(
    shutil.which("curl") is None and os.environ.get("CI") != "true", reason="curl is not installed"
)


def eventually(attempt: Callable[[], Result | None]) -> Result:
    """Poll until `attempt` returns a true value, and return it."""
    for _ in polls():
        if result := attempt():
            return result
    raise AssertionError("timed out")


def command(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run `cloudconsole` with these arguments and wait for it to exit."""
    return run_forked(arguments, clean_environment(**environment))


def workers(server: RunningServer) -> set[int]:
    """Return the process ids of a supervisor's workers."""
    return children_of(server.process.pid)


def children_of(process: int) -> set[int]:
    return {child for child, (parent, state) in _processes() if parent == process and state != "Z"}


def is_running(process: int) -> bool:
    return any(found == process and state != "Z" for found, (_, state) in _processes())


def open_files(process: int) -> set[Path]:
    """Return the files a process has open; one closed meanwhile is skipped."""
    found = set()
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):
            found.add(descriptor.readlink())
    return found


def _processes() -> Iterator[tuple[int, tuple[int, str]]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
        except OSError:
            continue
        state, parent = stat.rpartition(")")[2].split()[:2]
        yield int(folder.name), (int(parent), state)


@contextmanager
def client_of(base: str) -> Iterator[ApiClient]:
    """A client that is not logged in, with its own connection to this address."""
    with closing(HttpTransport(base)) as transport:
        yield ApiClient(transport)


@contextmanager
def connection_to(server: RunningServer, worker: int) -> Iterator[HttpTransport]:
    """Connect to this worker: the others are paused until the connection is accepted."""
    others = workers(server) - {worker}
    transport = HttpTransport(server.base)
    try:
        for other in others:
            os.kill(other, signal.SIGSTOP)
        serving = wire_worker(server, transport)
    finally:
        for other in others:
            with suppress(ProcessLookupError):
                os.kill(other, signal.SIGCONT)
    assert serving == worker
    try:
        yield transport
    finally:
        transport.close()


def wire_worker(server: RunningServer, transport: HttpTransport) -> int:
    """Return the process that serves a connection, found by the log line of a request over it."""
    name = uuid4().hex
    assert transport.send("GET", "/api/", [("X-Request-ID", name)]).status == 200
    found = eventually(lambda: [line for line in log_lines(server) if line["request_id"] == name])
    return int(found[0]["process"])


def log_lines(server: RunningServer) -> list[dict[str, Any]]:
    """Parse what a server has logged so far as JSON; an incomplete last line is skipped."""
    return [json.loads(line) for line in server.log().split("\n")[:-1]]
