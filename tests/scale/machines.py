"""A machine as operators set it up, in a directory: its config file and the commands of its systemd units."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from lab.ports import allocate

from tests.deploy.unit_files import PROGRAM, ROOT, SETTINGS_FILE, service
from tests.harness import HttpTransport, clean_environment


class Machine:
    """`settings` are lines to append to the default config file."""

    def __init__(self, directory: Path, settings: str = "") -> None:
        self.directory = directory
        ports = allocate(["http", "metrics"])
        self.base = f"http://127.0.0.1:{ports['http']}"
        text = (ROOT / "deploy/cloudconsole.toml").read_text()
        text = text.replace("/var/lib", str(directory)).replace("127.0.0.1:9464", f"127.0.0.1:{ports['metrics']}")
        self.settings = directory / "cloudconsole.toml"
        self.settings.write_text(f"{text}\nport = {ports['http']}\n{settings}")
        for state in ("cloudconsole", "cloudconsole-backup"):
            (directory / state).mkdir(mode=0o700)

    def command(self, unit: str) -> list[str]:
        """Return a unit's command as systemd would run it."""
        (text,) = service(unit)["ExecStart"]
        text = text.replace(PROGRAM, f"{sys.executable} -m cloudconsole").replace(SETTINGS_FILE, str(self.settings))
        return shlex.split(text.replace("%S", str(self.directory)).replace("%%", "%").replace("$$", "$"))

    @contextmanager
    def running(self, unit: str) -> "Iterator[subprocess.Popen[bytes]]":
        process = subprocess.Popen(
            self.command(unit), cwd=self.directory / "cloudconsole", env=clean_environment(), stderr=subprocess.DEVNULL
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def run(self, unit: str) -> int:
        """Run a oneshot unit; return its exit code."""
        with self.running(unit) as process:
            return process.wait(300)

    def is_ready(self) -> bool:
        return is_ready(self.base)


def is_ready(base: str) -> bool:
    """Return whether a console reports itself ready."""
    with closing(HttpTransport(base)) as transport:
        try:
            return transport.send("GET", "/readyz", []).status == 200
        except OSError:
            return False
