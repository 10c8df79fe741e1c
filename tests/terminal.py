"""A terminal of the tests' own, for commands that ask, draw or complete."""

import os
import pty
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

import pyte

from tests.fork_server import WarmProcess
from tests.harness import clean_environment

OWN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Runs any other command with this terminal as its own, so that Ctrl-C, typed, is a signal."""


class Terminal:
    """`cloudconsole` on a terminal: what it shows can be waited for, and answered."""

    def __init__(self, folder: Path, *arguments: str, command: Sequence[str] | None = None, **environment: str) -> None:
        self._ours, theirs = pty.openpty()
        variables = {"TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40", **environment}
        self._size = int(variables["LINES"]), int(variables["COLUMNS"])
        termios.tcsetwinsize(theirs, self._size)
        environment = clean_environment(**variables)
        self.process: WarmProcess | subprocess.Popen[bytes]
        if command is None:
            self.process = WarmProcess(
                arguments, environment, folder, stdin=theirs, stdout=theirs, stderr=theirs, own_terminal=True
            )
        else:
            self.process = subprocess.Popen(
                [sys.executable, "-c", OWN_TERMINAL, *command],
                cwd=folder,
                env=environment,
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

    @property
    def screen(self) -> list[str]:
        """What a person sees now, line by line."""
        lines, columns = self._size
        screen = pyte.Screen(columns, lines)
        self._read()
        pyte.Stream(screen).feed(self.shown)
        return [line.rstrip() for line in screen.display]

    def wait_to_see(self, text: str) -> list[str]:
        """Wait until it can be seen; gives the screen."""
        for _ in range(1200):
            screen = self.screen
            if any(text in line for line in screen):
                return screen
            assert self.process.poll() is None, self.shown
            time.sleep(0.05)
        raise AssertionError(self.shown)

    def type(self, text: str) -> None:
        self.type_bytes(text.encode())

    def type_bytes(self, typed: bytes) -> None:
        os.write(self._ours, typed)

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
        self.wait_for("Repeat password: ")
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
