"""What goes on beside the measured calls: an operator's changes and people logging in, at a steady pace.

Runs as a process of its own (`python -m bench.background`) on the load's core, so that the server's core is its own.
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

from bench.client import Caller, Connection, login_request
from bench.data import Plan, Store
from bench.figures import Refused
from bench.servers import LOAD_CORE, Server, on_core
from cloudconsole.operator.entities import RESOURCES
from cloudconsole.operator.sample import SAMPLE_PASSWORDS
from cloudconsole.operator.transaction import at_desk
from cloudconsole.store.sqlite.engine import open_engine

CHANGED: Final = "v-o0000001"
"""A resource of another tenant than the one whose calls are measured: their answers stay the same."""

PEOPLE: Final = 8


@contextmanager
def writes(store: Store, server: Server, *, changes: int, logins: int, reached: list[float]) -> Iterator[None]:
    """So many operator changes and logins a second, until the end; refuses if one of them fails.

    `reached` gets how many logins a second it came to: a busy server may be slower than people want to log in.
    """
    pace = ["--changes", str(changes), "--logins", str(logins)]
    command = ["-m", "bench.background", "--data", str(store.folder), "--port", str(server.port), *pace]
    process = subprocess.Popen([*on_core(LOAD_CORE), sys.executable, *command], stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout is None or process.stdout.readline() != "begun\n":
            raise Refused("the writes beside the calls did not begin")
        yield
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=60)
        if process.returncode:
            raise Refused(f"the writes beside the calls failed: {said.strip()}")
        reached.append(float(said))
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


class Visited(Protocol):
    """A store that strangers come to."""

    def fresh_token(self) -> str: ...


class Paced:
    """Calls `work` so often a second in a thread of its own, until told to stop."""

    def __init__(self, work: Callable[[], None], rate: float) -> None:
        self._work = work
        self._interval = 1 / rate
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.problem: Exception | None = None
        self.done = 0
        self._thread.start()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            try:
                self._work()
            except Exception as problem:  # noqa: BLE001
                self.problem = problem
                return
            self.done += 1
            due += self._interval

    def end(self) -> None:
        self._stop.set()
        self._thread.join()


def change(engine: Engine) -> Callable[[], None]:
    """One operator change a call: a volume grows and shrinks."""
    size = 250

    def work() -> None:
        nonlocal size
        size = 501 - size
        with at_desk(engine, actor="bench", now=int(time.time())) as desk:
            RESOURCES.change(desk, CHANGED, {"size": size})

    return work


def log_in(store: Store, port: int) -> Callable[[], None]:
    """One login a call."""
    connection = Connection(port)
    request = demo_login(store)

    def work() -> None:
        reply = connection.send(request)
        if reply.status != 200:
            raise Refused(f"a login was answered with {reply.status}: {reply.body[:200]!r}")

    return work


def demo_login(store: Visited) -> bytes:
    visitor = Caller("a" + "0" * 48, store.fresh_token())
    return login_request(visitor, "demo", SAMPLE_PASSWORDS["demo"])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--changes", type=float, default=0)
    parser.add_argument("--logins", type=float, default=0)
    arguments = parser.parse_args()
    store = Store(arguments.data, Plan())
    ended = threading.Event()

    def end(_signal: int, _frame: FrameType | None) -> None:
        ended.set()

    signal.signal(signal.SIGTERM, end)
    begun = time.monotonic()
    changes = [Paced(change(open_engine(store.folder, "cloud")), arguments.changes)] if arguments.changes else []
    people = range(PEOPLE if arguments.logins else 0)
    logins = [Paced(log_in(store, arguments.port), arguments.logins / PEOPLE) for _ in people]
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    ended.wait()
    rate = sum(each.done for each in logins) / (time.monotonic() - begun)
    for each in (*changes, *logins):
        each.end()
    problems = [str(each.problem) for each in (*changes, *logins) if each.problem]
    sys.stdout.write(problems[0] if problems else str(rate))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
