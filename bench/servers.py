"""The servers under test: real processes pinned to one core, with the same memory layout at every start."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.measurements import InvalidRun, UpperLimit

ROOT: Final = Path(__file__).parents[1]
SERVER_CORE: Final = 0
LOAD_CORE: Final = 1
START_SECONDS: Final = 60
MEMORY_LIMIT_MB: Final = 110


class Server(Struct, frozen=True):
    name: str
    port: int
    pid: int
    log: Path | None = None
    """Its output so far."""

    def memory_limit(self, when: str) -> UpperLimit:
        return UpperLimit(f"worker memory {when}", "MB", self.resident_mb(), MEMORY_LIMIT_MB)

    def resident_mb(self) -> float:
        """Return the resident memory of its largest process."""
        return max(_resident_mb(pid) for pid in self.pids)

    def cpu_seconds(self) -> float:
        """Return the CPU time of its processes so far, in clock ticks of usually 10 ms."""
        return sum(_cpu_ticks(pid) for pid in self.pids) / os.sysconf("SC_CLK_TCK")

    def precise_cpu_seconds(self) -> float:
        """Return the same with nanosecond resolution; reading it takes longer."""
        threads = [each for pid in self.pids for each in Path(f"/proc/{pid}/task").iterdir()]
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9

    @property
    def pids(self) -> list[int]:
        return [self.pid, *_children(self.pid)]


@contextmanager
def run_console(
    data: Path, *flags: str, workers: int = 1, core: int | None = SERVER_CORE, module: str = "cloudconsole"
) -> Iterator[Server]:
    """Run `cloudconsole serve`, or another module that wraps it."""
    port = free_port()
    command = [
        *("-m", module, "serve", "--data", str(data), "--port", str(port)),
        *("--workers", str(workers), *flags),
    ]
    with run_server("console", command, port, core=core) as server:
        yield server


@contextmanager
def run_bare_server(body: bytes, *, core: int | None = SERVER_CORE) -> Iterator[Server]:
    """Run a minimal ASGI application with a constant response under uvicorn, with its fastest options."""
    command = ("-m", "uvicorn", "bench.bare_app:app", "--port", "{port}", *FASTEST_UVICORN_FLAGS)
    with _run_constant("bare server", command, body, core) as server:
        yield server


@contextmanager
def run_bare_connection(body: bytes, *, core: int | None = SERVER_CORE) -> Iterator[Server]:
    """Run the console's own HTTP connection with a constant response."""
    with _run_constant("bare connection", ("-m", "bench.bare_connection", "{port}"), body, core) as server:
        yield server


@contextmanager
def _run_constant(name: str, command: Sequence[str], body: bytes, core: int | None) -> Iterator[Server]:
    port = free_port()
    with tempfile.NamedTemporaryFile(prefix="bench-body-") as file:
        file.write(body)
        file.flush()
        filled = [part.format(port=port) for part in command]
        with run_server(name, filled, port, core=core, environment={"BENCH_BODY": file.name}) as server:
            yield server


FASTEST_UVICORN_FLAGS: Final = (
    *("--http", "httptools", "--loop", "uvloop", "--ws", "none", "--interface", "asgi3", "--lifespan", "off"),
    *("--no-access-log", "--log-level", "warning", "--no-proxy-headers", "--no-server-header"),
)


@contextmanager
def run_server(
    name: str,
    command: list[str],
    port: int,
    *,
    core: int | None = SERVER_CORE,
    environment: Mapping[str, str] | None = None,
    program: str | Path = sys.executable,
) -> Iterator[Server]:
    """Run a program until the context ends; default: Python."""
    with tempfile.NamedTemporaryFile(prefix="bench-server-") as log:
        process = subprocess.Popen(
            [*taskset(core), "setarch", "-R", str(program), *command],
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
    """Raise `InvalidRun` if this machine cannot run benchmarks."""
    for program in ("wrk", "taskset", "setarch"):
        if shutil.which(program) is None:
            raise InvalidRun(f"{program} is missing: apt-get install -y wrk util-linux")
    if not {SERVER_CORE, LOAD_CORE} <= os.sched_getaffinity(0):
        raise InvalidRun("two cores are required: one for the server, one for the load generator")


def taskset(core: int | None) -> list[str]:
    """Return the command prefix that pins a program to one core, or to both for None."""
    return ["taskset", "-c", f"{SERVER_CORE},{LOAD_CORE}" if core is None else str(core)]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def clean_environment() -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("CLOUDCONSOLE_", "WEB_"))}
    return inherited | {"PYTHONHASHSEED": "0"}


def _wait_until_listening(process: "subprocess.Popen[bytes]", port: int, log: int, name: str) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            output = os.pread(log, 2000, 0).decode(errors="replace").strip()
            raise InvalidRun(f"{name} did not start: {output}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise InvalidRun(f"{name} is not listening after {START_SECONDS} s")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=40)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


def _cpu_ticks(pid: int) -> int:
    # The program name, in parentheses, may itself contain spaces and parentheses.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
