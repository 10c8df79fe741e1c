"""The systemd units, checked by systemd's own tools, and their commands."""

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

pytestmark = pytest.mark.slow

MAX_EXPOSURE = "15"
"""Out of 100; the rest is due to network access and read access to the machine's files."""


def install_units(directory: Path, *drop_ins: str) -> list[Path]:
    """Write the units to a directory, with a program that exists."""
    for unit in [*UNITS.glob("*.service"), *UNITS.glob("*.timer")]:
        (directory / unit.name).write_text(unit.read_text().replace(PROGRAM, "/bin/true"))
    for name in drop_ins:
        drop_in_directory = directory / "cloudconsole.service.d"
        drop_in_directory.mkdir(exist_ok=True)
        copy(UNITS / f"drop-ins/{name}.conf", drop_in_directory)
    return sorted(directory.glob("cloudconsole*.*[er]"))


def checked_output(*command: str) -> str:
    """Run a command that must succeed; return its output."""
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


@pytest.mark.parametrize(
    "drop_ins", [(), *((name,) for name in DROP_INS)], ids=lambda names: names[0] if names else "none"
)
def test_systemd_accepts_the_units(tmp_path: Path, drop_ins: tuple[str, ...]) -> None:
    units = install_units(tmp_path, *drop_ins)
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


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_units_start_back_up_prune_and_stop_the_console(machine: Machine) -> None:
    with machine.running("cloudconsole") as console:
        eventually(machine.is_ready)
        assert machine.run("cloudconsole-backup") == 0
        assert machine.run("cloudconsole-prune") == 0
        console.send_signal(signal.SIGTERM)
        assert console.wait(120) == 0
    (file,) = (machine.directory / "cloudconsole-backup").iterdir()
    with tarfile.open(file) as archive:
        assert {"cloud.db", "activity.db"} <= set(archive.getnames())
    assert {each.name for each in (machine.directory / "cloudconsole").iterdir()} >= {"cloud.db", "activity.db"}


def test_on_postgresql_units_migrate_and_serve(postgres: PostgresServer, database: str, tmp_path: Path) -> None:
    (tmp_path / "password").write_text(postgres.password)
    address = postgres.address(database, password=False)
    machine = Machine(tmp_path, f'database = "{address}"\ndatabase_password_file = "{tmp_path / "password"}"\n')
    assert machine.run("cloudconsole") == 1
    assert machine.run("cloudconsole-migrate") == 0
    with machine.running("cloudconsole") as console:
        eventually(machine.is_ready)
        assert machine.run("cloudconsole-prune") == 0
        console.send_signal(signal.SIGTERM)
        assert console.wait(120) == 0
    assert machine.run("cloudconsole-migrate") == 0
    assert not list((tmp_path / "cloudconsole").iterdir())
