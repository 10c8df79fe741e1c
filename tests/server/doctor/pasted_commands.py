"""Doctor's advice, pasted into a shell."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cloudconsole.server.doctor.config import read_case
from cloudconsole.server.doctor.runner import Result, run_checks
from tests.harness import clean_environment
from tests.terminal import Terminal

PASSWORD = "correct horse battery staple"


class Patient:
    """A console that doctor examines, with the flags that doctor is given."""

    def __init__(self, folder: Path, **flags: object) -> None:
        self.folder = folder
        self._flags = {name: str(value) for name, value in flags.items()}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = clean_environment(PATH=path)

    def examined(self, **changed: object) -> list[Result]:
        """Return the problems and warnings, but for those of the machine's clock."""
        flags = self._flags | {name: str(value) for name, value in changed.items()}
        results = run_checks(read_case({}, flags, time.time(), quick=True))
        return [result for result in results if result.level != "ok" and result.check != "clock"]

    def advice(self, text: str) -> Result:
        """Return the one problem or warning with this text."""
        findings = self.examined()
        found = [finding for finding in findings if text in finding.text]
        assert len(found) == 1, findings
        return found[0]

    def fixed_by_pasting(self, text: str, *, passwords: int = 0) -> Result:
        """Paste the command of a finding, type new passwords where it asks, and see that doctor is content."""
        advised = self.advice(text)
        if passwords:
            self._paste_at_terminal(advised.command, passwords)
        else:
            self.paste(advised.command)
        assert not [finding for finding in self.examined() if text in finding.text], advised
        return advised

    @contextmanager
    def pasted_server(self, command: str) -> Iterator[None]:
        """Paste a command that serves, and stop it afterwards."""
        with subprocess.Popen(
            ["sh", "-c", f"exec {command}"], cwd=self.folder, env=self._environment, stdout=subprocess.PIPE
        ) as server:
            assert server.stdout is not None
            try:
                assert server.stdout.readline().startswith(b"Cloud Console serves on ")
                yield
            finally:
                server.terminate()
                server.communicate(timeout=60)

    def paste(self, command: str) -> None:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.folder, env=self._environment, capture_output=True, encoding="utf-8", check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stderr)

    def _paste_at_terminal(self, command: str, passwords: int) -> None:
        terminal = Terminal(self.folder, command=["sh", "-c", command], PATH=self._environment["PATH"])
        for prompt in ("New password: ", "Repeat password: ") * passwords:
            terminal.wait_for(prompt)
            terminal.shown = ""
            terminal.type_unseen(f"{PASSWORD}\n")
        assert terminal.end() == 0, terminal.shown
