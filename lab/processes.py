"""Start processes in their own sessions, record them in files, and signal process trees."""

import json
import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TERMINATE_SECONDS = 15  # from SIGTERM to SIGKILL


@dataclass(frozen=True)
class Process:
    """A process id with its start time in clock ticks since boot, which distinguishes reused ids."""

    pid: int
    start_time: int

    @property
    def alive(self) -> bool:
        with suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)  # reap it if it is our child
        status = status_of(self.pid)
        return status is not None and status.start_time == self.start_time and status.state not in "ZX"


@dataclass(frozen=True)
class Status:
    state: str
    parent: int
    session: int
    start_time: int


class Records:
    """The processes of a lab, one file each, written immediately so that an interrupted start is recorded, too."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "processes"

    def add(self, service: str, process: Process) -> None:
        path = self._path(service)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps({"pid": process.pid, "start_time": process.start_time}))
        temporary.replace(path)

    def get(self, service: str) -> Process | None:
        try:
            return Process(**json.loads(self._path(service).read_bytes()))
        except FileNotFoundError:
            return None

    def remove(self, service: str) -> None:
        self._path(service).unlink(missing_ok=True)

    def all(self) -> dict[str, Process]:
        """Return all recorded processes by service, running or not."""
        found = {}
        for path in sorted(self.folder.rglob("*.json")):
            service = str(path.relative_to(self.folder).with_suffix(""))
            found[service] = Process(**json.loads(path.read_bytes()))
        return found

    def _path(self, service: str) -> Path:
        return self.folder / f"{service}.json"


def start(command: Iterable[str], environment: dict[str, str], log: Path) -> Process:
    """Start a detached command with its output in a log file."""
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
    return Process(pid, status.start_time if status else -1)


def terminate(processes: Iterable[Process]) -> None:
    """Terminate process trees with SIGTERM, then SIGKILL."""
    members = [member for process in processes for member in tree(process)]
    for number, timeout in ((signal.SIGTERM, TERMINATE_SECONDS), (signal.SIGKILL, TERMINATE_SECONDS)):
        send(members, number)
        send(members, signal.SIGCONT)  # a suspended process receives SIGTERM only when it is resumed
        deadline = time.monotonic() + timeout
        while any(process.alive for process in members):
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
        else:
            return
    left = [process.pid for process in members if process.alive]
    raise RuntimeError(f"processes did not exit: {left}")


def send(processes: Iterable[Process], number: signal.Signals) -> None:
    """Send a signal to the processes that are alive."""
    for process in processes:
        if process.alive:
            with suppress(ProcessLookupError):
                os.kill(process.pid, number)


def tree(root: Process) -> list[Process]:
    """Return a process and its descendants, including orphans in its session."""
    known = dict(_all())
    if root.pid in known and known[root.pid].start_time != root.start_time:
        return []  # the id was reused, which is impossible while its session has members
    # The session outlives its leader, so children of a dead service are included.
    members = {
        pid for pid, status in known.items() if status.session == root.pid and status.start_time >= root.start_time
    }
    while True:
        more = {pid for pid, status in known.items() if status.parent in members} - members
        if not more:
            break
        members |= more
    return [Process(pid, known[pid].start_time) for pid in sorted(members) if pid in known]


def resident_bytes(root: Process) -> int:
    """Return the resident memory of a process tree; shared pages count once per process."""
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
    """Return the status of a process, or None if it does not exist."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return Status(fields[0], int(fields[1]), int(fields[3]), int(fields[19]))
