"""A machine as operators set it up, in a folder: its settings, and its units' commands with their places put in."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from lab.ports import allocate

from tests.deploy.unit_files import PROGRAM, ROOT, SETTINGS_FILE, service
from tests.harness import OverHttp, clean_environment


class Machine:
    """`settings` are lines of the settings file besides those to begin with."""

    def __init__(self, folder: Path, settings: str = "") -> None:
        self.folder = folder
        ports = allocate(["calls", "metrics"])
        self.base = f"http://127.0.0.1:{ports['calls']}"
        text = (ROOT / "deploy/cloudconsole.toml").read_text()
        text = text.replace("/var/lib", str(folder)).replace("127.0.0.1:9464", f"127.0.0.1:{ports['metrics']}")
        self.settings = folder / "cloudconsole.toml"
        self.settings.write_text(f"{text}\nport = {ports['calls']}\n{settings}")
        for state in ("cloudconsole", "cloudconsole-backup"):
            (folder / state).mkdir(mode=0o700)

    def command(self, unit: str) -> list[str]:
        """A unit's command, as systemd would read it."""
        (text,) = service(unit)["ExecStart"]
        text = text.replace(PROGRAM, f"{sys.executable} -m cloudconsole").replace(SETTINGS_FILE, str(self.settings))
        return shlex.split(text.replace("%S", str(self.folder)).replace("%%", "%").replace("$$", "$"))

    @contextmanager
    def running(self, unit: str) -> "Iterator[subprocess.Popen[bytes]]":
        process = subprocess.Popen(
            self.command(unit), cwd=self.folder / "cloudconsole", env=clean_environment(), stderr=subprocess.DEVNULL
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def run(self, unit: str) -> int:
        """A unit that comes to an end by itself: its exit code."""
        with self.running(unit) as process:
            return process.wait(120)

    def is_ready(self) -> bool:
        return is_ready(self.base)


def is_ready(base: str) -> bool:
    """Whether a console says so at the moment."""
    with closing(OverHttp(base)) as wire:
        try:
            return wire.send("GET", "/readyz", []).status == 200
        except OSError:
            return False
