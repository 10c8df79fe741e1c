"""The units before systemd's own judges, and their commands run as they are written."""

import shlex
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copy

import pytest
from lab.ports import choose

from tests.deploy.unit_files import DROP_INS, PROGRAM, ROOT, SERVICES, SETTINGS_FILE, UNITS, read_unit, service
from tests.e2e.processes import eventually
from tests.harness import OverHttp, clean_environment

MOST_EXPOSURE = "15"
"""Of 100; what is left is that the console speaks to the network, and shares the machine's files to read."""


def put(folder: Path, *drop_ins: str) -> list[Path]:
    """The units where systemd looks at them, with a program that is there."""
    for unit in [*UNITS.glob("*.service"), *UNITS.glob("*.timer")]:
        (folder / unit.name).write_text(unit.read_text().replace(PROGRAM, "/bin/true"))
    for name in drop_ins:
        place = folder / "cloudconsole.service.d"
        place.mkdir(exist_ok=True)
        copy(UNITS / f"drop-ins/{name}.conf", place)
    return sorted(folder.glob("cloudconsole*.*[er]"))


def judged(*command: str) -> str:
    """What a judge says; it must be content."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "drop_ins", [(), *((name,) for name in DROP_INS)], ids=lambda names: names[0] if names else "none"
)
def test_systemd_finds_nothing_wrong(tmp_path: Path, drop_ins: tuple[str, ...]) -> None:
    units = put(tmp_path, *drop_ins)
    assert len(units) == len(SERVICES) + 1
    said = judged("systemd-analyze", "verify", "--man=no", *map(str, units))
    assert str(tmp_path) not in said


def test_what_is_wrong_would_be_found(tmp_path: Path) -> None:
    """The judge would pass over a directive that it does not know, but it says so."""
    put(tmp_path)
    unit = tmp_path / "cloudconsole.service"
    unit.write_text(unit.read_text().replace("ProtectSystem=strict", "ProtectSystems=strict"))
    said = judged("systemd-analyze", "verify", "--man=no", str(unit))
    assert "ProtectSystems" in said


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize("drop_ins", [(), ("postgresql",)], ids=["plain", "postgresql"])
def test_the_exposure_is_small(tmp_path: Path, name: str, drop_ins: tuple[str, ...]) -> None:
    put(tmp_path, *drop_ins)
    unit = str(tmp_path / f"{name}.service")
    judged("systemd-analyze", "security", "--offline=true", f"--threshold={MOST_EXPOSURE}", unit)


def test_a_user_is_made_for_the_console(tmp_path: Path) -> None:
    said = judged("systemd-sysusers", "--dry-run", f"--root={tmp_path}", str(UNITS / "cloudconsole.sysusers"))
    assert "Creating user 'cloudconsole'" in said


def test_the_timer_comes_every_night() -> None:
    (when,) = read_unit(UNITS / "cloudconsole-backup.timer")["OnCalendar"]
    assert "Normalized form: *-*-* 03:00:00" in judged("systemd-analyze", "calendar", when)


class Machine:
    """Where the commands of the units run: their own paths put in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ports = choose(["calls", "metrics"])
        self.base = f"http://127.0.0.1:{ports['calls']}"
        settings = (ROOT / "deploy/cloudconsole.toml").read_text()
        settings = settings.replace("/var/lib", str(folder)).replace("127.0.0.1:9464", f"127.0.0.1:{ports['metrics']}")
        self.settings = folder / "cloudconsole.toml"
        self.settings.write_text(f"{settings}\nport = {ports['calls']}\n")
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

    def is_ready(self) -> bool:
        with closing(OverHttp(self.base)) as wire:
            try:
                return wire.send("GET", "/readyz", []).status == 200
            except OSError:
                return False


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_console_is_started_stopped_and_backed_up_as_the_units_say(machine: Machine) -> None:
    with machine.running("cloudconsole") as console:
        eventually(machine.is_ready)
        with machine.running("cloudconsole-backup") as backup:
            assert backup.wait(60) == 0
        console.send_signal(signal.SIGTERM)
        assert console.wait(60) == 0
    (file,) = (machine.folder / "cloudconsole-backup").iterdir()
    with tarfile.open(file) as archive:
        assert {"cloud.db", "activity.db"} <= set(archive.getnames())
    assert {each.name for each in (machine.folder / "cloudconsole").iterdir()} >= {"cloud.db", "activity.db"}
