"""`python -m fuzz.run`: a console fuzzed by its own OpenAPI document, and what came of it."""

import argparse
import json
import logging
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

from tests.harness import Caller, HeldClock, InProcess, OverHttp, Reply, Wire, running_server

from cloudconsole.operator.cloud_file import load
from cloudconsole.operator.sample import SAMPLE_FILE, SAMPLE_PASSWORDS
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.sqlite.store import prepare
from fuzz.judge import Finding, Judge, Sent
from fuzz.making import Maker, Session
from fuzz.report import Result, described, write_report

START: Final = datetime(2026, 11, 15, 12, 20, tzinfo=UTC).timestamp()
USERS: Final = ("demo", "other")
REQUESTS_A_SECOND: Final = 1000
"""How slowly the console's clock goes: failed logins are forgotten now and then, sessions never."""
CYCLE: Final = 2000
"""A whole session, from login to logout, comes once in so many requests."""
MOST_FINDINGS: Final = 20
WHOLE: Final = 1_000_000
"""A run of fewer requests is not put on record in the place of one of so many."""


@dataclass
class Run:
    """Sends requests over a wire until there are enough, and keeps count."""

    wire: Wire
    seed: int
    clock: HeldClock | None = None
    counts: Counter[tuple[str, int, str]] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        document = json.loads(self.wire.send("GET", "/openapi.json", []).body)
        self._judge = Judge(document)
        self._rng = Random(self.seed)  # noqa: S311
        self._callers = [Caller(self.wire) for _ in USERS]
        for user, caller in zip(USERS, self._callers, strict=True):
            if caller.login(user, SAMPLE_PASSWORDS[user]).status != 200:
                raise RuntimeError(f"{user} cannot log in")
        sessions = [Session(caller.cookies["sessionid"], caller.token) for caller in self._callers]
        self._maker = Maker(self._rng, document, self.wire.base, sessions)
        self._sent = 0

    def go(self, requests: int) -> None:
        before = [self._answers(caller) for caller in self._callers]
        while self._sent < requests and len(self.findings) < MOST_FINDINGS:
            if self._sent % CYCLE == CYCLE // 2:
                self._come_from("2001:db8::1")
                self._whole_session()
                self._come_from("192.0.2.1")
            self._try(self._maker.next())
        if [self._answers(caller) for caller in self._callers] != before:
            self.findings.append("the sessions that were open at the start answer otherwise, or no longer")

    def _come_from(self, address: str) -> None:
        """Whole sessions from another address than failed logins, which throttle their own; a socket cannot choose."""
        if isinstance(self.wire, InProcess):
            self.wire.address = address

    def _try(self, sent: Sent) -> Reply:
        if self.clock is not None:
            self.clock.moment = START + self._sent / REQUESTS_A_SECOND
        reply = self.wire.send(sent.method, sent.path, sent.headers, sent.body)
        self._sent += 1
        try:
            self._judge.check(sent, reply)
            if reply.status >= 500:
                raise Finding("a failure of the console's own")
        except Finding as problem:
            self.findings.append(f"request {self._sent}: {problem}\n{described(sent, reply)}")
        error = reply.error if reply.status >= 400 and reply.body else ""
        self.counts[self._judge.operation_of(sent), reply.status, error] += 1
        return reply

    def _whole_session(self) -> None:
        """Open, log in, call, log out; then the session is over. A throttled login is put off."""
        opened = self._try(Sent("GET", "/api/", []))
        token = opened.cookie("csrftoken") or ""
        user = self._rng.choice(USERS)
        login = self._try(self._maker.good_login(token, user, SAMPLE_PASSWORDS[user]))
        if login.status == 429:
            return
        session = Session(login.cookie("sessionid") or "", token)
        call = self._maker.call_in(session)
        called, ended, over = (
            self._try(each).status for each in (call, self._maker.logout(session), call._replace(action=None))
        )
        if (login.status, called == 401, ended, over) != (200, False, 200, 401):
            steps = f"login, call, logout, call: {login.status}, {called}, {ended}, {over}"
            self.findings.append(f"request {self._sent}: {steps}")

    def _answers(self, caller: Caller) -> list[bytes]:
        return [caller.call(action).body for action in ("GetUsageLimits", "GetUrlList", "GetConsumptionsEstimated")]


@contextmanager
def console_in_process() -> Iterator[tuple[InProcess, HeldClock]]:
    """A console over the sample cloud in this process, and its clock."""
    with TemporaryDirectory() as folder:
        data, clock = Path(folder) / "data", HeldClock(START)
        prepare(data)
        with opened(data, "cloud") as engine:
            load(engine, SAMPLE_FILE, zone=UTC, now=int(START), actor="fuzz")
        wire = InProcess(Console(Settings(data=data, access_log=False), clock))
        try:
            yield wire, clock
        finally:
            wire.close()


def fuzz(requests: int, seed: int, *, socket: bool = False) -> Result:
    """So many requests to a console in this process, or to one that listens."""
    started = time.monotonic()
    if socket:
        with TemporaryDirectory() as folder, running_server(Path(folder)) as server:
            wire = OverHttp(server.base)
            run = Run(wire, seed)
            run.go(requests)
            wire.close()
    else:
        with console_in_process() as (console, clock):
            run = Run(console, seed, clock)
            run.go(requests)
    return Result(seed, dict(run.counts), run.findings, time.monotonic() - started, socket=socket)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of requests; give a whole number from 1 on")
    return int(text)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz.run", description=__doc__)
    parser.add_argument("--requests", type=_count, default=WHOLE)
    parser.add_argument("--seed", type=int, default=None, help="to repeat a run; another one each time otherwise")
    parser.add_argument("--socket", action="store_true", help="a listening console instead of one in this process")
    parser.add_argument("--record", type=Path, help=f"document for the result of a run of {WHOLE:,} or more")
    given = parser.parse_args(arguments)
    seed = given.seed if given.seed is not None else Random().randrange(10**9)  # noqa: S311
    result = fuzz(given.requests, seed, socket=given.socket)
    sys.stdout.write(result.summary())
    if given.record and given.requests >= WHOLE:
        write_report(result, given.record)
    elif given.record:
        sys.stdout.write(f"{given.record} stays as it is: only a run of {WHOLE:,} requests or more is recorded\n")
    return 1 if result.findings else 0


if __name__ == "__main__":
    logging.getLogger("cloudconsole").setLevel(logging.ERROR)
    sys.exit(main(sys.argv[1:]))
