"""Find the process that holds a port or a lock, as far as /proc shows it to this user."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

_PROC: Final = Path("/proc")
_LISTENING: Final = "0A"


class Process(NamedTuple):
    pid: int
    name: str
    parent: int

    def __str__(self) -> str:
        return f"{self.name}, process {self.pid}"


def listener_on(port: int) -> Process | None:
    """Return the process that listens on a TCP port; the parent if several share the socket."""
    sockets = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    listeners = [process for process in _processes() if sockets & set(_open_files(process.pid))]
    pids = {process.pid for process in listeners}
    return next((process for process in listeners if process.parent not in pids), None)


def lock_holders(files: Iterable[Path]) -> list[Process]:
    """Return the other processes that hold a write lock on one of these files."""
    identities = {_identity(file) for file in files if file.exists()}
    holders = set()
    for line in _lines(_PROC / "locks"):
        # 1: POSIX  ADVISORY  WRITE 4711 fe:01:131074 120 120
        fields = line.split()
        if len(fields) == 8 and fields[3] == "WRITE" and fields[5] in identities:
            holders.add(int(fields[4]))
    return [process for process in _processes() if process.pid in holders - {os.getpid()}]


def _identity(file: Path) -> str:
    status = file.stat()
    return f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"


def _listening_inodes(port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        for line in _lines(_PROC / "net" / table)[1:]:
            fields = line.split()
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]


def _processes() -> Iterator[Process]:
    for directory in sorted(_PROC.glob("[0-9]*"), key=lambda directory: int(directory.name)):
        with suppress(OSError):
            # The name is in parentheses and may contain any character.
            name, _, rest = (directory / "stat").read_text(errors="replace").partition("(")[2].rpartition(")")
            yield Process(int(directory.name), name, int(rest.split()[1]))


def _open_files(pid: int) -> Iterator[str]:
    with suppress(OSError):
        for descriptor in (_PROC / str(pid) / "fd").iterdir():
            with suppress(OSError):
                yield str(descriptor.readlink())


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []
