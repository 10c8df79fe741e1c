"""The handle of a running lab."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.cloud import Lab, User
from lab.errors import LabError
from lab.plan import Plan
from lab.processes import Records

from lab import lifecycle, processes


@pytest.fixture
def lab(plan: Plan) -> Iterator[Lab]:
    """A lab with a stand-in process for Keystone."""
    plan.write({"users": {"alice": {"password": "secret", "project": "acme"}}})
    process = processes.start(("/bin/sleep", "300"), {}, plan.log("keystone"))
    Records(plan.folder).add("keystone", process)
    yield Lab.open(plan.folder)
    lifecycle.stop(plan.folder)


def wait_for(lab: Lab, state: str) -> None:
    """Wait for a state of Keystone's process; signals are asynchronous."""
    process = Records(lab.plan.folder).get("keystone")
    assert process is not None
    deadline = time.monotonic() + 20
    while Path(f"/proc/{process.pid}/stat").read_text().split()[2] != state:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_lab_is_read_from_its_state_file(lab: Lab, plan: Plan) -> None:
    assert lab.plan == plan
    assert lab.identity == f"http://127.0.0.1:{plan.ports['keystone']}/v3"
    assert lab.regions == ("RegionOne", "RegionTwo")
    assert lab.users == {"alice": User("alice", "secret", "acme")}


def test_without_a_lab_the_error_names_the_start_command(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="python -m lab start"):
        Lab.open(tmp_path)


def test_a_service_is_suspended_and_resumed(lab: Lab) -> None:
    lab.suspend("keystone")
    wait_for(lab, "T")
    lab.resume("keystone")
    wait_for(lab, "S")


def test_a_stopped_service_is_no_longer_recorded(lab: Lab) -> None:
    process = Records(lab.plan.folder).get("keystone")
    lab.stop("keystone")
    assert process is not None
    assert not process.alive
    with pytest.raises(LabError, match="keystone is not running"):
        lab.suspend("keystone")


def test_a_running_service_cannot_be_started(lab: Lab) -> None:
    with pytest.raises(LabError, match="already running"):
        lab.start("keystone")


def test_a_restarted_service_stops_with_the_lab(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.stop("keystone")
    program = lab.plan.venv / "bin" / "python"
    program.parent.mkdir(parents=True)
    # A stand-in for OpenStack's Python that serves on the given port.
    program.write_text('#!/bin/sh\nexec python3 -m http.server --bind "$3" "$4"\n')
    program.chmod(0o755)
    monkeypatch.chdir(lab.plan.folder)
    lab.start("keystone")
    process = Records(lab.plan.folder).get("keystone")
    assert process is not None
    assert os.getsid(process.pid) == process.pid
    assert lifecycle.stop(lab.plan.folder) == 1
    assert not process.alive
