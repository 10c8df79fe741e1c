"""The document on deployment: its steps for many replicas work in their order, as they stand but for names and places.

What stands for systemd runs the commands of its units; nobody is asked for the operator's password, which is in a file.
"""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from cluster.postgres import PostgresServer
from lab.ports import allocate

from tests.deploy.unit_files import PROGRAM, ROOT
from tests.e2e.processes import eventually
from tests.harness import Caller, OverHttp, clean_environment
from tests.scale.machines import Machine

pytestmark = pytest.mark.long

DOCUMENT = (ROOT / "docs/operations/deployment.md").read_text()
PASSWORD = "of-the-first-operator"


def blocks(language: str, heading: str) -> list[str]:
    (section,) = re.findall(rf"^## {heading}\n(.*?)^## ", DOCUMENT, re.MULTILINE | re.DOTALL)
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


class Replica:
    """A machine on which the document's commands are given."""

    def __init__(self, folder: Path, database: str, running: ExitStack) -> None:
        self.machine = Machine(folder)
        self._running = running
        self._console: subprocess.Popen[bytes] | None = None
        self._places = {
            "https://console.example.com": self.machine.base,
            "postgresql://console@db1.example.com,db2.example.com/console": database,
            "http://10.0.0.11:8000": self.machine.base,
            "10.0.0.11:9464": f"127.0.0.1:{allocate(['metrics'])['metrics']}",
            "10.0.0.11": "127.0.0.1",
            "10.0.0.10": "127.0.0.1",
            "/etc/cloudconsole": str(folder),
            "/var/lib": str(folder),
            "sudo -u cloudconsole ": "",
            " -o cloudconsole": "",
            " -g cloudconsole": "",
            f"{PROGRAM} init": f"{PROGRAM} init --password-file operator.txt",
            PROGRAM: f"{sys.executable} -m cloudconsole",
        }
        port = self.machine.base.rpartition(":")[2]
        (settings,) = blocks("toml", "Many replicas")
        self.machine.settings.write_text(f"{self._here(settings)}port = {port}\n")

    def follow(self, block: str) -> None:
        for line in block.splitlines():
            command = line.partition("#")[0].strip()
            if command.startswith("systemctl "):
                self._obey(*command.split()[1:])
            else:
                self._do(self._here(command))

    def _here(self, text: str) -> str:
        for documented, place in self._places.items():
            text = text.replace(documented, place)
        return text

    def _do(self, command: str) -> None:
        done = subprocess.run(
            ["sh", "-e", "-c", command],
            cwd=self.machine.folder,
            env=clean_environment(),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)

    def _obey(self, *words: str) -> None:
        match words:
            case ["daemon-reload"]:
                pass
            case ["start", "cloudconsole-migrate"]:
                assert self.machine.run("cloudconsole-migrate") == 0
            case ["start", "cloudconsole"] | ["enable", "--now", "cloudconsole"]:
                self._console = self._running.enter_context(self.machine.running("cloudconsole"))
                eventually(self.machine.is_ready)
            case ["stop", "cloudconsole"]:
                assert self._console is not None
                self._console.send_signal(signal.SIGTERM)
                assert self._console.wait(60) == 0
            case ["restart", "cloudconsole"]:
                self._obey("stop", "cloudconsole")
                self._obey("start", "cloudconsole")
            case _:
                raise AssertionError(words)


@pytest.fixture
def replica(postgres: PostgresServer, database: str, tmp_path: Path) -> Iterator[Replica]:
    (tmp_path / "password.txt").write_text(postgres.password)
    (tmp_path / "operator.txt").write_text(PASSWORD)
    with ExitStack() as running:
        yield Replica(tmp_path, postgres.address(database, password=False), running)


def test_the_steps_of_many_replicas_lead_to_a_console_that_serves(replica: Replica) -> None:
    for block in blocks("sh", "Many replicas"):
        replica.follow(block)
    assert (replica.machine.folder / "database-password").stat().st_mode & 0o777 == 0o640
    with closing(OverHttp(replica.machine.base)) as wire:
        operator = Caller(wire)
        assert operator.login("operator", PASSWORD).status == 200
        assert operator.call("GetUsageLimits").status == 200
        *_, back_again = blocks("sh", "Backup and restore")
        replica.follow(back_again)
        wire.close()
        assert operator.call("GetUsageLimits").error == "login_required"
    (upgrade,) = blocks("sh", "Upgrades")
    replica.follow(upgrade)
