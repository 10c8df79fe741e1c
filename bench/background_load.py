"""Background load during a measurement: operator changes and logins at a constant rate.

Runs as a separate process (`python -m bench.background_load`) on the core of the load generator.
"""

import argparse
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final, Protocol

from sqlalchemy import Engine

from bench.datasets import DatasetSpec, SqliteDataset
from bench.measurements import InvalidRun
from bench.raw_http import Connection, SessionCookies, login_request
from bench.servers import LOAD_CORE, Server, taskset
from cloudconsole.operator.entities import RESOURCES
from cloudconsole.operator.sample import SAMPLE_PASSWORDS
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.store.sqlite.engine import open_engine

CHANGED_RESOURCE: Final = "v-o0000001"
"""Belongs to another tenant than the measured one, whose responses therefore do not change."""

LOGIN_THREADS: Final = 8
ANONYMOUS_SESSION_ID: Final = "a" + "0" * 48


@contextmanager
def background_load(
    dataset: SqliteDataset, server: Server, *, changes: int, logins: int, login_rates: list[float]
) -> Iterator[None]:
    """Run this many operator changes and logins per second; raise `InvalidRun` if one fails.

    Appends the achieved logins per second to `login_rates`: a busy server may not reach the requested rate.
    """
    rates = ["--changes", str(changes), "--logins", str(logins)]
    command = ["-m", "bench.background_load", "--data", str(dataset.directory), "--port", str(server.port), *rates]
    process = subprocess.Popen([*taskset(LOAD_CORE), sys.executable, *command], stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout is None or process.stdout.readline() != "ready\n":
            raise InvalidRun("the background load did not start")
        yield
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
        if process.returncode:
            raise InvalidRun(f"the background load failed: {output.strip()}")
        login_rates.append(float(output))
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


class IssuesCsrfTokens(Protocol):
    def new_csrf_token(self) -> str: ...


class PacedThread:
    """Calls `work` at a constant rate in its own thread until stopped or until `work` fails."""

    def __init__(self, work: Callable[[], None], rate: float) -> None:
        self._work = work
        self._interval = 1 / rate
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.error: Exception | None = None
        self.count = 0
        self._thread.start()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            try:
                self._work()
            except Exception as error:  # noqa: BLE001
                self.error = error
                return
            self.count += 1
            due += self._interval

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


def resource_changer(engine: Engine) -> Callable[[], None]:
    """Return a function that makes one operator change: it resizes a volume up and down."""
    size = 250

    def work() -> None:
        nonlocal size
        size = 501 - size
        with operator_transaction(engine, actor="bench", now=int(time.time())) as tx:
            RESOURCES.change(tx, CHANGED_RESOURCE, {"size": size})

    return work


def login_sender(dataset: SqliteDataset, port: int) -> Callable[[], None]:
    """Return a function that sends one login."""
    connection = Connection(port)
    request = demo_login_request(dataset)

    def work() -> None:
        response = connection.send(request)
        if response.status != 200:
            raise InvalidRun(f"login failed with {response.status}: {response.body[:200]!r}")

    return work


def demo_login_request(dataset: IssuesCsrfTokens) -> bytes:
    anonymous = SessionCookies(ANONYMOUS_SESSION_ID, dataset.new_csrf_token())
    return login_request(anonymous, "demo", SAMPLE_PASSWORDS["demo"])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--changes", type=float, default=0)
    parser.add_argument("--logins", type=float, default=0)
    options = parser.parse_args()
    dataset = SqliteDataset(options.data, DatasetSpec())
    stopped = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        stopped.set()

    signal.signal(signal.SIGTERM, stop)
    began = time.monotonic()
    changes = []
    if options.changes:
        changes.append(PacedThread(resource_changer(open_engine(dataset.directory, "cloud")), options.changes))
    threads = range(LOGIN_THREADS if options.logins else 0)
    logins = [PacedThread(login_sender(dataset, options.port), options.logins / LOGIN_THREADS) for _ in threads]
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    stopped.wait()
    rate = sum(each.count for each in logins) / (time.monotonic() - began)
    for each in (*changes, *logins):
        each.stop()
    errors = [str(each.error) for each in (*changes, *logins) if each.error]
    sys.stdout.write(errors[0] if errors else str(rate))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
