"""A pseudo-terminal for commands that prompt, draw or complete."""

import os
import pty
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

import pyte

from tests.fork_server import ForkedProcess, polls
from tests.harness import clean_environment

OWN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Runs another command with this controlling terminal, so that a typed Ctrl-C sends a signal."""


class Terminal:
    """`cloudconsole` on a terminal: wait for its output and type input."""

    def __init__(self, folder: Path, *arguments: str, command: Sequence[str] | None = None, **environment: str) -> None:
        self._our_end, child_end = pty.openpty()
        variables = {"TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40", **environment}
        self._size = int(variables["LINES"]), int(variables["COLUMNS"])
        termios.tcsetwinsize(child_end, self._size)
        environment = clean_environment(**variables)
        self.process: ForkedProcess | subprocess.Popen[bytes]
        if command is None:
            self.process = ForkedProcess(
                arguments, environment, folder, stdin=child_end, stdout=child_end, stderr=child_end, own_terminal=True
            )
        else:
            self.process = subprocess.Popen(
                [sys.executable, "-c", OWN_TERMINAL, *command],
                cwd=folder,
                env=environment,
                stdin=child_end,
                stdout=child_end,
                stderr=child_end,
                start_new_session=True,
            )
        os.close(child_end)
        os.set_blocking(self._our_end, False)
        self.shown = ""

    def wait_for(self, text: str) -> None:
        for _ in polls():
            self._read()
            if text in self.shown:
                return
            assert self.process.poll() is None, self.shown
        raise AssertionError(self.shown)

    @property
    def screen(self) -> list[str]:
        """The lines currently visible on the screen."""
        lines, columns = self._size
        screen = pyte.Screen(columns, lines)
        self._read()
        pyte.Stream(screen).feed(self.shown)
        return [line.rstrip() for line in screen.display]

    def wait_for_text(self, text: str) -> list[str]:
        """Wait until the text is visible; return the screen."""
        for _ in polls():
            screen = self.screen
            if any(text in line for line in screen):
                return screen
            assert self.process.poll() is None, self.shown
        raise AssertionError(self.shown)

    def type(self, text: str) -> None:
        self.type_bytes(text.encode())

    def type_bytes(self, typed: bytes) -> None:
        os.write(self._our_end, typed)

    def type_without_echo(self, text: str) -> None:
        # Wait until echo is off: otherwise the terminal would show a password that real users never see.
        for _ in polls():
            if not termios.tcgetattr(self._our_end)[3] & termios.ECHO:
                self.type(text)
                return
        raise AssertionError(self.shown)

    def type_password(self, password: str, *, again: str) -> None:
        self.wait_for("New password: ")
        self.type_without_echo(f"{password}\n")
        self.wait_for("Repeat password: ")
        self.type_without_echo(f"{again}\n")

    def end(self) -> int:
        """Wait for the command to exit; return its exit code."""
        for _ in polls():
            self._read()
            if self.process.poll() is not None:
                break
        self._read()
        os.close(self._our_end)
        return self.process.wait(0)

    def _read(self) -> None:
        try:
            while piece := os.read(self._our_end, 65_536):
                self.shown += piece.decode(errors="replace")
        except (BlockingIOError, OSError):
            # No more output for now, or none at all: on Linux, reading a terminal whose other end is closed fails.
            return
