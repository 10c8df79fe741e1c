"""`python -m fuzz`: fuzz a console with generated requests, and its connections with byte streams in random pieces."""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

import uvloop
from tests.harness import ApiClient, FakeClock, HttpTransport, InProcessTransport, Reply, Transport, running_server

from cloudconsole.operator.cloud_file import load
from cloudconsole.operator.sample import SAMPLE_FILE, SAMPLE_PASSWORDS
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.sqlite.store import prepare
from fuzz.report import Result, describe, write_report
from fuzz.request_generator import RequestGenerator, Session
from fuzz.response_validator import ContractViolation, Request, ResponseValidator
from fuzz.stream_splits import fuzz_streams

START: Final = datetime(2026, 11, 15, 12, 20, tzinfo=UTC).timestamp()
USERS: Final = ("demo", "other")
REQUESTS_PER_SECOND: Final = 1000
"""Speed of the console's clock: login throttling expires now and then, sessions never."""
SESSION_INTERVAL: Final = 2000
"""Requests between two complete sessions from login to logout."""
MAX_FAILURES: Final = 20
FULL_RUN: Final = 1_000_000
"""Only runs of at least this many requests are recorded."""


@dataclass
class Run:
    """Sends requests and counts responses and failures."""

    transport: Transport
    seed: int
    clock: FakeClock | None = None
    counts: Counter[tuple[str, int, str]] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        document = json.loads(self.transport.send("GET", "/openapi.json", []).body)
        self._validator = ResponseValidator(document)
        self._rng = Random(self.seed)  # noqa: S311
        self._clients = [ApiClient(self.transport) for _ in USERS]
        for user, client in zip(USERS, self._clients, strict=True):
            if client.login(user, SAMPLE_PASSWORDS[user]).status != 200:
                raise RuntimeError(f"{user} cannot log in")
        sessions = [Session(client.cookies["sessionid"], client.token) for client in self._clients]
        self._generator = RequestGenerator(self._rng, document, self.transport.base, sessions)
        self._sent = 0

    def run(self, requests: int) -> None:
        before = [self._responses(client) for client in self._clients]
        while self._sent < requests and len(self.failures) < MAX_FAILURES:
            if self._sent % SESSION_INTERVAL == SESSION_INTERVAL // 2:
                self._use_address("2001:db8::1")
                self._complete_session()
                self._use_address("192.0.2.1")
            self._send(self._generator.next())
        if [self._responses(client) for client in self._clients] != before:
            self.failures.append("responses in the initial sessions changed")

    def _use_address(self, address: str) -> None:
        """Use separate addresses for sessions and failed logins, which are throttled; not possible over HTTP."""
        if isinstance(self.transport, InProcessTransport):
            self.transport.address = address

    def _send(self, request: Request) -> Reply:
        if self.clock is not None:
            self.clock.moment = START + self._sent / REQUESTS_PER_SECOND
        reply = self.transport.send(request.method, request.path, request.headers, request.body)
        self._sent += 1
        try:
            self._validator.check(request, reply)
            if reply.status >= 500:
                raise ContractViolation("server error")
        except ContractViolation as problem:
            self.failures.append(f"request {self._sent}: {problem}\n{describe(request, reply)}")
        error = reply.error if reply.status >= 400 and reply.body else ""
        self.counts[self._validator.operation_of(request), reply.status, error] += 1
        return reply

    def _complete_session(self) -> None:
        """Open a session, log in, call, log out, and verify that the session has ended; skip if throttled."""
        opened = self._send(Request("GET", "/api/", []))
        token = opened.cookie("csrftoken") or ""
        user = self._rng.choice(USERS)
        login = self._send(self._generator.valid_login(token, user, SAMPLE_PASSWORDS[user]))
        if login.status == 429:
            return
        session = Session(login.cookie("sessionid") or "", token)
        call = self._generator.call_in(session)
        called, logged_out, after = (
            self._send(each).status for each in (call, self._generator.logout(session), call._replace(action=None))
        )
        if (login.status, called == 401, logged_out, after) != (200, False, 200, 401):
            steps = f"login, call, logout, call: {login.status}, {called}, {logged_out}, {after}"
            self.failures.append(f"request {self._sent}: {steps}")

    def _responses(self, client: ApiClient) -> list[bytes]:
        return [client.call(action).body for action in ("GetUsageLimits", "GetUrlList", "GetConsumptionsEstimated")]


@contextmanager
def console_in_process() -> Iterator[tuple[InProcessTransport, FakeClock]]:
    """Run an in-process console with the sample cloud, and its clock."""
    with TemporaryDirectory() as folder:
        data, clock = Path(folder) / "data", FakeClock(START)
        prepare(data)
        with opened(data, "cloud") as engine:
            load(engine, SAMPLE_FILE, zone=UTC, now=int(START), actor="fuzz")
        transport = InProcessTransport(Console(Settings(data=data, access_log=False), clock))
        try:
            yield transport, clock
        finally:
            transport.close()


def fuzz(requests: int, seed: int, *, socket: bool = False) -> Result:
    """Send requests to an in-process console, or to one over HTTP, and as many byte streams to connections."""
    started = time.monotonic()
    if socket:
        with TemporaryDirectory() as folder, running_server(Path(folder)) as server:
            transport = HttpTransport(server.base)
            run = Run(transport, seed)
            run.run(requests)
            transport.close()
    else:
        with console_in_process() as (console, clock):
            run = Run(console, seed, clock)
            run.run(requests)
    seconds = time.monotonic() - started
    stream_failures = uvloop.run(fuzz_streams(requests, seed, MAX_FAILURES))
    stream_seconds = time.monotonic() - started - seconds
    failures = run.failures + stream_failures
    return Result(seed, dict(run.counts), failures, seconds, requests, stream_seconds, socket=socket)


def _positive_int(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument(
        "--requests",
        type=_positive_int,
        default=FULL_RUN,
        help="number of requests and of streams (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=None, help="random seed, to repeat a run (default: random)")
    parser.add_argument("--socket", action="store_true", help="fuzz a console over HTTP instead of in process")
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help=f"write a report of a run of at least {FULL_RUN:,} requests"
    )
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else Random().randrange(10**9)  # noqa: S311
    result = fuzz(options.requests, seed, socket=options.socket)
    sys.stdout.write(result.summary())
    if options.record and options.requests >= FULL_RUN:
        write_report(result, options.record)
    elif options.record:
        sys.stdout.write(f"{options.record} not updated: the run has fewer than {FULL_RUN:,} requests\n")
    return 1 if result.failures else 0
