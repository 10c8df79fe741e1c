"""Services as processes: begun in sessions of their own, remembered in files, ended by id with all they started."""

import json
import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 15  # seconds from the polite signal to the last one


@dataclass(frozen=True)
class Process:
    """A process told from any later one with the same id by when it began, in clock ticks since the machine did."""

    pid: int
    began: int

    @property
    def alive(self) -> bool:
        with suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)  # where it is our own child, it would stay as a zombie
        status = status_of(self.pid)
        return status is not None and status.began == self.began and status.letter not in "ZX"


@dataclass(frozen=True)
class Status:
    letter: str
    parent: int
    session: int
    began: int


class Records:
    """Which processes a lab has, one file each, written as soon as one runs: a start broken off leaves them too."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "processes"

    def add(self, service: str, process: Process) -> None:
        path = self._path(service)
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(".new")
        half.write_text(json.dumps({"pid": process.pid, "began": process.began}))
        half.replace(path)

    def get(self, service: str) -> Process | None:
        try:
            return Process(**json.loads(self._path(service).read_bytes()))
        except FileNotFoundError:
            return None

    def remove(self, service: str) -> None:
        self._path(service).unlink(missing_ok=True)

    def all(self) -> dict[str, Process]:
        """The recorded processes by service, running or not."""
        found = {}
        for path in sorted(self.folder.rglob("*.json")):
            service = str(path.relative_to(self.folder).with_suffix(""))
            found[service] = Process(**json.loads(path.read_bytes()))
        return found

    def _path(self, service: str) -> Path:
        return self.folder / f"{service}.json"


def begin(command: Iterable[str], environment: dict[str, str], log: Path) -> Process:
    """Start a command that outlives us, all it says going to a log."""
    log.parent.mkdir(parents=True, exist_ok=True)
    arguments = list(command)
    pid = os.posix_spawn(
        arguments[0],
        arguments,
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    status = status_of(pid)
    return Process(pid, status.began if status else -1)


def end(processes: Iterable[Process]) -> None:
    """End processes and all that they started, politely first."""
    doomed = [member for process in processes for member in tree(process)]
    for number, patience in ((signal.SIGTERM, PATIENCE), (signal.SIGKILL, PATIENCE)):
        send(doomed, number)
        send(doomed, signal.SIGCONT)  # one that was suspended hears the first signal only when it goes on
        deadline = time.monotonic() + patience
        while any(process.alive for process in doomed):
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
        else:
            return
    left = [process.pid for process in doomed if process.alive]
    raise RuntimeError(f"these processes would not end: {left}")


def send(processes: Iterable[Process], number: signal.Signals) -> None:
    """Send a signal to those that still run."""
    for process in processes:
        if process.alive:
            with suppress(ProcessLookupError):
                os.kill(process.pid, number)


def tree(root: Process) -> list[Process]:
    """A process, if it runs, and what it and its children started; with what stayed in its session without a parent."""
    known = dict(_all())
    if root.pid in known and known[root.pid].began != root.began:
        return []  # the id is another's now, which it could not be while anything was left in our session
    # The session outlives its leader: what a dead service left behind is ended as well.
    members = {pid for pid, status in known.items() if status.session == root.pid and status.began >= root.began}
    while True:
        more = {pid for pid, status in known.items() if status.parent in members} - members
        if not more:
            break
        members |= more
    return [Process(pid, known[pid].began) for pid in sorted(members) if pid in known]


def resident(root: Process) -> int:
    """The memory of a process tree, in bytes; shared pages count for each that shares them."""
    total = 0
    for process in tree(root):
        with suppress(OSError):
            total += int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return total * os.sysconf("SC_PAGE_SIZE")


def _all() -> Iterator[tuple[int, Status]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (status := status_of(int(entry.name))):
            yield int(entry.name), status


def status_of(pid: int) -> Status | None:
    """How a process is; None where there is none of that id."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return Status(fields[0], int(fields[1]), int(fields[3]), int(fields[19]))
