"""The systemd units, checked by systemd's own tools, their commands, and the documented steps of a deployment.

The steps in the documents on deployment and PostgreSQL work in order, with only names and paths replaced: a fake
systemctl runs the commands of the units; the operator's password comes from a file instead of a prompt.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from shutil import copy, copytree

import pytest
from cluster.postgres import PostgresServer
from lab.ports import allocate

from tests.deploy.unit_files import DROP_INS, PROGRAM, ROOT, SERVICES, SETTINGS_FILE, TIMERS, UNITS, read_unit, service
from tests.e2e.processes import eventually
from tests.harness import ApiClient, HttpTransport, clean_environment
from tests.scale.sites import is_ready

pytestmark = pytest.mark.slow

MAX_EXPOSURE = "15"
"""Out of 100; the rest is due to network access and read access to the machine's files."""
DEPLOYMENT, POSTGRESQL = ((ROOT / f"docs/operations/{name}.md").read_text() for name in ("deployment", "postgresql"))
PASSWORD = "of-the-first-operator"


def install_units(directory: Path, drop_in: str | None = None) -> list[Path]:
    """Write the units to a directory, with a program that exists."""
    for unit in [*UNITS.glob("*.service"), *UNITS.glob("*.timer")]:
        (directory / unit.name).write_text(unit.read_text().replace(PROGRAM, "/bin/true"))
    if drop_in:
        (directory / "cloudconsole.service.d").mkdir()
        copy(UNITS / f"drop-ins/{drop_in}.conf", directory / "cloudconsole.service.d")
    return sorted(directory.glob("cloudconsole*.*[er]"))


def checked_output(*command: str) -> str:
    """Run a command that must succeed; return its output."""
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


@pytest.mark.parametrize("drop_in", [None, *DROP_INS])
def test_systemd_accepts_the_units(tmp_path: Path, drop_in: str | None) -> None:
    units = install_units(tmp_path, drop_in)
    assert len(units) == len(SERVICES) + len(TIMERS)
    output = checked_output("systemd-analyze", "verify", "--man=no", *map(str, units))
    assert str(tmp_path) not in output


@pytest.mark.parametrize("name", SERVICES)
def test_security_exposure_is_low(tmp_path: Path, name: str) -> None:
    install_units(tmp_path)
    unit = str(tmp_path / f"{name}.service")
    checked_output("systemd-analyze", "security", "--offline=true", f"--threshold={MAX_EXPOSURE}", unit)


def test_system_user_is_created(tmp_path: Path) -> None:
    output = checked_output("systemd-sysusers", "--dry-run", f"--root={tmp_path}", str(UNITS / "cloudconsole.sysusers"))
    assert "Creating user 'cloudconsole'" in output


@pytest.mark.parametrize(("name", "hour"), TIMERS.items())
def test_timers_run_every_night(name: str, hour: str) -> None:
    (when,) = read_unit(UNITS / f"{name}.timer")["OnCalendar"]
    assert f"Normalized form: *-*-* {hour}:00" in checked_output("systemd-analyze", "calendar", when)


class Machine:
    """A machine as operators set it up, in a directory: its config file and the commands of its systemd units."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        ports = allocate(["http", "metrics"])
        self.base = f"http://127.0.0.1:{ports['http']}"
        text = (ROOT / "deploy/cloudconsole.toml").read_text()
        text = text.replace("/var/lib", str(directory)).replace("127.0.0.1:9464", f"127.0.0.1:{ports['metrics']}")
        self.settings = directory / "cloudconsole.toml"
        self.settings.write_text(f"{text}\nport = {ports['http']}\n")
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


def test_units_start_back_up_prune_and_stop_the_console(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    with machine.running("cloudconsole") as console:
        eventually(lambda: is_ready(machine.base))
        assert machine.run("cloudconsole-backup") == 0
        assert machine.run("cloudconsole-prune") == 0
        console.send_signal(signal.SIGTERM)
        assert console.wait(120) == 0
    (file,) = (tmp_path / "cloudconsole-backup").iterdir()
    with tarfile.open(file) as archive:
        assert {"cloud.db", "activity.db"} <= set(archive.getnames())
    assert {each.name for each in (tmp_path / "cloudconsole").iterdir()} >= {"cloud.db", "activity.db"}


# Documents


def blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def section(heading: str) -> str:
    """Return a section of the document on deployment."""
    (text,) = re.findall(rf"^## {heading}\n(.*?)^## ", DEPLOYMENT, re.MULTILINE | re.DOTALL)
    return str(text)


def substituted(text: str, substitutions: dict[str, str]) -> str:
    for documented, actual in substitutions.items():
        text = text.replace(documented, actual)
    return text


def run_script(script: str, directory: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a shell script that must succeed."""
    environment = clean_environment(**variables)
    shell = ["sh", "-e", "-c", script]
    result = subprocess.run(shell, cwd=directory, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, (script, result.stdout, result.stderr)
    return result


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
        (settings,) = blocks("toml", section("Many replicas"))
        self.machine.settings.write_text(f"{substituted(settings, self._substitutions)}port = {port}\n")

    def run_block(self, block: str) -> None:
        for line in block.splitlines():
            command = line.partition("#")[0].strip()
            if command.startswith("systemctl "):
                self._systemctl(*command.split()[1:])
            else:
                run_script(substituted(command, self._substitutions), self.machine.directory)

    def _systemctl(self, *words: str) -> None:
        match words:
            case ["daemon-reload"]:
                pass
            case ["start", "cloudconsole-migrate"]:
                assert self.machine.run("cloudconsole-migrate") == 0
            case ["start", "cloudconsole"] | ["enable", "--now", "cloudconsole"]:
                self._console = self._running.enter_context(self.machine.running("cloudconsole"))
                eventually(lambda: is_ready(self.machine.base))
            case ["stop", "cloudconsole"]:
                assert self._console is not None
                self._console.send_signal(signal.SIGTERM)
                assert self._console.wait(120) == 0
            case ["restart", "cloudconsole"]:
                self._systemctl("stop", "cloudconsole")
                self._systemctl("start", "cloudconsole")
            case _:
                raise AssertionError(words)


def test_documented_steps_for_many_replicas_work(postgres: PostgresServer, database: str, tmp_path: Path) -> None:
    (tmp_path / "password.txt").write_text(postgres.password)
    (tmp_path / "operator.txt").write_text(PASSWORD)
    with ExitStack() as running:
        replica = Replica(tmp_path, postgres.address(database, password=False), running)
        for block in blocks("sh", section("Many replicas")):
            replica.run_block(block)
        assert (tmp_path / "database-password").stat().st_mode & 0o777 == 0o640
        with closing(HttpTransport(replica.machine.base)) as transport:
            operator = ApiClient(transport)
            assert operator.login("operator", PASSWORD).status == 200
            assert operator.call("GetUsageLimits").status == 200
            *_, restore = blocks("sh", section("Backup and restore"))
            replica.run_block(restore)
            transport.close()
            assert operator.call("GetUsageLimits").error == "login_required"
        (upgrade,) = blocks("sh", section("Upgrades"))
        replica.run_block(upgrade)


def test_documented_steps_on_postgresql_work(
    fast_hash_store: Path, postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    name = f"{database}_documented"
    for statement in "".join(blocks("sql", POSTGRESQL)).split(";\n"):
        if statement:
            postgres.execute(re.sub(r"\bconsole\b", name, statement))
    substitutions = {
        # The local server has no TLS.
        "?sslmode=verify-full&sslrootcert=/etc/ssl/certs/ca-certificates.crt": "",
        "postgresql://console@db.example.com/console": f"postgresql://{name}@127.0.0.1:{postgres.port}/{name}",
        "/etc/cloudconsole": str(tmp_path),
        "/backups": str(tmp_path),
        "/var/lib/cloudconsole": str(tmp_path / "data"),
    }
    (password,) = re.findall("PASSWORD '([^']+)'", POSTGRESQL)
    (tmp_path / "database-password").write_text(password)
    settings, script = ("".join(blocks(language, POSTGRESQL)) for language in ("toml", "sh"))
    (tmp_path / "cloudconsole.toml").write_text(substituted(settings, substitutions))
    copytree(fast_hash_store, tmp_path / "data")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = run_script(substituted(script, substitutions), tmp_path, PATH=path)
    assert done.stderr == ""
    for words in ("are up to date", "compared row by row", "all sessions ended", "nothing to remove"):
        assert words in done.stdout
    postgres.drop_database(name)
    postgres.execute(f"DROP ROLE {name}")
