"""What all parts of a cluster have in common: processes, a folder, a port, and the ways to start, halt and end them."""

import shutil
import signal
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from cluster import guardian
from cluster.errors import ClusterFailed
from cluster.processes import Family
from lab.ports import choose

HOST: Final = "127.0.0.1"
STOP_SECONDS: Final = 60
_given: Final[set[int]] = set()


class Part(ABC):
    """A server on a port of the loopback address, which it keeps over restarts; as a context it is started and closed.

    Without a folder it has one of its own, which goes when it is closed; a folder that is given is kept.
    """

    stop_signal = signal.SIGTERM

    def __init__(self, name: str, folder: Path | None) -> None:
        self.name = name
        self.port = free_port()
        self._owns_folder = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix=f"cloudconsole-{name}-"))
        self._family: Family | None = None
        if self._owns_folder:
            guardian.guard_folder(self.folder)

    @property
    def log(self) -> Path:
        """All that it has said, over all its starts."""
        return self.folder / f"{self.name}.log"

    @property
    def is_running(self) -> bool:
        return self._family is not None and self._family.is_running

    @property
    def processes(self) -> list[int]:
        """The ids of all its processes, that of the first one first; none where it does not run."""
        if self._family is None:
            return []
        first = self._family.pid
        return sorted((member.pid for member in self._family.members()), key=lambda pid: (pid != first, pid))

    @abstractmethod
    def start(self) -> Self:
        """Begin, and wait until it serves; where it does not in time, it is ended, and the error has its log's end."""

    def stop(self) -> int | None:
        """End it in good order; its exit code, or None where it ran no more. One that is halted goes on first."""
        if self._family is None or not self._family.is_running:
            return None
        return self._family.end(self.stop_signal, patience=STOP_SECONDS)

    def restart(self) -> None:
        self.stop()
        self.start()

    def kill(self) -> None:
        """End all its processes at once, as a power cut would, whatever they are doing."""
        if self._family is not None:
            self._family.kill()

    def pause(self) -> None:
        """Halt all its processes: connections stay, new ones are accepted by the kernel, and nothing answers."""
        self._running_family().suspend()

    def resume(self) -> None:
        self._running_family().resume()

    def close(self) -> None:
        """End it at once, and remove its folder, if that is its own."""
        self.kill()
        if self._owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)
            guardian.release_folder(self.folder)

    def __enter__(self) -> Self:
        try:
            return self if self.is_running else self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _refuse_running(self) -> None:
        if self.is_running:
            raise ClusterFailed(f"{self.name} runs already")

    def _running_family(self) -> Family:
        if self._family is None or not self._family.is_running:
            raise ClusterFailed(f"{self.name} does not run")
        return self._family


def free_port() -> int:
    """One that no other part of ours has, whether it listens there already or not."""
    port = choose(["part"])["part"]
    while port in _given:
        port = choose(["part"])["part"]
    _given.add(port)
    return port
