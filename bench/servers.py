"""The servers under test: real processes, one core, the same memory layout at every start."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.figures import Ceiling, Refused

ROOT: Final = Path(__file__).parents[1]
SERVER_CORE: Final = 0
LOAD_CORE: Final = 1
START_SECONDS: Final = 60
MEMORY_LIMIT: Final = 120


class Server(Struct, frozen=True):
    name: str
    port: int
    process: int
    log: Path | None = None
    """What it said so far."""

    def memory_ceiling(self, when: str) -> Ceiling:
        """What the largest of its processes holds in memory now."""
        held = max(_resident(process) for process in self.processes)
        return Ceiling(f"memory of a worker {when}", "MB", held, MEMORY_LIMIT)

    def cpu_seconds(self) -> float:
        """The processor time that its processes have taken so far."""
        return sum(_cpu_ticks(process) for process in self.processes) / os.sysconf("SC_CLK_TCK")

    @property
    def processes(self) -> list[int]:
        return [self.process, *_children(self.process)]


@contextmanager
def console(
    data: Path, *flags: str, workers: int = 1, core: int | None = SERVER_CORE, module: str = "cloudconsole"
) -> Iterator[Server]:
    """`cloudconsole serve` as an operator starts it; another module may do something before it."""
    port = free_port()
    command = [
        *("-m", module, "serve", "--data", str(data), "--port", str(port)),
        *("--workers", str(workers), *flags),
    ]
    with started("console", command, port, core=core) as server:
        yield server


@contextmanager
def bare(body: bytes, *, core: int | None = SERVER_CORE) -> Iterator[Server]:
    """A constant answer from the barest ASGI application, under the same HTTP server at its fastest."""
    port = free_port()
    with tempfile.NamedTemporaryFile(prefix="bench-bare-") as file:
        file.write(body)
        file.flush()
        command = ["-m", "uvicorn", "bench.bare:app", "--port", str(port), *UVICORN_AT_ITS_FASTEST]
        with started("bare", command, port, core=core, environment={"BENCH_BODY": file.name}) as server:
            yield server


UVICORN_AT_ITS_FASTEST: Final = (
    *("--http", "httptools", "--loop", "uvloop", "--ws", "none", "--interface", "asgi3", "--lifespan", "off"),
    *("--no-access-log", "--log-level", "warning", "--no-proxy-headers", "--no-server-header"),
)


@contextmanager
def started(
    name: str,
    command: list[str],
    port: int,
    *,
    core: int | None = SERVER_CORE,
    environment: Mapping[str, str] | None = None,
    program: str | Path = sys.executable,
) -> Iterator[Server]:
    """A program, Python's unless said, that serves on a port until it is no longer needed."""
    with tempfile.NamedTemporaryFile(prefix="bench-server-") as log:
        process = subprocess.Popen(
            [*on_core(core), "setarch", "-R", str(program), *command],
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env=clean_environment() | dict(environment or {}),
        )
        try:
            _wait_until_listening(process, port, log.fileno(), name)
            yield Server(name, port, process.pid, Path(log.name))
        finally:
            _stop(process)


def check_machine() -> None:
    """Refuse where nothing can be measured."""
    for program in ("wrk", "taskset", "setarch"):
        if shutil.which(program) is None:
            raise Refused(f"{program} is missing: apt-get install -y wrk util-linux")
    if not {SERVER_CORE, LOAD_CORE} <= os.sched_getaffinity(0):
        raise Refused("two cores are needed: one for the server, one for the load")


def on_core(core: int | None) -> list[str]:
    """What makes a command run on one core; None lets it have both."""
    return ["taskset", "-c", f"{SERVER_CORE},{LOAD_CORE}" if core is None else str(core)]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def clean_environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CLOUDCONSOLE_", "WEB_"))}
    return kept | {"PYTHONHASHSEED": "0"}


def _wait_until_listening(process: "subprocess.Popen[bytes]", port: int, log: int, name: str) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            said = os.pread(log, 2000, 0).decode(errors="replace").strip()
            raise Refused(f"{name} did not start: {said}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise Refused(f"{name} does not listen after {START_SECONDS} s")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=40)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _resident(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


def _cpu_ticks(process: int) -> int:
    # The program's name, in brackets, may itself hold spaces and brackets.
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
