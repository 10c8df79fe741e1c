"""Processes, their records and trees."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.errors import LabError
from lab.plan import Plan
from lab.processes import Process, Records

from lab import lifecycle, processes, services

WITH_CHILD = ("/bin/sh", "-c", "sleep 300 & echo started; wait")
STUBBORN = (
    sys.executable,
    "-c",
    "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(1, flush=True)\nsignal.pause()",
)


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
    while not log.read_bytes():
        time.sleep(0.01)
    return process


def test_a_process_is_identified_by_its_start_time(records: Records) -> None:
    process = started(records, "one")
    assert process.alive
    assert not Process(process.pid, process.start_time - 1).alive


def test_a_tree_includes_the_children(records: Records) -> None:
    process = started(records, "one")
    assert len(processes.tree(process)) == 2
    assert processes.resident_bytes(process) > 0


def test_terminating_includes_the_children(records: Records) -> None:
    members = processes.tree(started(records, "one"))
    processes.terminate(members[:1])
    assert not any(member.alive for member in members)


def test_orphans_of_a_dead_service_are_terminated(records: Records) -> None:
    process = started(records, "one")
    child = processes.tree(process)[1]
    os.kill(process.pid, signal.SIGKILL)
    while process.alive:
        time.sleep(0.01)
    assert child.alive
    assert lifecycle.stop(records.folder.parent) == 1
    assert not child.alive


def test_a_process_that_ignores_sigterm_is_killed(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "TERMINATE_SECONDS", 0.2)
    process = started(records, "stubborn", STUBBORN)
    processes.terminate([process])
    assert not process.alive


def test_a_suspended_process_is_terminated(records: Records) -> None:
    process = started(records, "one")
    processes.send(processes.tree(process), signal.SIGSTOP)
    processes.terminate([process])
    assert not process.alive


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


def test_a_path_too_long_for_a_socket_is_rejected(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 20)
    with pytest.raises(LabError, match="too long"):
        lifecycle.start(folder, folder / "venv", 1, True, print)


def test_a_service_that_exits_is_reported_with_its_log(plan: Plan) -> None:
    command = ("/bin/sh", "-c", "echo it was the port; exit 3")
    Records(plan.folder).add("keystone", processes.start(command, {}, plan.log("keystone")))
    with pytest.raises(LabError, match=r"keystone exited(.|\n)*it was the port"):
        services.wait_until(plan, lambda: "keystone", ["keystone"])


def test_a_service_that_is_never_ready_is_named(plan: Plan) -> None:
    with pytest.raises(LabError, match=r"RegionOne/nova-api is not ready after 0 seconds\. It has no log"):
        services.wait_until(plan, lambda: "RegionOne/nova-api", [], timeout=0)
