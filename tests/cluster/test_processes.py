"""Servers that are killed, suspended or fail to start leave no process behind."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster.errors import ClusterError
from cluster.processes import ProcessTree
from cluster.replica import Replica

from tests.e2e.processes import eventually, is_running

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
