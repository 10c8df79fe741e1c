"""What ends the processes of somebody who was killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster.guardian import ROOT

from tests.e2e.processes import children_of, eventually, is_running

STARTS_SOMETHING = """
import sys, time
from pathlib import Path
from cluster.guardian import guard_folder
from cluster.processes import Family

folder = Path(sys.argv[1])
guard_folder(folder)
ended, *_ = families = [
    Family(["sh", "-c", "sleep 600 & sleep 600"], folder=folder, log=folder / "log") for _ in range(3)
]
ended.kill()
families[1].suspend()
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def starter(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Somebody with a folder, one family that was ended, one that is halted, and one that runs."""
    (tmp_path / "folder").mkdir()
    command = [sys.executable, "-c", STARTS_SOMETHING, str(tmp_path / "folder")]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGKILL])
def test_who_is_killed_leaves_nothing(starter: "subprocess.Popen[str]", tmp_path: Path, sig: signal.Signals) -> None:
    heads = children_of(starter.pid)
    grandchildren = {process for head in heads for process in children_of(head)}
    assert len(heads) == 3, "two families, and the guardian"
    assert len(grandchildren) == 4
    starter.send_signal(sig)
    eventually(lambda: not any(is_running(process) for process in heads | grandchildren))
    assert not (tmp_path / "folder").exists()


def test_a_guardian_touches_only_what_is_left(tmp_path: Path) -> None:
    (tmp_path / "left").mkdir()
    (tmp_path / "released").mkdir()
    with subprocess.Popen(["sleep", "600"]) as stranger:
        told = [
            {"folder": str(tmp_path / "left"), "guarded": True},
            {"folder": str(tmp_path / "released"), "guarded": True},
            {"folder": str(tmp_path / "released"), "guarded": False},
            {"process": [stranger.pid, 7], "guarded": True},  # one that had its id before
        ]
        messages = "".join(json.dumps(message) + "\n" for message in told)
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        subprocess.run(
            [sys.executable, "-m", "cluster.guardian"], input=messages, text=True, check=True, env=environment
        )
        assert is_running(stranger.pid)
        stranger.kill()
    assert [path.name for path in tmp_path.iterdir()] == ["released"]
