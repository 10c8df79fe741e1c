"""The reaper cleans up after a killed process."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster.reaper import ROOT

from tests.e2e.processes import children_of, eventually, is_running

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
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
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
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-m", "cluster.reaper"], input=messages, text=True, check=True, env=environment)
        assert is_running(other.pid)
        other.kill()
    assert [path.name for path in tmp_path.iterdir()] == ["unregistered"]
