"""The units before systemd's own judges, and their commands run as they are written."""

import signal
import subprocess
import tarfile
from pathlib import Path
from shutil import copy

import pytest
from cluster.postgres import PostgresServer

from tests.deploy.unit_files import DROP_INS, PROGRAM, SERVICES, TIMERS, UNITS, read_unit
from tests.e2e.processes import eventually
from tests.scale.machines import Machine

pytestmark = pytest.mark.long

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
    assert len(units) == len(SERVICES) + len(TIMERS)
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
def test_the_exposure_is_small(tmp_path: Path, name: str) -> None:
    put(tmp_path)
    unit = str(tmp_path / f"{name}.service")
    judged("systemd-analyze", "security", "--offline=true", f"--threshold={MOST_EXPOSURE}", unit)


def test_a_user_is_made_for_the_console(tmp_path: Path) -> None:
    said = judged("systemd-sysusers", "--dry-run", f"--root={tmp_path}", str(UNITS / "cloudconsole.sysusers"))
    assert "Creating user 'cloudconsole'" in said


@pytest.mark.parametrize(("name", "hour"), TIMERS.items())
def test_the_timers_come_every_night(name: str, hour: str) -> None:
    (when,) = read_unit(UNITS / f"{name}.timer")["OnCalendar"]
    assert f"Normalized form: *-*-* {hour}:00" in judged("systemd-analyze", "calendar", when)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_console_is_started_stopped_and_backed_up_as_the_units_say(machine: Machine) -> None:
    with machine.running("cloudconsole") as console:
        eventually(machine.is_ready)
        assert machine.run("cloudconsole-backup") == 0
        assert machine.run("cloudconsole-prune") == 0
        console.send_signal(signal.SIGTERM)
        assert console.wait(60) == 0
    (file,) = (machine.folder / "cloudconsole-backup").iterdir()
    with tarfile.open(file) as archive:
        assert {"cloud.db", "activity.db"} <= set(archive.getnames())
    assert {each.name for each in (machine.folder / "cloudconsole").iterdir()} >= {"cloud.db", "activity.db"}


def test_on_postgresql_the_units_make_the_tables_and_serve_them(
    postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text(postgres.password)
    address = postgres.address(database, password=False)
    machine = Machine(tmp_path, f'database = "{address}"\ndatabase_password_file = "{tmp_path / "password"}"\n')
    assert machine.run("cloudconsole") == 1
    assert machine.run("cloudconsole-migrate") == 0
    with machine.running("cloudconsole") as console:
        eventually(machine.is_ready)
        assert machine.run("cloudconsole-prune") == 0
        console.send_signal(signal.SIGTERM)
        assert console.wait(60) == 0
    assert machine.run("cloudconsole-migrate") == 0
    assert not list((tmp_path / "cloudconsole").iterdir())
