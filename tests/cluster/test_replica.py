"""Consoles as processes of their own; these stand over an embedded store."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import copytree

import pytest
from cluster.errors import ClusterFailed
from cluster.part import HOST
from cluster.replica import Replica

from tests.e2e.processes import eventually, is_running
from tests.harness import Caller, OverHttp


@pytest.fixture(scope="module")
def harmed(quick_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replica]:
    folder = tmp_path_factory.mktemp("replica")
    data = copytree(quick_store, folder / "data")
    with Replica({"data": data, "workers": 2, "access_log": True}, folder=folder) as started:
        yield started


@pytest.fixture
def replica(harmed: Replica) -> Replica:
    """A console of two workers, which one may harm."""
    return harmed if harmed.is_running else harmed.start()


def greeting(base: str) -> int:
    wire = OverHttp(base)
    try:
        return wire.send("GET", "/api/", []).status
    finally:
        wire.close()


def test_it_serves_as_the_settings_say(replica: Replica) -> None:
    wire = OverHttp(replica.base)
    demo = Caller(wire)
    assert demo.login().status == 200
    assert demo.call("GetUsageLimits").status == 200
    wire.close()
    assert len(replica.processes) == 3
    eventually(lambda: '"GetUsageLimits"' in replica.log.read_text())


def test_settings_of_our_environment_are_not_its_own(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDCONSOLE_WORKERS", "many")
    replica.restart()
    assert greeting(replica.base) == 200


def test_settings_can_be_changed_for_the_next_start(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(replica.settings, "workers", 1)
    replica.restart()
    assert len(replica.processes) == 1
    replica.stop()


def test_a_kill_leaves_no_process_and_the_address_is_kept(replica: Replica) -> None:
    processes, base = replica.processes, replica.base
    replica.kill()
    assert not replica.is_running
    assert not replica.processes
    assert not [process for process in processes if is_running(process)]
    assert not replica.is_ready()
    replica.start()
    assert replica.base == base
    assert greeting(base) == 200


def test_a_halted_one_answers_when_it_goes_on(replica: Replica) -> None:
    replica.pause()
    with socket.create_connection((HOST, replica.port), timeout=0.2) as waiting:
        waiting.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with pytest.raises(TimeoutError):
            waiting.recv(1)
        replica.resume()
        waiting.settimeout(30)
        assert waiting.recv(100).startswith(b"HTTP/1.1 200 ")


def test_a_stop_is_in_good_order(replica: Replica) -> None:
    replica.pause()
    assert replica.stop() == 0
    assert replica.stop() is None


def test_several_can_begin_at_once(replica: Replica) -> None:
    with closing(Replica({"data": replica.settings["data"]}, name="other")) as other:
        replica.stop()
        for each in (replica, other):
            each.begin()
        for each in (replica, other):
            each.wait_until_ready()
        assert greeting(replica.base) == greeting(other.base) == 200


def test_one_that_is_refused_says_why() -> None:
    replica = Replica({"workers": "many"})
    with pytest.raises(ClusterFailed, match=r"did not become ready:\n.*CLOUDCONSOLE_WORKERS"), replica:
        pass
    assert not replica.is_running
    assert not replica.folder.exists()


def test_only_what_runs_can_be_halted(replica: Replica) -> None:
    replica.kill()
    for halt in (replica.pause, replica.resume, replica.wait_until_ready):
        with pytest.raises(ClusterFailed, match="replica does not run"):
            halt()


def test_what_runs_is_not_started_again(replica: Replica) -> None:
    with pytest.raises(ClusterFailed, match="replica runs already"):
        replica.start()


def test_a_worker_that_will_not_end_is_killed(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.part.STOP_SECONDS", 0.5)
    processes = replica.processes
    for worker in processes[1:]:
        os.kill(worker, signal.SIGSTOP)
    with pytest.raises(ClusterFailed, match=r"had to be killed after 0\.5 s"):
        replica.stop()
    assert not [process for process in processes if is_running(process)]
