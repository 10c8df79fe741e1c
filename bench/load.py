"""The load: wrk on a core of its own, over kept connections, checking every answer. One wrong answer ends the run."""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from bench.figures import Refused
from bench.servers import LOAD_CORE, on_core
from bench.turns import ALONE, Turn, Turns, parse_turns

SCRIPT: Final = Path(__file__).with_name("load.lua")
CONNECTIONS: Final = 16
GRACE_SECONDS: Final = 60


class Load(Struct, frozen=True):
    """Which requests are sent, and what each must be answered with."""

    request: bytes
    body: bytes
    callers: Path | None = None
    is_partial: bool = False
    """Whether an answer has more in it than `body`, which may differ each time."""
    connections: int = CONNECTIONS


class Counts(Struct, frozen=True, array_like=True):
    """What wrk counted in one run; times in microseconds."""

    requests: int
    duration: int
    bytes: int
    wrong: int
    status: int
    connect: int
    read: int
    write: int
    timeout: int
    turns: dict[int, Turn]
    """Where others had the machine in turns with it: what it did in each cycle."""
    first_wrong: str

    @property
    def rate(self) -> float:
        return self.requests / self.duration * 1e6


class Running:
    """wrk at work; `counts` waits for its end and refuses what is not right."""

    def __init__(
        self,
        load: Load,
        port: int,
        *,
        seconds: int,
        offset: int = 0,
        core: int | None = LOAD_CORE,
        turns: Turns = ALONE,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="bench-load-")
        self._seconds = turns.whole(seconds)
        folder = Path(self._folder.name)
        self._result = folder / "result"
        (folder / "request").write_bytes(load.request)
        (folder / "body").write_bytes(load.body)
        names = {"REQUEST": folder / "request", "BODY": folder / "body", "RESULT": self._result}
        environment = {name: str(file) for name, file in names.items()} | {"OFFSET": str(offset)}
        if load.callers is not None:
            environment["CALLERS"] = str(load.callers)
        if load.is_partial:
            environment["PARTIAL"] = "yes"
        if turns != ALONE:
            environment["TURNS"] = str(turns)
        command = ["wrk", "-t1", f"-c{load.connections}", f"-d{self._seconds}s", "--timeout", "10s", "-s", str(SCRIPT)]
        self._process = subprocess.Popen(
            [*on_core(core), *command, f"http://127.0.0.1:{port}/"],
            env={"PATH": os.environ["PATH"], **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def counts(self) -> Counts:
        try:
            said, _ = self._process.communicate(timeout=self._seconds + GRACE_SECONDS)
            if self._process.returncode or not self._result.exists():
                raise Refused(f"wrk failed: {said.strip()}")
            counts = parse_counts(self._result.read_text(errors="replace"))
        finally:
            self.end()
        check_counts(counts)
        return counts

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()


def parse_counts(text: str) -> Counts:
    *numbers, turns, example = text.split("\n", len(Counts.__struct_fields__) - 1)
    return msgspec.convert([*(int(number) for number in numbers), parse_turns(turns), example], Counts)


def check_counts(counts: Counts) -> None:
    """Refuse a run with an answer that was wrong, missing or of another size than the others."""
    if counts.wrong or counts.status:
        raise Refused(f"{max(counts.wrong, counts.status)} wrong answers, the first: {counts.first_wrong}")
    broken = {name: getattr(counts, name) for name in ("connect", "read", "write", "timeout") if getattr(counts, name)}
    if broken:
        raise Refused("connections failed: " + ", ".join(f"{name} {count}" for name, count in broken.items()))
    if not counts.requests:
        raise Refused("nothing was answered")


def run(load: Load, port: int, *, seconds: int, offset: int = 0, core: int | None = LOAD_CORE) -> Counts:
    return Running(load, port, seconds=seconds, offset=offset, core=core).counts()
