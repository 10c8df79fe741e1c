"""Start a process and control the tree of processes it starts."""

import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from cluster import process_signals, reaper
from cluster.errors import ClusterError
from lab.processes import Process, status_of, tree


class ProcessTree:
    """A process in its own session and its descendants; killed at the latest when this process exits."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        log: Path,
        environment: Mapping[str, str] | None = None,
        user: str | None = None,
    ) -> None:
        """Start the process, as another user if given; its output is appended to the log."""
        with log.open("ab") as output:
            self._popen = subprocess.Popen(
                command,
                cwd=folder,
                env=None if environment is None else dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=user,
                group=user,
                extra_groups=None if user is None else [user],
            )
        self.log = log
        status = status_of(self._popen.pid)
        self._root = Process(self._popen.pid, status.start_time if status else -1)
        self._is_suspended = False
        reaper.register(self._root)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def is_running(self) -> bool:
        return self._popen.poll() is None

    def members(self) -> list[Process]:
        """Return the process and its current descendants."""
        return tree(self._root) if self.is_running else []

    def suspend(self) -> None:
        """Suspend all processes, and wait until they have stopped."""
        self._is_suspended = True
        process_signals.suspend(self._root)

    def resume(self) -> None:
        process_signals.resume(self._root)
        self._is_suspended = False

    def stop(self, sig: signal.Signals, *, timeout: float) -> int:
        """Signal the root process and wait for it; return its exit code. Kill all processes on timeout."""
        if self._is_suspended:
            self.resume()
        self._popen.send_signal(sig)
        try:
            code = self._popen.wait(timeout)
        except subprocess.TimeoutExpired as late:
            self.kill()
            raise ClusterError(f"killed after {timeout} s:\n{self.log_tail()}") from late
        reaper.unregister(self._root)
        return code

    def kill(self) -> None:
        """Kill all processes at once, and wait until they are gone."""
        if self.is_running:
            process_signals.kill(self._root)
            self._popen.wait()
        self._is_suspended = False
        reaper.unregister(self._root)

    def log_tail(self, length: int = 3000) -> str:
        """Return the end of the log."""
        return self.log.read_bytes()[-length:].decode(errors="replace").strip()
