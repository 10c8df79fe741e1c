"""Servers that are killed, suspended or fail to start leave nothing behind, nor does their killed starter."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster.errors import ClusterError
from cluster.processes import ProcessTree
from cluster.reaper import ROOT
from cluster.replica import Replica

from tests.e2e.processes import children_of, eventually, is_running

STUBBORN = "trap '' TERM; sleep 600 & echo started; wait; wait; sleep 600"
"""Ignores SIGTERM, as does its child."""


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[ProcessTree]:
    log = tmp_path / "log"
    tree = ProcessTree(["sh", "-c", STUBBORN], folder=tmp_path, log=log)
    eventually(lambda: "started" in log.read_text())
    yield tree
    tree.kill()


def assert_gone(processes: list[int]) -> None:
    assert len(processes) == 2
    assert not [process for process in processes if is_running(process)]


@pytest.mark.parametrize("is_suspended", [False, True])
def test_a_kill_leaves_no_process(tree: ProcessTree, is_suspended: bool) -> None:
    processes = [member.pid for member in tree.members()]
    if is_suspended:
        tree.suspend()
    tree.kill()
    assert_gone(processes)
    assert (tree.is_running, tree.members()) == (False, [])


def test_a_process_that_does_not_exit_is_killed(tree: ProcessTree) -> None:
    processes = [member.pid for member in tree.members()]
    with pytest.raises(ClusterError, match=r"killed after 0\.1 s"):
        tree.stop(signal.SIGTERM, timeout=0.1)
    assert_gone(processes)


def test_a_suspended_process_is_resumed_to_stop(tmp_path: Path) -> None:
    tree = ProcessTree(["sleep", "600"], folder=tmp_path, log=tmp_path / "log")
    tree.suspend()
    assert Path(f"/proc/{tree.pid}/stat").read_text().split()[2] == "T"
    assert tree.stop(signal.SIGTERM, timeout=120) == -signal.SIGTERM


def test_a_failed_start_reports_the_log_and_removes_the_folder() -> None:
    replica = Replica({"workers": "many"})
    with pytest.raises(ClusterError, match=r"did not become ready:\n.*CLOUDCONSOLE_WORKERS"), replica:
        pass
    assert not replica.is_running
    assert not replica.folder.exists()


# The reaper


ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}
STARTER = """
import sys, time
from pathlib import Path
from cluster.reaper import register_folder
from cluster.processes import ProcessTree

folder = Path(sys.argv[1])
register_folder(folder)
killed, suspended, _ = trees = [
    ProcessTree(["sh", "-c", "sleep 600 & sleep 600"], folder=folder, log=folder / "log") for _ in range(3)
]
killed.kill()
suspended.suspend()
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def starter(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process with a folder and three process trees: killed, suspended, running."""
    (tmp_path / "folder").mkdir()
    command = [sys.executable, "-c", STARTER, str(tmp_path / "folder")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_process_leaves_nothing_behind(
    starter: "subprocess.Popen[str]", tmp_path: Path, sig: signal.Signals
) -> None:
    roots = children_of(starter.pid)
    grandchildren = {process for root in roots for process in children_of(root)}
    assert len(roots) == 3, "two trees and the reaper"
    assert len(grandchildren) == 4
    starter.send_signal(sig)
    eventually(lambda: not any(is_running(process) for process in roots | grandchildren))
    assert not (tmp_path / "folder").exists()


def test_only_registered_items_are_cleaned_up(tmp_path: Path) -> None:
    (tmp_path / "registered").mkdir()
    (tmp_path / "unregistered").mkdir()
    with subprocess.Popen(["sleep", "600"]) as other:
        registrations = [
            {"folder": str(tmp_path / "registered"), "registered": True},
            {"folder": str(tmp_path / "unregistered"), "registered": True},
            {"folder": str(tmp_path / "unregistered"), "registered": False},
            {"process": [other.pid, 7], "registered": True},  # an earlier process with the same id
        ]
        messages = "".join(json.dumps(message) + "\n" for message in registrations)
        subprocess.run([sys.executable, "-m", "cluster.reaper"], input=messages, text=True, check=True, env=ENVIRONMENT)
        assert is_running(other.pid)
        other.kill()
    assert [path.name for path in tmp_path.iterdir()] == ["unregistered"]
