"""A process with all that it starts, steered together: begun, suspended, resumed, ended."""

import atexit
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from cluster.errors import ClusterFailed
from lab.processes import Process, send, status_of, tree

SUSPENDING_SECONDS = 30
KILLING_SECONDS = 30


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
        self._head = Process(self._popen.pid, _began(self._popen.pid))
        self.is_suspended = False
        atexit.register(self.kill)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; the negative signal that ended it, as `subprocess` has it."""
        return self._popen.poll()

    @property
    def is_running(self) -> bool:
        return self.exit_code is None

    def members(self) -> list[Process]:
        """The process and those that it and they started, as they are now."""
        return tree(self._head) if self.is_running else []

    def send(self, sig: signal.Signals) -> None:
        """To the first process alone, which may tell the others."""
        self._popen.send_signal(sig)

    def suspend(self) -> None:
        """Halt all of them; nothing that any of them does goes on when this returns."""
        self.send(signal.SIGSTOP)  # the first goes first: it begins no more of them
        deadline = time.monotonic() + SUSPENDING_SECONDS
        while moving := [member for member in self.members() if not _is_halted(member)]:
            if time.monotonic() > deadline:
                raise ClusterFailed(f"these processes would not halt: {[member.pid for member in moving]}")
            send(moving, signal.SIGSTOP)
            time.sleep(0.001)
        self.is_suspended = True

    def resume(self) -> None:
        """The first process goes on last, so that none of the others seems lost to it."""
        send(reversed(self.members()), signal.SIGCONT)
        self.is_suspended = False

    def end(self, sig: signal.Signals, *, patience: float) -> int:
        """Ask the first process to end, and wait for it; its exit code. Those that take too long are killed."""
        if self.is_suspended:
            self.resume()
        self.send(sig)
        try:
            code = self._popen.wait(patience)
        except subprocess.TimeoutExpired as late:
            self.kill()
            raise ClusterFailed(f"it had to be killed after {patience} s:\n{self.last_words()}") from late
        atexit.unregister(self.kill)
        return code

    def kill(self) -> None:
        """End all of them at once, whatever they are doing; none is left when this returns."""
        if self.is_running:
            # None of them may see another die, and act on it.
            with suppress(ClusterFailed):
                self.suspend()
            doomed = self.members()
            send(doomed, signal.SIGKILL)
            self._popen.kill()
            self._popen.wait()
            _wait_for_end(doomed)
        self.is_suspended = False
        atexit.unregister(self.kill)

    def last_words(self, length: int = 3000) -> str:
        """The end of its log."""
        return self.log.read_bytes()[-length:].decode(errors="replace").strip()


def _wait_for_end(doomed: Sequence[Process]) -> None:
    deadline = time.monotonic() + KILLING_SECONDS
    while left := [member.pid for member in doomed if member.alive]:
        if time.monotonic() > deadline:
            raise ClusterFailed(f"these processes would not end: {left}")
        time.sleep(0.005)


def _began(pid: int) -> int:
    status = status_of(pid)
    return status.began if status else -1


def _is_halted(process: Process) -> bool:
    status = status_of(process.pid)
    return status is None or status.letter in "TtZX"
