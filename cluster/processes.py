"""A process with all that it starts, steered together: begun, suspended, resumed, ended."""

import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from cluster import ending, guardian
from cluster.errors import ClusterFailed
from lab.processes import Process, status_of, tree


class Family:
    """A process, begun in a session of its own, and those that it starts; ended at the latest when we are."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        log: Path,
        environment: Mapping[str, str] | None = None,
        user: str | None = None,
    ) -> None:
        """`user` is whom it runs as, if not as ourselves; all that it says is added to the log."""
        with log.open("ab") as said:
            self._popen = subprocess.Popen(
                command,
                cwd=folder,
                env=None if environment is None else dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=user,
                group=user,
                extra_groups=None if user is None else [user],
            )
        self.log = log
        status = status_of(self._popen.pid)
        self._head = Process(self._popen.pid, status.began if status else -1)
        self._is_suspended = False
        guardian.guard(self._head)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def is_running(self) -> bool:
        return self._popen.poll() is None

    def members(self) -> list[Process]:
        """The process and those that it and they started, as they are now."""
        return tree(self._head) if self.is_running else []

    def suspend(self) -> None:
        """Halt all of them; nothing that any of them does goes on when this returns."""
        self._is_suspended = True
        ending.halt(self._head)

    def resume(self) -> None:
        ending.let_go_on(self._head)
        self._is_suspended = False

    def end(self, sig: signal.Signals, *, patience: float) -> int:
        """Ask the first process to end, and wait for it; its exit code. Those that take too long are killed."""
        if self._is_suspended:
            self.resume()
        self._popen.send_signal(sig)
        try:
            code = self._popen.wait(patience)
        except subprocess.TimeoutExpired as late:
            self.kill()
            raise ClusterFailed(f"it had to be killed after {patience} s:\n{self.last_words()}") from late
        guardian.release(self._head)
        return code

    def kill(self) -> None:
        """End all of them at once, whatever they are doing; none is left when this returns."""
        if self.is_running:
            ending.kill(self._head)
            self._popen.wait()
        self._is_suspended = False
        guardian.release(self._head)

    def last_words(self, length: int = 3000) -> str:
        """The end of its log."""
        return self.log.read_bytes()[-length:].decode(errors="replace").strip()
