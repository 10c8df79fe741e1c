"""Monitoring of a running console: metrics over several processes, and logs."""

import os
import re
import signal
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from cloudconsole._version import __version__
from tests.e2e.processes import (
    client_of,
    command,
    connection_to,
    eventually,
    is_running,
    log_lines,
    wire_worker,
    workers,
)
from tests.e2e.raw_http import raw_connection, request
from tests.fork_server import MAX_WAIT_SECONDS
from tests.harness import ApiClient, HttpTransport, RunningServer, running_server
from tests.server.metrics.metrics_page import MetricsPage


def metrics_port(server: RunningServer) -> int:
    """Return the port of the metrics server, from the log."""
    found = eventually(lambda: re.search(r"metrics on http://127\.0\.0\.1:(\d+)/metrics", server.log()))
    return int(found[1])


def scrape(port: int) -> MetricsPage:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=MAX_WAIT_SECONDS) as response:
        return MetricsPage(response.read().decode())


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with running_server(tmp_path, "--workers", "2", "--metrics", "127.0.0.1:0") as running:
        eventually(lambda: scrape(metrics_port(running)).value("workers") == 2)
        yield running


def two_workers(server: RunningServer) -> list[int]:
    """Return the process ids of both workers: the children that serve requests."""
    found: set[int] = set()

    def found_both() -> bool:
        with closing(HttpTransport(server.base)) as transport:
            found.add(wire_worker(server, transport))
        return len(found) == 2

    eventually(found_both)
    return sorted(found)


def test_metrics_add_up_over_workers_and_restarts(server: RunningServer) -> None:
    port = metrics_port(server)
    first, second = two_workers(server)
    before = scrape(port)
    with client_of(server.base) as client:
        assert client.login().status == 200

    def get_news(worker: int, times: int) -> None:
        with connection_to(server, worker) as connection:
            on_worker = ApiClient(connection, dict(client.cookies))
            assert {on_worker.call("GetNews").status for _ in range(times)} == {200}
            assert on_worker.call("NoSuchAction").status == 404

    get_news(first, 25)
    get_news(second, 26)
    page = scrape(port)
    assert page.value("requests_total", operation="GetNews", outcome="ok") == 51
    assert page.value("requests_total", operation="api", outcome="unknown_action") == 2
    assert page.value("rejections_total", reason="unknown_action") == 2
    assert page.buckets("request_duration_seconds", operation="GetNews")[-1] == 51
    assert page.value("logins_total", outcome="ok") == 1
    # Sessions are counted only periodically.
    eventually(lambda: scrape(port).value("sessions") == 1)
    assert page.value("workers") == 2

    os.kill(first, signal.SIGKILL)
    eventually(
        lambda: scrape(port).value("worker_restarts_total", reason="died") == 1 and scrape(port).value("workers") == 2
    )
    assert scrape(port).value("requests_total", operation="GetNews", outcome="ok") == 51
    get_news(next(worker for worker in two_workers(server) if worker != second), 9)
    page = scrape(port)
    assert page.value("requests_total", operation="GetNews", outcome="ok") == 60
    buckets = page.buckets("request_duration_seconds", operation="GetNews")
    assert buckets == sorted(buckets)
    assert page.value("event_loop_lag_seconds_count") > before.value("event_loop_lag_seconds_count")
    assert any(line["level"] == "error" for line in log_lines(server))


def test_frozen_worker_is_replaced_and_counted(tmp_path: Path) -> None:
    flags = ["--workers", "2", "--metrics", "127.0.0.1:0", "--worker-timeout", "2"]
    with running_server(tmp_path, *flags) as server:
        port = metrics_port(server)
        frozen, _ = two_workers(server)
        os.kill(frozen, signal.SIGSTOP)
        # On a busy machine the other worker may count as frozen, too.
        eventually(lambda: scrape(port).value("worker_restarts_total", reason="frozen") >= 1)
        eventually(lambda: any(f"worker {frozen} has been frozen" in line["message"] for line in log_lines(server)))
        eventually(lambda: scrape(port).value("workers") == 2)
        assert not is_running(frozen)
        assert scrape(port).value("worker_restarts_total", reason="died") == 0


def test_metrics_process_is_replaced_when_it_dies(server: RunningServer) -> None:
    port = metrics_port(server)
    requests_before = scrape(port).value("requests_total", operation="welcome", outcome="ok")
    start_time = scrape(port).value("start_time_seconds")
    serving = set(two_workers(server))
    (metrics,) = workers(server) - serving
    os.kill(metrics, signal.SIGKILL)
    (replaced,) = eventually(lambda: workers(server) - serving - {metrics})
    with raw_connection(server) as unfinished:
        unfinished.send(request("POST", "/api/", [("Content-Length", "2"), ("Expect", "100-continue")]))
        assert unfinished.answer().status == 100
        eventually(lambda: scrape(port).value("requests_in_flight") == 1)
    page = scrape(port)
    assert page.value("requests_total", operation="welcome", outcome="ok") > requests_before
    assert page.value("start_time_seconds") == start_time
    assert page.by_label("worker_restarts_total", "reason") == {}
    assert server.stop() == 0
    assert not is_running(replaced)
    with pytest.raises(URLError):
        scrape(port)


def test_all_processes_exit_when_their_parent_is_killed(server: RunningServer) -> None:
    children = workers(server)
    assert len(children) == 3
    server.process.kill()
    server.process.wait()
    eventually(lambda: not any(is_running(child) for child in children))
    assert [line["message"] for line in log_lines(server)].count("the parent process is gone: stopping") == 2


def test_connection_rejections_of_all_workers_are_counted(tmp_path: Path) -> None:
    flags = ("--workers", "2", "--metrics", "127.0.0.1:0", "--request-timeout", "2")
    with running_server(tmp_path, *flags) as server:
        rejected = Counter[str]()

        def reject(sent: bytes, status: int) -> None:
            with raw_connection(server) as connection:
                connection.send(sent)
                assert connection.answer().status == status
            rejected[str(status)] += 1

        for _ in range(20):
            reject(b"rubbish\r\n\r\n", 400)
        for _ in range(10):
            reject(b"GET / HTTP/1.1\r\nX: " + b"x" * 40_000, 431)
        reject(b"GET / HTTP/1.1\r\nX: ", 408)
        with raw_connection(server) as accepted:
            accepted.send(request("GET", "/api/"))
            assert accepted.answer().status == 200
            # The valid request is answered and the connection closed: the 400 is counted but never sent.
            accepted.send(request("GET", "/api/") + b"rubbish\r\n\r\n")
            assert accepted.answer().status == 200
        rejected["400"] += 1
        page = scrape(metrics_port(server))
    assert page.by_label("connection_rejections_total", "status") == rejected
    assert page.by_label("rejections_total", "reason") == {}


@pytest.mark.parametrize(("count", "sig"), [(1, signal.SIGTERM), (2, signal.SIGINT)])
def test_start_and_stop_are_logged_once(tmp_path: Path, count: int, sig: signal.Signals) -> None:
    with running_server(tmp_path, "--workers", str(count)) as server:
        assert server.stop(sig) == 0
    lines = [line for line in log_lines(server) if line.get("event") in ("start", "stop")]
    assert [line["event"] for line in lines] == ["start", "stop"]
    assert {line["process"] for line in lines} == {server.process.pid}
    data = str((tmp_path / "data").resolve())
    expected = {"version": __version__, "served_on": server.base, "workers": count, "data": data, "metrics": None}
    assert expected.items() <= lines[0].items()
    assert {"signal": sig.name, "drained": True, "level": "info"}.items() <= lines[1].items()


@pytest.mark.parametrize("count", [1, 2])
def test_stop_that_aborts_requests_logs_a_warning(tmp_path: Path, count: int) -> None:
    flags = ("--workers", str(count), "--stop-grace", "0")
    with running_server(tmp_path, *flags) as server, raw_connection(server) as unfinished:
        unfinished.send(request("POST", "/api/", [("Content-Length", "5"), ("Expect", "100-continue")]))
        assert unfinished.answer().status == 100
        assert server.stop() == 0
    message = "stopped by SIGTERM: requests were aborted after 0 s"
    expected = {"message": message, "event": "stop", "drained": False, "level": "warning"}
    assert expected.items() <= log_lines(server)[-1].items()


def test_errors_of_a_failing_store_are_rate_limited_in_the_log(tmp_path: Path) -> None:
    flags = ("--access-log", "false")
    with running_server(tmp_path, *flags) as server, client_of(server.base) as client:
        assert client.login().status == 200
        with closing(sqlite3.connect(tmp_path / "data" / "activity.db")) as store, store:
            store.execute("ALTER TABLE sessions RENAME TO elsewhere")
        for _ in range(50):
            assert client.call("GetNews").error == "unavailable"
        assert server.stop() == 0
    lines = [line for line in log_lines(server) if "unavailable: " in line["message"]]
    written = [line for line in lines if line.get("event") is None]
    counted = [line["number"] for line in lines if line.get("event") == "suppressed"]
    assert counted
    assert len(written) + sum(counted) == 50


def test_workers_loading_and_metrics_use_the_test_clock(tmp_path: Path) -> None:
    flags = ("--workers", "2", "--metrics", "127.0.0.1:0", "--clock", "2031-05-06T07:08:09Z", "--clock-fixed")
    with running_server(tmp_path, *flags, is_first=True) as server:
        for _ in range(8):
            with client_of(server.base) as client:
                assert "Expires=Tue, 04 May 2032 07:08:09 GMT" in client.open().set_cookies["csrftoken"]
        with client_of(server.base) as client:
            assert client.login().status == 200
        eventually(lambda: scrape(metrics_port(server)).value("sessions") == 1)
        done = command("admin", "audit", "--json", "--data", str(tmp_path / "data"))
        assert "2031-05-06T07:08:09Z" in done.stdout, done.stdout + done.stderr
