"""Console replicas as processes, over an embedded store."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import copytree

import pytest
from cluster.errors import ClusterError
from cluster.replica import Replica
from cluster.server import HOST

from tests.e2e.processes import eventually, is_running
from tests.harness import ApiClient, HttpTransport


@pytest.fixture(scope="module")
def shared_replica(fast_hash_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replica]:
    folder = tmp_path_factory.mktemp("replica")
    data = copytree(fast_hash_store, folder / "data")
    with Replica({"data": data, "workers": 2, "access_log": True}, folder=folder) as started:
        yield started


@pytest.fixture
def replica(shared_replica: Replica) -> Replica:
    """A running console with two workers, which tests may kill."""
    return shared_replica if shared_replica.is_running else shared_replica.start()


def status_of(base: str) -> int:
    transport = HttpTransport(base)
    try:
        return transport.send("GET", "/api/", []).status
    finally:
        transport.close()


def test_a_replica_serves_with_its_settings(replica: Replica) -> None:
    transport = HttpTransport(replica.base)
    demo = ApiClient(transport)
    assert demo.login().status == 200
    assert demo.call("GetUsageLimits").status == 200
    transport.close()
    assert len(replica.processes) == 3
    eventually(lambda: '"GetUsageLimits"' in replica.log.read_text())


def test_settings_in_our_environment_are_ignored(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDCONSOLE_WORKERS", "many")
    replica.restart()
    assert status_of(replica.base) == 200


def test_changed_settings_apply_from_the_next_start(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(replica.settings, "workers", 1)
    replica.restart()
    assert len(replica.processes) == 1
    replica.stop()


def test_a_kill_leaves_no_process_and_the_port_stays(replica: Replica) -> None:
    processes, base = replica.processes, replica.base
    replica.kill()
    assert not replica.is_running
    assert not replica.processes
    assert not [process for process in processes if is_running(process)]
    assert not replica.is_ready()
    replica.start()
    assert replica.base == base
    assert status_of(base) == 200


def test_a_paused_replica_responds_when_resumed(replica: Replica) -> None:
    replica.pause()
    with socket.create_connection((HOST, replica.port), timeout=0.2) as waiting:
        waiting.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with pytest.raises(TimeoutError):
            waiting.recv(1)
        replica.resume()
        waiting.settimeout(30)
        assert waiting.recv(100).startswith(b"HTTP/1.1 200 ")


def test_a_paused_replica_stops_gracefully(replica: Replica) -> None:
    replica.pause()
    assert replica.stop() == 0
    assert replica.stop() is None


def test_several_replicas_can_start_in_parallel(replica: Replica) -> None:
    with closing(Replica({"data": replica.settings["data"]}, name="other")) as other:
        replica.stop()
        for each in (replica, other):
            each.launch()
        for each in (replica, other):
            each.wait_until_ready()
        assert status_of(replica.base) == status_of(other.base) == 200


def test_a_failed_start_reports_the_log() -> None:
    replica = Replica({"workers": "many"})
    with pytest.raises(ClusterError, match=r"did not become ready:\n.*CLOUDCONSOLE_WORKERS"), replica:
        pass
    assert not replica.is_running
    assert not replica.folder.exists()


def test_only_a_running_replica_can_be_paused(replica: Replica) -> None:
    replica.kill()
    for method in (replica.pause, replica.resume, replica.wait_until_ready):
        with pytest.raises(ClusterError, match="replica is not running"):
            method()


def test_a_running_replica_cannot_be_started(replica: Replica) -> None:
    with pytest.raises(ClusterError, match="replica is already running"):
        replica.start()


def test_a_worker_that_does_not_exit_is_killed(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.server.STOP_SECONDS", 0.5)
    processes = replica.processes
    for worker in processes[1:]:
        os.kill(worker, signal.SIGSTOP)
    with pytest.raises(ClusterError, match=r"killed after 0\.5 s"):
        replica.stop()
    assert not [process for process in processes if is_running(process)]
