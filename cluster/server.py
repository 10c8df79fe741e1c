"""Base class of the servers of a cluster: processes, a folder, a port; start, stop, pause and kill."""

import shutil
import signal
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from cluster import reaper
from cluster.errors import ClusterError
from cluster.processes import ProcessTree
from lab.ports import allocate

HOST: Final = "127.0.0.1"
STOP_SECONDS: Final = 60
_allocated: Final[set[int]] = set()


class Server(ABC):
    """A server on a loopback port that stays the same across restarts; a context manager that starts and closes it.

    Without a folder a temporary one is created and removed on close.
    """

    stop_signal = signal.SIGTERM

    def __init__(self, name: str, folder: Path | None) -> None:
        self.name = name
        self.port = free_port()
        self._owns_folder = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix=f"cloudconsole-{name}-"))
        self._tree: ProcessTree | None = None
        if self._owns_folder:
            reaper.register_folder(self.folder)

    @property
    def log(self) -> Path:
        """Its log, across all starts."""
        return self.folder / f"{self.name}.log"

    @property
    def is_running(self) -> bool:
        return self._tree is not None and self._tree.is_running

    @property
    def processes(self) -> list[int]:
        """The ids of all its processes, the root first; empty if it is not running."""
        if self._tree is None:
            return []
        root = self._tree.pid
        return sorted((member.pid for member in self._tree.members()), key=lambda pid: (pid != root, pid))

    @abstractmethod
    def start(self) -> Self:
        """Start and wait until it serves; on timeout kill it and raise an error with the end of its log."""

    def stop(self) -> int | None:
        """Stop it gracefully, resuming it first if paused; return the exit code, or None if it was not running."""
        if self._tree is None or not self._tree.is_running:
            return None
        return self._tree.stop(self.stop_signal, timeout=STOP_SECONDS)

    def restart(self) -> None:
        self.stop()
        self.start()

    def kill(self) -> None:
        """Kill all its processes at once, as a power failure would."""
        if self._tree is not None:
            self._tree.kill()

    def pause(self) -> None:
        """Suspend all its processes: connections stay open, the kernel accepts new ones, and nothing responds."""
        self._running_tree().suspend()

    def resume(self) -> None:
        self._running_tree().resume()

    def close(self) -> None:
        """Kill it and remove its temporary folder."""
        self.kill()
        if self._owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)
            reaper.unregister_folder(self.folder)

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

    def _require_stopped(self) -> None:
        if self.is_running:
            raise ClusterError(f"{self.name} is already running")

    def _running_tree(self) -> ProcessTree:
        if self._tree is None or not self._tree.is_running:
            raise ClusterError(f"{self.name} is not running")
        return self._tree


def free_port() -> int:
    """Return a port that no other server of ours uses or will use."""
    port = allocate(["server"])["server"]
    while port in _allocated:
        port = allocate(["server"])["server"]
    _allocated.add(port)
    return port
