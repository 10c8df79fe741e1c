"""Fix commands of doctor, pasted into a shell."""

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


class DiagnosedConsole:
    """A console that doctor diagnoses, with the flags passed to doctor."""

    def __init__(self, directory: Path, **flags: object) -> None:
        self.directory = directory
        self._flags = {name: str(value) for name, value in flags.items()}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = clean_environment(PATH=path)

    def findings(self, **changed: object) -> list[Result]:
        """Return the problems and warnings, except those about the machine's clock."""
        flags = self._flags | {name: str(value) for name, value in changed.items()}
        results = run_checks(read_case({}, flags, time.time(), quick=True))
        return [result for result in results if result.level != "ok" and result.check != "clock"]

    def finding(self, text: str) -> Result:
        """Return the one problem or warning with this text."""
        findings = self.findings()
        found = [finding for finding in findings if text in finding.text]
        assert len(found) == 1, findings
        return found[0]

    def paste_fix(self, text: str, *, passwords: int = 0) -> Result:
        """Paste the command of a finding, type new passwords if prompted, and check that the finding is gone."""
        fix = self.finding(text)
        if passwords:
            self._paste_at_terminal(fix.command, passwords)
        else:
            self.paste(fix.command)
        assert not [finding for finding in self.findings() if text in finding.text], fix
        return fix

    @contextmanager
    def pasted_server(self, command: str) -> Iterator[None]:
        """Paste a command that starts a server, and stop it afterwards."""
        with subprocess.Popen(
            ["sh", "-c", f"exec {command}"], cwd=self.directory, env=self._environment, stdout=subprocess.PIPE
        ) as server:
            assert server.stdout is not None
            try:
                assert server.stdout.readline().startswith(b"Cloud Console serves on ")
                yield
            finally:
                server.terminate()
                server.communicate(timeout=60)

    def paste(self, command: str) -> None:
        completed = subprocess.run(
            ["sh", "-c", command],
            cwd=self.directory, env=self._environment, capture_output=True, encoding="utf-8", check=False, timeout=120,
        )  # fmt: skip
        assert completed.returncode == 0, (command, completed.stderr)

    def _paste_at_terminal(self, command: str, passwords: int) -> None:
        terminal = Terminal(self.directory, command=["sh", "-c", command], PATH=self._environment["PATH"])
        for prompt in ("New password: ", "Repeat password: ") * passwords:
            terminal.wait_for(prompt)
            terminal.shown = ""
            terminal.type_without_echo(f"{PASSWORD}\n")
        assert terminal.end() == 0, terminal.shown
