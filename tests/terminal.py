"""A terminal of the tests' own, for commands that ask."""

import os
import pty
import subprocess
import sys
import termios
import time
from pathlib import Path

from tests.harness import clean_environment


class Terminal:
    """`cloudconsole` on a terminal: what it shows can be waited for, and answered."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "cloudconsole", *arguments],
            cwd=folder,
            env=clean_environment(**{"TERM": "xterm-256color", "COLUMNS": "120", **environment}),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        os.set_blocking(self._ours, False)
        self.shown = ""

    def wait_for(self, text: str) -> None:
        for _ in range(1200):
            self._read()
            if text in self.shown:
                return
            assert self.process.poll() is None, self.shown
            time.sleep(0.05)
        raise AssertionError(self.shown)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def type_unseen(self, text: str) -> None:
        # Only once nothing is echoed any more: else a password would be shown that nobody would ever see.
        for _ in range(1200):
            if not termios.tcgetattr(self._ours)[3] & termios.ECHO:
                self.type(text)
                return
            time.sleep(0.05)
        raise AssertionError(self.shown)

    def type_password(self, password: str, *, again: str) -> None:
        self.wait_for("New password: ")
        self.type_unseen(f"{password}\n")
        self.wait_for("The same again: ")
        self.type_unseen(f"{again}\n")

    def end(self) -> int:
        """Wait for the command's end; gives its exit code."""
        for _ in range(1200):
            self._read()
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        self._read()
        os.close(self._ours)
        return self.process.wait(timeout=60)

    def _read(self) -> None:
        try:
            while piece := os.read(self._ours, 65_536):
                self.shown += piece.decode(errors="replace")
        except (BlockingIOError, OSError):
            # Nothing more now, or ever: on Linux a terminal whose other side is closed is an error.
            return
