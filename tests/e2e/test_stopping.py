"""Graceful stop: under load, with running requests, and during the start; no connection is reset."""

import os
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.e2e.forked_targets import serve_with_signal_in_finalizer
from tests.e2e.processes import children_of, client_of, eventually, workers
from tests.e2e.raw_http import RawConnection, log_in, raw_connection, request
from tests.fork_server import MAX_WAIT_SECONDS, ForkedProcess, fork_context
from tests.harness import JSON, Reply, RunningServer, clean_environment, running_server

CLIENTS = 8


class ConnectionPerRequest(threading.Thread):
    """A client that opens a connection for each request until connections are refused."""

    def __init__(self, server: RunningServer) -> None:
        super().__init__(daemon=True)
        self._server = server
        self.outcomes: Counter[int | str] = Counter()

    def run(self) -> None:
        with suppress(ConnectionRefusedError):
            while True:
                self.outcomes[self._send()] += 1

    def _send(self) -> int | str:
        with closing(RawConnection(self._server.connect())) as connection:
            # The server may respond and close the connection before the request is sent.
            with suppress(ConnectionError):
                connection.send(request("GET", "/api/"))
            try:
                return connection.answer().status
            except (ConnectionError, AssertionError):
                return "reset"


@pytest.mark.parametrize(("count", "metrics"), [(1, False), (1, True), (4, False)])
def test_no_connection_is_reset_while_stopping(tmp_path: Path, count: int, metrics: bool) -> None:
    flags = ["--workers", str(count), *(["--metrics", "127.0.0.1:0"] if metrics else [])]
    with running_server(tmp_path, *flags, "--access-log", "false") as server:
        clients = [ConnectionPerRequest(server) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        eventually(lambda: all(client.outcomes[200] >= 5 for client in clients))
        assert server.stop() == 0
        for client in clients:
            client.join(MAX_WAIT_SECONDS)
            assert not client.is_alive()
    outcomes = sum((client.outcomes for client in clients), Counter())
    assert set(outcomes) <= {200, 503}


def test_other_workers_keep_accepting_when_one_is_stopped(tmp_path: Path) -> None:
    with running_server(tmp_path, "--workers", "2") as server:
        before = workers(server)
        stopped = min(before)
        os.kill(stopped, signal.SIGTERM)
        eventually(lambda: stopped not in workers(server) and len(workers(server)) == 2)
        with raw_connection(server) as connection:
            connection.send(request("GET", "/api/"))
            assert connection.answer().status == 200


@pytest.mark.parametrize("earlier_requests", [0, 1])
def test_request_on_a_closed_idle_connection_gets_503(tmp_path: Path, earlier_requests: int) -> None:
    with running_server(tmp_path) as server, raw_connection(server) as idle:
        for _ in range(earlier_requests):
            idle.send(request("GET", "/api/"))
            assert idle.answer().status == 200
        assert server.stop() == 0
        assert "all requests finished" in server.log()
        idle.send(request("GET", "/api/"))
        reply = idle.answer()
        assert (reply.status, reply.error) == (503, "unavailable")
        assert (reply.header("retry-after"), reply.header("connection")) == ("1", "close")


def test_incomplete_request_gets_503(tmp_path: Path) -> None:
    with running_server(tmp_path) as server, raw_connection(server) as slow:
        head = request("GET", "/api/")
        slow.send(head[:10])
        assert server.stop() == 0
        assert slow.answer().status == 503


def request_once(server: RunningServer) -> Reply | None:
    """Send a request on a new connection; return None if it could not be established."""
    with suppress(ConnectionError, HTTPException), client_of(server.base) as client:
        return client.open()
    return None


@pytest.mark.parametrize(("count", "sig"), [(1, signal.SIGINT), (3, signal.SIGTERM)])
def test_running_requests_finish_and_new_ones_get_503(tmp_path: Path, count: int, sig: signal.Signals) -> None:
    body = b'{"action": "GetFlavors"}'
    flags = ("--workers", str(count), "--stop-grace", "3600")
    with running_server(tmp_path, *flags) as server, raw_connection(server) as in_progress:
        headers = [("Content-Type", JSON), ("Content-Length", str(len(body))), ("Expect", "100-continue")]
        # The 100 shows that the request has started and the server waits for its body.
        in_progress.send(request("POST", "/api/", [*log_in(server), *headers]))
        assert in_progress.answer().status == 100

        server.process.send_signal(sig)

        rejected = eventually(lambda: (reply := request_once(server)) and reply.status == 503 and reply)
        assert isinstance(rejected, Reply)
        assert rejected.error == "unavailable"
        assert int(rejected.header("retry-after") or 0) > 0
        assert rejected.header("connection") == "close"
        for _ in range(10):
            later = request_once(server)
            assert later is not None
            assert later.status == 503
        in_progress.send(body)
        assert len(in_progress.answer().data["flavors"]) > 1
        assert server.process.wait(MAX_WAIT_SECONDS) == 0


@contextmanager
def announced_server(folder: Path, *flags: str) -> Iterator[ForkedProcess]:
    """A server in its own process group that has just printed its address and may still be starting."""
    arguments = ["serve", "--port", "0", "--data", str(folder / "data"), *flags]
    process = ForkedProcess(arguments, clean_environment(), stdout=subprocess.PIPE, own_session=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("Cloud Console serves on ")
        yield process
    finally:
        process.stdout.close()
        process.kill()
        process.wait()


class TestStoppingEarly:
    """The grace period is so long that a worker that missed the signal would never exit."""

    def test_stops_while_workers_are_starting(self, tmp_path: Path) -> None:
        for _ in range(2):
            with announced_server(tmp_path, "--workers", "8", "--stop-grace", "3600") as process:
                process.terminate()
                assert process.wait(MAX_WAIT_SECONDS) in (0, -signal.SIGTERM)

    @pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
    def test_stops_on_a_signal_inside_a_finalizer(self, tmp_path: Path, sig: signal.Signals) -> None:
        """An exception that a signal handler raises there is lost."""
        process = fork_context().Process(target=serve_with_signal_in_finalizer, args=(tmp_path, sig), daemon=True)
        process.start()
        process.join(MAX_WAIT_SECONDS)
        assert process.exitcode == 0
        assert f"stopped by {sig.name}: all requests finished" in (tmp_path / "log").read_text()

    def test_stops_on_sigint_to_the_process_group(self, tmp_path: Path) -> None:
        with announced_server(tmp_path, "--workers", "2", "--stop-grace", "3600") as process:
            eventually(lambda: len(children_of(process.pid)) == 2)
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(MAX_WAIT_SECONDS) == 0
