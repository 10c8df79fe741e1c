"""The load generator: wrk on its own core over keep-alive connections. One wrong response makes the run invalid."""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from bench.measurements import InvalidRun
from bench.servers import LOAD_CORE, taskset
from bench.time_slices import UNSLICED, SliceSchedule, TimeSlice, parse_slices

SCRIPT: Final = Path(__file__).with_name("wrk.lua")
CONNECTIONS: Final = 16
GRACE_SECONDS: Final = 60


class Workload(Struct, frozen=True):
    """The request to send and the response to expect."""

    request: bytes
    body: bytes
    cookies_file: Path | None = None
    """Cookies of many tenants; each request uses the next ones."""
    is_substring: bool = False
    """Whether a response only has to contain `body`."""
    connections: int = CONNECTIONS


class WrkCounts(Struct, frozen=True, array_like=True):
    """The counts of one wrk run; times in microseconds."""

    requests: int
    duration: int
    bytes: int
    wrong: int
    status: int
    connect: int
    read: int
    write: int
    timeout: int
    slices: dict[int, TimeSlice]
    """By cycle, in a run with time slices."""
    first_wrong: str

    @property
    def rate(self) -> float:
        return self.requests / self.duration * 1e6


class WrkProcess:
    """A running wrk; `wait` returns its counts or raises `InvalidRun`."""

    def __init__(
        self,
        workload: Workload,
        port: int,
        *,
        seconds: int,
        offset: int = 0,
        core: int | None = LOAD_CORE,
        schedule: SliceSchedule = UNSLICED,
    ) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="bench-wrk-")
        self._seconds = schedule.total_seconds(seconds)
        directory = Path(self._directory.name)
        self._result = directory / "result"
        (directory / "request").write_bytes(workload.request)
        (directory / "body").write_bytes(workload.body)
        names = {"REQUEST": directory / "request", "BODY": directory / "body", "RESULT": self._result}
        environment = {name: str(file) for name, file in names.items()} | {"OFFSET": str(offset)}
        if workload.cookies_file is not None:
            environment["COOKIES"] = str(workload.cookies_file)
        if workload.is_substring:
            environment["SUBSTRING"] = "yes"
        if schedule != UNSLICED:
            environment["SLICES"] = str(schedule)
        options = ["-t1", f"-c{workload.connections}", f"-d{self._seconds}s", "--timeout", "10s", "-s", str(SCRIPT)]
        self._process = subprocess.Popen(
            [*taskset(core), "wrk", *options, f"http://127.0.0.1:{port}/"],
            env={"PATH": os.environ["PATH"], **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wait(self) -> WrkCounts:
        try:
            output, _ = self._process.communicate(timeout=self._seconds + GRACE_SECONDS)
            if self._process.returncode or not self._result.exists():
                raise InvalidRun(f"wrk failed: {output.strip()}")
            counts = parse_counts(self._result.read_text(errors="replace"))
        finally:
            self.stop()
        check_counts(counts)
        return counts

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._directory.cleanup()


def parse_counts(text: str) -> WrkCounts:
    *numbers, slices, example = text.split("\n", len(WrkCounts.__struct_fields__) - 1)
    return msgspec.convert([*(int(number) for number in numbers), parse_slices(slices), example], WrkCounts)


def check_counts(counts: WrkCounts) -> None:
    """Raise `InvalidRun` on any wrong response or failed connection."""
    if counts.wrong or counts.status:
        raise InvalidRun(f"{max(counts.wrong, counts.status)} wrong responses, the first: {counts.first_wrong}")
    failed = {name: getattr(counts, name) for name in ("connect", "read", "write", "timeout") if getattr(counts, name)}
    if failed:
        raise InvalidRun("connections failed: " + ", ".join(f"{name} {count}" for name, count in failed.items()))
    if not counts.requests:
        raise InvalidRun("no responses were received")


def run(workload: Workload, port: int, *, seconds: int, offset: int = 0, core: int | None = LOAD_CORE) -> WrkCounts:
    return WrkProcess(workload, port, seconds=seconds, offset=offset, core=core).wait()
