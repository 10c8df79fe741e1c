"""A running console, watched: metrics over several processes, health while stopping, logs as they are read."""

import http.client
import os
import re
import signal
import socket
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from cloudconsole._version import __version__
from tests.e2e.processes import command, eventually, is_running, log_lines, wire_worker, workers
from tests.e2e.raw_http import raw_connection, request
from tests.harness import Caller, OverHttp, RunningServer, running_server
from tests.server.metrics.pages import Scraped


def metrics_port(server: RunningServer) -> int:
    """Where the metrics are, as the log says."""
    found = eventually(lambda: re.search(r"metrics on http://127\.0\.0\.1:(\d+)/metrics", server.log()))
    return int(found[1])


def scrape(port: int) -> Scraped:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/metrics")
        response = connection.getresponse()
        assert response.status == 200
        return Scraped(response.read().decode())
    finally:
        connection.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with running_server(tmp_path, "--workers", "2", "--metrics", "127.0.0.1:0") as running:
        eventually(lambda: scrape(metrics_port(running)).value("workers") == 2)
        yield running


def two_workers(server: RunningServer) -> list[int]:
    """The workers' process ids: those of the children that serve calls."""
    found: set[int] = set()

    def another() -> bool:
        wire = OverHttp(server.base)
        found.add(wire_worker(server, wire))
        wire.close()
        return len(found) == 2

    eventually(another)
    return sorted(found)


@contextmanager
def connection_served_by(server: RunningServer, worker: int) -> Iterator[OverHttp]:
    """Found by trying: standing still would make the worker's lag, and the metrics process is a child, too."""

    def try_one() -> OverHttp | None:
        wire = OverHttp(server.base)
        if wire_worker(server, wire) == worker:
            return wire
        wire.close()
        return None

    wire = eventually(try_one)
    yield wire
    wire.close()


def test_what_all_workers_answered_adds_up_also_after_one_was_killed(server: RunningServer) -> None:
    port = metrics_port(server)
    first, second = two_workers(server)
    before = scrape(port)
    wire = OverHttp(server.base)
    caller = Caller(wire)
    assert caller.login().status == 200
    wire.close()

    for round_number, worker in enumerate((first, second)):
        with connection_served_by(server, worker) as connection:
            for _ in range(25 + round_number):
                assert Caller(connection, dict(caller.cookies)).call("GetNews").status == 200
            assert Caller(connection, dict(caller.cookies)).call("NoSuchAction").status == 404
    page = scrape(port)
    assert page.value("requests_total", operation="GetNews", outcome="ok") == 51
    assert page.value("requests_total", operation="api", outcome="unknown_action") == 2
    assert page.value("rejections_total", reason="unknown_action") == 2
    assert page.buckets("request_duration_seconds", operation="GetNews")[-1] == 51
    assert page.value("logins_total", outcome="ok") == 1
    # They are counted now and then only.
    eventually(lambda: scrape(port).value("sessions") == 1)
    assert page.value("workers") == 2

    os.kill(first, signal.SIGKILL)
    eventually(
        lambda: scrape(port).value("worker_restarts_total", reason="died") == 1 and scrape(port).value("workers") == 2
    )
    page = scrape(port)
    assert page.value("requests_total", operation="GetNews", outcome="ok") == 51
    replaced = next(worker for worker in two_workers(server) if worker != second)
    with connection_served_by(server, replaced) as connection:
        for _ in range(9):
            assert Caller(connection, dict(caller.cookies)).call("GetNews").status == 200
    page = scrape(port)
    assert page.value("requests_total", operation="GetNews", outcome="ok") == 60
    assert page.buckets("request_duration_seconds", operation="GetNews") == sorted(
        page.buckets("request_duration_seconds", operation="GetNews")
    )
    assert page.value("event_loop_lag_seconds_count") > before.value("event_loop_lag_seconds_count")


def test_a_frozen_worker_is_replaced_and_counted(tmp_path: Path) -> None:
    flags = ["--workers", "2", "--metrics", "127.0.0.1:0", "--worker-timeout", "5"]
    with running_server(tmp_path, *flags) as server:
        port = metrics_port(server)
        frozen, _ = two_workers(server)
        os.kill(frozen, signal.SIGSTOP)
        eventually(lambda: scrape(port).value("worker_restarts_total", reason="frozen") == 1)
        assert scrape(port).value("worker_restarts_total", reason="died") == 0
        eventually(lambda: scrape(port).value("workers") == 2)
        assert frozen not in two_workers(server)
        assert any(f"worker {frozen} has been frozen" in line["message"] for line in log_lines(server))
        assert server.stop() == 0


def test_the_metrics_process_is_replaced_when_it_dies(server: RunningServer) -> None:
    port = metrics_port(server)
    welcomed = scrape(port).value("requests_total", operation="welcome", outcome="ok")
    started = scrape(port).value("start_time_seconds")
    serving = set(two_workers(server))
    (metrics,) = workers(server) - serving
    os.kill(metrics, signal.SIGKILL)
    (replaced,) = eventually(lambda: workers(server) - serving - {metrics})
    page = scrape(port)
    assert page.value("requests_total", operation="welcome", outcome="ok") > welcomed
    assert page.value("start_time_seconds") == started
    assert page.by_label("worker_restarts_total", "reason") == {}
    assert server.stop() == 0
    assert not is_running(replaced)
    with pytest.raises(ConnectionError):
        scrape(port)


def test_all_end_when_their_parent_is_killed(server: RunningServer) -> None:
    children = workers(server)
    assert len(children) == 3
    server.process.kill()
    server.process.wait()
    eventually(lambda: not any(is_running(child) for child in children))
    assert [line["message"] for line in log_lines(server)].count("the parent process is gone: stopping") == 2


def test_while_stopping_it_is_alive_not_ready_and_still_watched(tmp_path: Path) -> None:
    with (
        running_server(tmp_path, "--metrics", "127.0.0.1:0") as server,
        raw_connection(server) as under_way,
        raw_connection(server) as checking,
    ):
        checking.send(request("GET", "/readyz", [("Host", "10.0.0.7")]))
        assert checking.answer().status == 200
        under_way.send(request("POST", "/api/", [("Content-Length", "2"), ("Expect", "100-continue")]))
        assert under_way.answer().status == 100

        server.process.send_signal(signal.SIGTERM)

        def alive_but_not_ready() -> bool:
            wire = OverHttp(server.base)
            try:
                assert wire.send("GET", "/healthz", [("Host", "10.0.0.7")]).status == 200
                reply = wire.send("GET", "/readyz", [("Host", "10.0.0.7")])
                return reply.status == 503 and reply.error == "unavailable" and reply.header("retry-after") == "1"
            finally:
                wire.close()

        eventually(alive_but_not_ready)
        eventually(lambda: scrape(metrics_port(server)).value("requests_in_flight") == 1)
        under_way.send(b"{}")
        assert under_way.answer().status == 415
        assert server.process.wait(timeout=60) == 0


def test_a_taken_metrics_port_is_refused_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = command("serve", "--port", "0", "--data", str(tmp_path / "data"), "--metrics", f"127.0.0.1:{port}")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"cloudconsole: metrics: cannot listen on 127.0.0.1 port {port}: ")
    assert done.stderr.count("\n") == 1


def test_a_wrong_setting_is_one_line_whatever_the_form_of_the_log(tmp_path: Path) -> None:
    done = command("serve", "--data", str(tmp_path / "data"), "--log-format", "json", "--port", "x")
    assert done.returncode == 1
    assert done.stderr.startswith("cloudconsole: --port: ")
    assert done.stderr.count("\n") == 1


def test_every_line_of_the_log_is_json(server: RunningServer) -> None:
    wire = OverHttp(server.base)
    caller = Caller(wire)
    caller.open()
    caller.login("demo", "wrong")
    caller.login()
    caller.send("GET", "/%0aforged%c2%85%e2%80%a8%ff")
    wire.close()
    (serving, *_) = two_workers(server)
    os.kill(serving, signal.SIGKILL)
    eventually(lambda: any(line["level"] == "error" for line in log_lines(server)))
    events = [line.get("event") for line in log_lines(server)]
    assert {"login", "login_refused", "refused", "request"} <= set(events)


# What the connection itself refuses.


def test_what_the_connections_refuse_is_counted_over_all_workers(tmp_path: Path) -> None:
    flags = ("--workers", "2", "--metrics", "127.0.0.1:0", "--request-timeout", "1")
    with running_server(tmp_path, *flags) as server:
        refused = Counter[str]()

        def refuse(sent: bytes, status: int) -> None:
            with raw_connection(server) as connection:
                connection.send(sent)
                assert connection.answer().status == status
            refused[str(status)] += 1

        for _ in range(20):
            refuse(b"rubbish\r\n\r\n", 400)
        for _ in range(10):
            refuse(b"GET / HTTP/1.1\r\nX: " + b"x" * 40_000, 431)
        refuse(b"GET / HTTP/1.1\r\nX: ", 408)
        with raw_connection(server) as fine:
            fine.send(request("GET", "/api/"))
            assert fine.answer().status == 200
            # Answered in good order, and then closed: its own status is never sent.
            fine.send(request("GET", "/api/") + b"rubbish\r\n\r\n")
            assert fine.answer().status == 200
        refused["400"] += 1
        page = scrape(metrics_port(server))
    assert page.by_label("connection_rejections_total", "status") == refused
    assert page.by_label("rejections_total", "reason") == {}


# Start and stop.


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_start_and_stop_leave_a_line_each(tmp_path: Path, count: int, sig: signal.Signals) -> None:
    with running_server(tmp_path, "--workers", str(count)) as server:
        assert server.stop(sig) == 0
    lines = [line for line in log_lines(server) if line.get("event") in ("start", "stop")]
    assert [line["event"] for line in lines] == ["start", "stop"]
    start, stop = lines
    assert (start["version"], start["served_on"], start["workers"]) == (__version__, server.base, count)
    assert (start["data"], start["metrics"]) == (str((tmp_path / "data").resolve()), None)
    assert (stop["signal"], stop["drained"], stop["level"]) == (sig.name, True, "info")
    assert {line["process"] for line in lines} == {server.process.pid}


@pytest.mark.parametrize("count", [1, 2])
def test_a_stop_that_cut_calls_off_says_so(tmp_path: Path, count: int) -> None:
    flags = ("--workers", str(count), "--stop-grace", "1")
    with running_server(tmp_path, *flags) as server, raw_connection(server) as endless:
        endless.send(request("POST", "/api/", [("Content-Length", "5"), ("Expect", "100-continue")]))
        assert endless.answer().status == 100
        assert server.stop() == 0
    stop = log_lines(server)[-1]
    assert stop["message"] == "stopped by SIGTERM: requests were aborted after 1 s"
    assert (stop["event"], stop["drained"], stop["level"]) == ("stop", False, "warning")


def test_a_start_that_is_refused_leaves_no_such_line(tmp_path: Path) -> None:
    done = command("serve", "--data", str(tmp_path / "data"), "--port", "x")
    assert "serves on" not in done.stdout + done.stderr


# A store that fails call after call.


def test_a_store_that_fails_leaves_few_lines_however_many_call(tmp_path: Path) -> None:
    with running_server(tmp_path, "--access-log", "false") as server:
        wire = OverHttp(server.base)
        caller = Caller(wire)
        assert caller.login().status == 200
        with closing(sqlite3.connect(tmp_path / "data" / "activity.db")) as store, store:
            store.execute("ALTER TABLE sessions RENAME TO elsewhere")
        for _ in range(200):
            assert caller.call("GetNews").error == "unavailable"
        wire.close()
        assert server.stop() == 0
    lines = [line for line in log_lines(server) if "unavailable: " in line["message"]]
    written = [line for line in lines if line.get("event") is None]
    counted = [line["number"] for line in lines if line.get("event") == "suppressed"]
    # One in ten seconds, however long the machine took.
    assert len(written) < 20
    assert len(written) + sum(counted) == 200


def test_sessions_are_counted_by_the_consoles_own_clock(tmp_path: Path) -> None:
    clock = ("--clock", "2025-05-06T07:08:09Z", "--clock-fixed")
    with running_server(tmp_path, "--metrics", "127.0.0.1:0", *clock, is_first=True) as server:
        wire = OverHttp(server.base)
        assert Caller(wire).login().status == 200
        wire.close()
        eventually(lambda: scrape(metrics_port(server)).value("sessions") == 1)
