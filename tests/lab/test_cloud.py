"""A lab as tests see it."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.cloud import Lab, User
from lab.errors import LabFailed
from lab.plan import Plan
from lab.processes import Records

from lab import processes, starting


@pytest.fixture
def lab(plan: Plan) -> Iterator[Lab]:
    """One with a process in Keystone's place."""
    plan.write({"users": {"alice": {"password": "secret", "project": "acme"}}})
    process = processes.begin(("/bin/sleep", "300"), {}, plan.log("keystone"))
    Records(plan.folder).add("keystone", process)
    yield Lab.open(plan.folder)
    starting.stop(plan.folder)


def wait_for(lab: Lab, letter: str) -> None:
    """Wait until the kernel says so of Keystone's process; a signal takes its time."""
    process = Records(lab.plan.folder).get("keystone")
    assert process is not None
    deadline = time.monotonic() + 20
    while Path(f"/proc/{process.pid}/stat").read_text().split()[2] != letter:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_lab_is_read_from_its_state(lab: Lab, plan: Plan) -> None:
    assert lab.plan == plan
    assert lab.identity == f"http://127.0.0.1:{plan.ports['keystone']}/v3"
    assert lab.regions == ("RegionOne", "RegionTwo")
    assert lab.users == {"alice": User("alice", "secret", "acme")}


def test_where_there_is_none_it_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(LabFailed, match="python -m lab start"):
        Lab.open(tmp_path)


def test_a_service_is_suspended_and_resumed(lab: Lab) -> None:
    lab.suspend("keystone")
    wait_for(lab, "T")
    lab.resume("keystone")
    wait_for(lab, "S")


def test_an_ended_service_is_off_the_record(lab: Lab) -> None:
    process = Records(lab.plan.folder).get("keystone")
    lab.end("keystone")
    assert process is not None
    assert not process.alive
    with pytest.raises(LabFailed, match="keystone does not run"):
        lab.suspend("keystone")


def test_a_service_that_runs_is_not_begun_again(lab: Lab) -> None:
    with pytest.raises(LabFailed, match="runs already"):
        lab.begin("keystone")


def test_a_service_begun_again_is_stopped_with_the_lab(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.end("keystone")
    program = lab.plan.venv / "bin" / "python"
    program.parent.mkdir(parents=True)
    # In place of OpenStack's Python: a program that answers on the port that it is given.
    program.write_text('#!/bin/sh\nexec python3 -m http.server --bind "$3" "$4"\n')
    program.chmod(0o755)
    monkeypatch.chdir(lab.plan.folder)
    lab.begin("keystone")
    process = Records(lab.plan.folder).get("keystone")
    assert process is not None
    assert os.getsid(process.pid) == process.pid
    assert starting.stop(lab.plan.folder) == 1
    assert not process.alive
