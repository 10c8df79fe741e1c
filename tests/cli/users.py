"""People who use the command line: each has folders of their own, and nobody else's variables."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.fork_server import run_warm
from tests.harness import RunningServer, clean_environment
from tests.terminal import Terminal

PASSWORD = "console-demo"


class Done(NamedTuple):
    code: int
    out: str
    err: str


@dataclass
class Person:
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)
    """What this person has set."""

    @property
    def sessions_file(self) -> Path:
        return self.folder / "state/cloudconsole/sessions.json"

    @property
    def profiles_file(self) -> Path:
        return self.folder / "config/cloudconsole/config.toml"

    def has_profiles(self, text: str) -> None:
        self.profiles_file.parent.mkdir(parents=True, exist_ok=True)
        self.profiles_file.write_text(text)

    def environment(self, **more: str) -> dict[str, str]:
        own = {
            "HOME": str(self.folder),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "LC_ALL": "C.UTF-8",
            **dict.fromkeys(("OS_USERNAME", "OS_PASSWORD", "OS_AUTH_URL", "NO_COLOR"), ""),
        }
        return {**own, **self.variables, **more}

    def run(self, *arguments: object, stdin: str | None = None, **variables: str) -> Done:
        """`cloudconsole` without a terminal, to its end."""
        environment = clean_environment(**self.environment(**variables))
        done = run_warm([str(argument) for argument in arguments], environment, self.folder, stdin or "")
        assert "Traceback" not in done.stderr, done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    def json(self, *arguments: object, **variables: str) -> Any:
        done = self.run(*arguments, **variables)
        assert (done.code, done.err) == (0, "")
        return json.loads(done.out)

    def sits_at(self, *arguments: object, **variables: str) -> Terminal:
        """`cloudconsole` on a terminal."""
        return Terminal(self.folder, *map(str, arguments), **self.environment(**variables))

    def logs_in(self, server: RunningServer, username: str = "demo", password: str = PASSWORD) -> None:
        done = self.run("login", "--url", server.base, "--username", username, CLOUDCONSOLE_PASSWORD=password)
        assert (done.code, done.err) == (0, "")

    def kept(self) -> Any:
        return json.loads(self.sessions_file.read_text())
