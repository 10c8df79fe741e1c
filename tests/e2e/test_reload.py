"""SIGHUP never terminates a process of a console; each logs what it reloaded."""

import fcntl
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.certificate_factory import write_certificate
from tests.e2e.processes import client_of, eventually, open_files, workers
from tests.e2e.test_metrics import scrape
from tests.fork_server import MAX_WAIT_SECONDS, ForkedProcess
from tests.harness import clean_environment, running_server

NOTHING_TO_RELOAD = "SIGHUP: nothing to reload, no certificate is configured"
SUPERVISED = ("--workers", "2", "--metrics", "127.0.0.1:0")


@pytest.mark.parametrize(("flags", "children", "serving"), [((), 0, 1), (SUPERVISED, 3, 2)], ids=["alone", "parent"])
def test_every_process_survives_sighup_without_a_certificate(
    tmp_path: Path, flags: tuple[str, ...], children: int, serving: int
) -> None:
    with running_server(tmp_path, *flags) as server, client_of(server.base) as client:
        eventually(lambda: len(workers(server)) == children)
        processes_before = workers(server)
        assert client.login().status == 200
        for process in (*processes_before, server.process.pid):
            os.kill(process, signal.SIGHUP)
        eventually(lambda: len(reloads(server.log_file)) == serving)
        assert client.call("GetUsageLimits").status == 200
        assert workers(server) == processes_before
        assert server.stop() == 0


def test_sighup_during_startup_is_handled_once_serving(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    with (data / "lock").open("w") as lock:
        (data / "lock").chmod(0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        with starting(tmp_path) as (process, log_file):
            eventually(lambda: data / "lock" in open_files(process.pid))
            process.send_signal(signal.SIGHUP)
            fcntl.flock(lock, fcntl.LOCK_UN)
            eventually(lambda: process.poll() is not None or reloads(log_file))
            process.terminate()
            assert process.wait(MAX_WAIT_SECONDS) == 0


def test_expired_certificate_is_logged_and_shown_in_metrics(tmp_path: Path) -> None:
    expired, renewed = (datetime.now(UTC).replace(microsecond=0) + timedelta(days=days) for days in (-1, 90))
    certificate, key = write_certificate(tmp_path, expired)
    flags = ("--tls-certificate", str(certificate), "--tls-key", str(key), "--metrics", "127.0.0.1:0")
    warning = f"{certificate} expired on {expired:%Y-%m-%d %H:%M} UTC"
    with starting(tmp_path, *flags) as (process, log_file):
        eventually(lambda: expiry_in_metrics(log_file) == expired.timestamp())
        assert log_file.read_text().count(warning) == 1
        process.send_signal(signal.SIGHUP)
        eventually(lambda: log_file.read_text().count(warning) == 2)
        write_certificate(tmp_path, renewed)
        process.send_signal(signal.SIGHUP)
        eventually(lambda: expiry_in_metrics(log_file) == renewed.timestamp())
        assert log_file.read_text().count(warning) == 2


@contextmanager
def starting(folder: Path, *flags: str) -> Iterator[tuple[ForkedProcess, Path]]:
    """Start a console without waiting for it; yield its process and log file."""
    log_file = folder / "server.log"
    with log_file.open("w") as log:
        command = ["serve", "--port", "0", "--data", str(folder / "data"), *flags]
        process = ForkedProcess(command, clean_environment(), stderr=log.fileno())
    try:
        yield process, log_file
    finally:
        process.kill()
        process.wait(MAX_WAIT_SECONDS)


def expiry_in_metrics(log_file: Path) -> float | None:
    address = re.search(r"metrics on http://127\.0\.0\.1:(\d+)/metrics", log_file.read_text())
    return address and scrape(int(address[1])).value("certificate_expiry_seconds")


def reloads(log_file: Path) -> set[int]:
    """Return the processes that logged that there was nothing to reload."""
    lines = [line for line in log_file.read_text().splitlines() if NOTHING_TO_RELOAD in line]
    return {int(line.partition('"process":')[2].partition(",")[0]) for line in lines}
