"""CLI users, each with a separate home directory and environment."""

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.fork_server import run_forked
from tests.harness import RunningServer, clean_environment
from tests.terminal import Terminal

PASSWORD = "console-demo"


class Result(NamedTuple):
    code: int
    out: str
    err: str


OPENSTACK = ("OS_USERNAME", "OS_PASSWORD", "OS_AUTH_URL", "OS_PROJECT_ID", "OS_PROJECT_NAME")


@dataclass
class CliUser:
    home: Path
    variables: dict[str, str] = field(default_factory=dict)
    """Environment variables that this user has set."""

    @property
    def sessions_file(self) -> Path:
        return self.home / "state/cloudconsole/sessions.json"

    @property
    def profiles_file(self) -> Path:
        return self.home / "config/cloudconsole/config.toml"

    def write_profiles(self, text: str) -> None:
        self.profiles_file.parent.mkdir(parents=True, exist_ok=True)
        self.profiles_file.write_text(text)

    def environment(self, **more: str) -> dict[str, str]:
        defaults = {
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.home / "state"),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "LC_ALL": "C.UTF-8",
            **dict.fromkeys((*OPENSTACK, "NO_COLOR"), ""),
        }
        return {**defaults, **self.variables, **more}

    def run(self, *arguments: object, stdin: str | None = None, **variables: str) -> Result:
        """Run `cloudconsole` to completion without a terminal."""
        environment = clean_environment(**self.environment(**variables))
        done = run_forked([str(argument) for argument in arguments], environment, self.home, stdin or "")
        assert "Traceback" not in done.stderr, done.stderr
        return Result(done.returncode, done.stdout, done.stderr)

    def json(self, *arguments: object, **variables: str) -> Any:
        done = self.run(*arguments, **variables)
        assert (done.code, done.err) == (0, "")
        return json.loads(done.out)

    def open_terminal(self, *arguments: object, **variables: str) -> Terminal:
        """Start `cloudconsole` on a terminal."""
        return Terminal(self.home, *map(str, arguments), **self.environment(**variables))

    def logs_in(self, server: RunningServer, username: str = "demo", password: str = PASSWORD) -> None:
        done = self.run("login", "--url", server.base, "--username", username, CLOUDCONSOLE_PASSWORD=password)
        assert (done.code, done.err) == (0, "")

    def saved_sessions(self) -> Any:
        return json.loads(self.sessions_file.read_text())


def install_program(folder: Path) -> str:
    """Create a directory with the program `cloudconsole`; return a PATH that begins with it."""
    program = folder / "bin/cloudconsole"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cloudconsole "$@"\n')
    program.chmod(0o755)
    return f"{program.parent}{os.pathsep}{os.environ['PATH']}"
