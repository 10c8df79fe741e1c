"""Processes, their records and trees."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.cloud import Lab
from lab.errors import LabError
from lab.plan import REGIONS, Plan
from lab.processes import Process, Records

from lab import bootstrap, lifecycle, ports, processes, services
from tests.e2e.processes import eventually

WITH_CHILD = ("/bin/sh", "-c", "sleep 300 & echo started; wait")
STUBBORN = (
    sys.executable,
    "-c",
    "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(1, flush=True)\nsignal.pause()",
)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return Plan(tmp_path, tmp_path / "venv", REGIONS, ports.allocate(services.port_names(REGIONS)))


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    records = Records(tmp_path)
    yield records
    lifecycle.stop(tmp_path)


def started(records: Records, service: str, command: tuple[str, ...] = WITH_CHILD) -> Process:
    """Start and record a process; return when it has produced output."""
    log = records.folder.parent / f"{service}.log"
    process = processes.start(command, {"PATH": os.environ["PATH"]}, log)
    records.add(service, process)
    eventually(log.read_bytes)
    return process


@pytest.mark.parametrize("is_suspended", [False, True])
def test_terminating_includes_the_children(records: Records, is_suspended: bool) -> None:
    members = processes.tree(started(records, "one"))
    assert len(members) == 2
    if is_suspended:
        processes.send(members, signal.SIGSTOP)
    processes.terminate(members[:1])
    assert not any(member.alive for member in members)


def test_a_process_that_ignores_sigterm_is_killed(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    # Also the time that the killed process has to end.
    monkeypatch.setattr(processes, "TERMINATE_SECONDS", 2)
    process = started(records, "stubborn", STUBBORN)
    processes.terminate([process])
    assert not process.alive


def test_orphans_of_a_dead_service_are_terminated(records: Records) -> None:
    process = started(records, "one")
    child = processes.tree(process)[1]
    os.kill(process.pid, signal.SIGKILL)
    eventually(lambda: not process.alive)
    assert child.alive
    assert lifecycle.stop(records.folder.parent) == 1
    assert not child.alive


def test_a_process_with_a_reused_id_is_not_terminated(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "300"], start_new_session=True) as other:
        Records(tmp_path).add("one", Process(other.pid, 1))
        assert lifecycle.stop(tmp_path) == 0
        assert other.poll() is None
        other.kill()


def test_an_interrupted_start_is_stopped_once(records: Records) -> None:
    folder = records.folder.parent
    first = started(records, "mariadb")
    second = started(records, "RegionOne/nova-api")
    bootstrap = started(Records(folder / lifecycle.BOOTSTRAP_FOLDER), "keystone")
    assert set(records.all()) == {"mariadb", "RegionOne/nova-api"}
    assert lifecycle.stop(folder) == 3
    assert not any(process.alive for process in (first, second, bootstrap))
    assert records.all() == {}
    assert lifecycle.stop(folder) == 0


def test_a_running_lab_cannot_be_started(records: Records) -> None:
    started(records, "mariadb")
    folder = records.folder.parent
    with pytest.raises(LabError, match="already running"):
        lifecycle.start(folder, folder / "venv", 1, True, print)


def test_a_migration_command_is_recorded_while_it_runs(plan: Plan) -> None:
    record = Records(plan.folder).folder / "migrations" / "sh.json"
    bootstrap.run_command(plan, ["/bin/sh", "-c", f"while [ ! -s {record} ]; do sleep 0.01; done"])

    assert Records(plan.folder).all() == {}


def test_a_restarted_service_stops_with_the_lab(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    plan.write({"users": {}})
    lab, program = Lab.open(plan.folder), plan.venv / "bin" / "python"
    program.parent.mkdir(parents=True)
    # A stand-in for OpenStack's Python that serves on the given port.
    program.write_text('#!/bin/sh\nexec python3 -m http.server --bind "$3" "$4"\n')
    program.chmod(0o755)
    monkeypatch.chdir(plan.folder)
    lab.start("keystone")
    process = Records(plan.folder).get("keystone")
    assert process is not None
    assert lifecycle.stop(plan.folder) == 1
    assert not process.alive
