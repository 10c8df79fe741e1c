"""The deployment document: its steps for many replicas work in order, with only names and paths replaced.

A fake systemctl runs the commands of the units; the operator's password comes from a file instead of a prompt.
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
from tests.harness import ApiClient, HttpTransport, clean_environment
from tests.scale.machines import Machine

pytestmark = pytest.mark.slow

DOCUMENT = (ROOT / "docs/operations/deployment.md").read_text()
PASSWORD = "of-the-first-operator"


def blocks(language: str, heading: str) -> list[str]:
    (section,) = re.findall(rf"^## {heading}\n(.*?)^## ", DOCUMENT, re.MULTILINE | re.DOTALL)
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


class Replica:
    """A machine on which the documented commands are run."""

    def __init__(self, directory: Path, database: str, running: ExitStack) -> None:
        self.machine = Machine(directory)
        self._running = running
        self._console: subprocess.Popen[bytes] | None = None
        self._substitutions = {
            "https://console.example.com": self.machine.base,
            "postgresql://console@db1.example.com,db2.example.com/console": database,
            "http://10.0.0.11:8000": self.machine.base,
            "10.0.0.11:9464": f"127.0.0.1:{allocate(['metrics'])['metrics']}",
            "10.0.0.11": "127.0.0.1",
            "10.0.0.10": "127.0.0.1",
            "/etc/cloudconsole": str(directory),
            "/var/lib": str(directory),
            "sudo -u cloudconsole ": "",
            " -o cloudconsole": "",
            " -g cloudconsole": "",
            f"{PROGRAM} init": f"{PROGRAM} init --password-file operator.txt",
            PROGRAM: f"{sys.executable} -m cloudconsole",
        }
        port = self.machine.base.rpartition(":")[2]
        (settings,) = blocks("toml", "Many replicas")
        self.machine.settings.write_text(f"{self._substituted(settings)}port = {port}\n")

    def run_block(self, block: str) -> None:
        for line in block.splitlines():
            command = line.partition("#")[0].strip()
            if command.startswith("systemctl "):
                self._systemctl(*command.split()[1:])
            else:
                self._run(self._substituted(command))

    def _substituted(self, text: str) -> str:
        for documented, actual in self._substitutions.items():
            text = text.replace(documented, actual)
        return text

    def _run(self, command: str) -> None:
        result = subprocess.run(
            ["sh", "-e", "-c", command],
            cwd=self.machine.directory,
            env=clean_environment(),
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert result.returncode == 0, (command, result.stdout, result.stderr)

    def _systemctl(self, *words: str) -> None:
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
                assert self._console.wait(120) == 0
            case ["restart", "cloudconsole"]:
                self._systemctl("stop", "cloudconsole")
                self._systemctl("start", "cloudconsole")
            case _:
                raise AssertionError(words)


@pytest.fixture
def replica(postgres: PostgresServer, database: str, tmp_path: Path) -> Iterator[Replica]:
    (tmp_path / "password.txt").write_text(postgres.password)
    (tmp_path / "operator.txt").write_text(PASSWORD)
    with ExitStack() as running:
        yield Replica(tmp_path, postgres.address(database, password=False), running)


def test_documented_steps_for_many_replicas_work(replica: Replica) -> None:
    for block in blocks("sh", "Many replicas"):
        replica.run_block(block)
    assert (replica.machine.directory / "database-password").stat().st_mode & 0o777 == 0o640
    with closing(HttpTransport(replica.machine.base)) as transport:
        operator = ApiClient(transport)
        assert operator.login("operator", PASSWORD).status == 200
        assert operator.call("GetUsageLimits").status == 200
        *_, restore = blocks("sh", "Backup and restore")
        replica.run_block(restore)
        transport.close()
        assert operator.call("GetUsageLimits").error == "login_required"
    (upgrade,) = blocks("sh", "Upgrades")
    replica.run_block(upgrade)
