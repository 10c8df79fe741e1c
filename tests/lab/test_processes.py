"""Services as processes: real ones, small ones."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.errors import LabFailed
from lab.plan import Plan
from lab.processes import Process, Records

from lab import processes, running, starting

WITH_CHILD = ("/bin/sh", "-c", "sleep 300 & echo begun; wait")
STUBBORN = (
    sys.executable,
    "-c",
    "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(1, flush=True)\nsignal.pause()",
)


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    records = Records(tmp_path)
    yield records
    starting.stop(tmp_path)


def begun(records: Records, service: str, command: tuple[str, ...] = WITH_CHILD) -> Process:
    """A process on record that has said its first word."""
    log = records.folder.parent / f"{service}.log"
    process = processes.begin(command, {"PATH": os.environ["PATH"]}, log)
    records.add(service, process)
    while not log.read_bytes():
        time.sleep(0.01)
    return process


def test_a_process_is_told_by_when_it_began(records: Records) -> None:
    process = begun(records, "one")
    assert process.alive
    assert not Process(process.pid, process.began - 1).alive


def test_a_tree_has_the_children_too(records: Records) -> None:
    process = begun(records, "one")
    assert len(processes.tree(process)) == 2
    assert processes.resident(process) > 0


def test_ending_takes_the_children_with_it(records: Records) -> None:
    members = processes.tree(begun(records, "one"))
    processes.end(members[:1])
    assert not any(member.alive for member in members)


def test_what_a_dead_service_left_behind_is_ended(records: Records) -> None:
    process = begun(records, "one")
    child = processes.tree(process)[1]
    os.kill(process.pid, signal.SIGKILL)
    while process.alive:
        time.sleep(0.01)
    assert child.alive
    assert starting.stop(records.folder.parent) == 1
    assert not child.alive


def test_one_that_does_not_listen_is_ended_all_the_same(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PATIENCE", 0.2)
    process = begun(records, "stubborn", STUBBORN)
    processes.end([process])
    assert not process.alive


def test_a_suspended_one_is_ended(records: Records) -> None:
    process = begun(records, "one")
    processes.send(processes.tree(process), signal.SIGSTOP)
    processes.end([process])
    assert not process.alive


def test_another_process_that_got_the_id_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "300"], start_new_session=True) as stranger:
        Records(tmp_path).add("one", Process(stranger.pid, 1))
        assert starting.stop(tmp_path) == 0
        assert stranger.poll() is None
        stranger.kill()


def test_a_start_broken_off_half_way_is_stopped_once(records: Records) -> None:
    folder = records.folder.parent
    first = begun(records, "mariadb")
    second = begun(records, "RegionOne/nova-api")
    making = begun(Records(folder / starting.MAKING), "keystone")
    assert set(records.all()) == {"mariadb", "RegionOne/nova-api"}
    assert starting.stop(folder) == 3
    assert not any(process.alive for process in (first, second, making))
    assert records.all() == {}
    assert starting.stop(folder) == 0


def test_where_a_lab_runs_none_is_started(records: Records) -> None:
    begun(records, "mariadb")
    folder = records.folder.parent
    with pytest.raises(LabFailed, match=r"runs in .* already"):
        starting.start(folder, folder / "venv", 1, True, print)


def test_a_path_too_long_for_a_socket_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 20)
    with pytest.raises(LabFailed, match="too long"):
        starting.start(folder, folder / "venv", 1, True, print)


def test_a_service_that_ends_by_itself_says_why(plan: Plan) -> None:
    command = ("/bin/sh", "-c", "echo it was the port; exit 3")
    Records(plan.folder).add("keystone", processes.begin(command, {}, plan.log("keystone")))
    with pytest.raises(LabFailed, match=r"keystone ended by itself(.|\n)*it was the port"):
        running.wait_until(plan, lambda: "keystone", ["keystone"])


def test_a_service_that_is_never_ready_is_named(plan: Plan) -> None:
    with pytest.raises(LabFailed, match=r"RegionOne/nova-api is not ready after 0 seconds\. It has no log"):
        running.wait_until(plan, lambda: "RegionOne/nova-api", [], patience=0)
