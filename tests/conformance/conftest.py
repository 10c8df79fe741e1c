"""Run the conformance kit against test applications, in this process or on a real socket, and with injected faults."""

import asyncio
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2
import pytest

from cloudconsole.conformance.assertions import CheckSkipped
from cloudconsole.conformance.client import Account, Sender, Target, framed
from cloudconsole.conformance.connection import Connection, Received
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.extended import connections, uploads
from cloudconsole.conformance.runner import PROFILES, Result, run_checks, select
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from tests import stores
from tests.conformance.faulty_console import Fault, FaultyConsole
from tests.conftest import SAMPLE_TIME
from tests.harness import FakeClock

DEMO, OTHER = Account("demo", "console-demo"), Account("other", "console-other")
DOMAINS = ("206813", "206814")
BASE = "http://127.0.0.1:8000"
OF_CONNECTIONS = {check.id for check in (*connections.checks, *uploads.checks)}


class InProcessSender(Sender):
    """Sends requests to an ASGI application without a connection, in the event loop of a runner."""

    def __init__(self, application: Any, base: str, accounts: Mapping[str, str], runner: asyncio.Runner) -> None:
        super().__init__(base, accounts)
        self._transport = httpx2.ASGITransport(application)
        self._runner = runner

    def connect(self, method: str, path: str, body: bytes = b"") -> Connection:
        raise CheckSkipped("there is no connection")

    def _exchange(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Received:
        self.limits.spend(method, path, body)
        pairs = framed(urlsplit(self.base).netloc, method, headers, len(body))
        request = httpx2.Request(method, self.base + path, headers=pairs, content=body)

        async def exchange() -> Received:
            response = await self._transport.handle_async_request(request)
            content = await response.aread()
            lines = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw)
            return Received(response.status_code, tuple(lines), content)

        return self._runner.run(exchange())


class RunResult(NamedTuple):
    results: dict[str, Result]
    requests: int
    wrong_logins: int

    def failed(self, level: str) -> set[str]:
        return {name for name, each in self.results.items() if each.outcome == "failed" and each.check.level == level}

    def unpassed(self) -> dict[str, tuple[str, str]]:
        """The checks that failed or were skipped, with their notes."""
        return {name: each[1:3] for name, each in self.results.items() if each.outcome != "passed"}

    def unpassed_without_connection(self) -> dict[str, tuple[str, str]]:
        """The same without the checks that need a connection."""
        return {name: result for name, result in self.unpassed().items() if name not in OF_CONNECTIONS}


def target_at(base: str = BASE, **changes: Any) -> Target:
    return Target(base, f"{base}/v3", DEMO, OTHER, DOMAINS)._replace(**changes)


def run_kit(
    target: Target,
    profile: str = "interface",
    *,
    only: Collection[str] = (),
    timeout: float = 120,
    application: Any = None,
    runner: asyncio.Runner | None = None,
) -> RunResult:
    """Run all checks of a profile, or only some and their prerequisites, on an application or else on the target."""
    checks = select(PROFILES["all"], only) if only else PROFILES[profile]
    accounts = dict(account for account in (target.account, target.other) if account)
    sending = (
        InProcessSender(application, target.base, accounts, runner)
        if application and runner
        else Sender(target.base, accounts, timeout=timeout)
    )
    with sending as sender:
        context = CheckContext(target, sender)
        results = {result.check.id: result for result in run_checks(checks, context)}
        context.log_out_all()
        return RunResult(results, sender.limits.requests, sender.limits.wrong_logins)


class FaultyServer(NamedTuple):
    console: FaultyConsole
    clock: FakeClock
    runner: asyncio.Runner

    def run_kit(self, fault: Fault, profile: str, *only: str, **changes: Any) -> RunResult:
        """Run checks on the console with a fault; `changes` are those of the target."""
        # Advance the clock so that failed logins are not throttled.
        self.clock.moment += 3600
        self.console.inject(fault)
        return run_kit(target_at(**changes), profile, only=only, application=self.console, runner=self.runner)


@pytest.fixture(scope="session")
def faulty_server(fast_hash_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    data = stores.copy_store(fast_hash_store, tmp_path_factory.mktemp("faulty") / "data")
    clock = FakeClock(SAMPLE_TIME)
    console = Console(Settings(data=data), clock)
    with asyncio.Runner() as runner:
        yield FaultyServer(FaultyConsole(console), clock, runner)
        runner.run(console.leave())
        console.close()
