"""Run the conformance kit against test applications, in this process or on a real socket."""

import asyncio
import socket
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx2
import uvicorn

from cloudconsole.conformance.checks import Check
from cloudconsole.conformance.client import Account, Sender, Target
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.runner import PROFILES, Result, run_checks

DEMO, OTHER = Account("demo", "console-demo"), Account("other", "console-other")
DOMAINS = ("206813", "206814")
BASE = "http://127.0.0.1:8000"


@contextmanager
def serving(application: Any) -> Iterator[str]:
    """Serve an ASGI application on a free port in a thread; yield its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(application, lifespan="off", log_config=None, ws="none", http="h11")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


class InProcessSender(Sender):
    """Sends requests to an ASGI application without a socket; an application may be bound to a runner's event loop."""

    def __init__(self, application: Any, base: str, accounts: Mapping[str, str], runner: asyncio.Runner | None) -> None:
        super().__init__(base, accounts)
        self._transport = httpx2.ASGITransport(application)  # type: ignore[assignment]
        self._is_shared = runner is not None
        self._runner = runner or self._runner

    def __exit__(self, *error: object) -> None:
        if not self._is_shared:
            super().__exit__(*error)


class RunResult(NamedTuple):
    results: dict[str, Result]
    requests: int
    wrong_logins: int

    def failed(self, level: str) -> set[str]:
        return {name for name, each in self.results.items() if each.outcome == "failed" and each.check.level == level}

    def unpassed(self) -> dict[str, tuple[str, str]]:
        """The checks that failed or were skipped, with their notes."""
        return {name: each[1:3] for name, each in self.results.items() if each.outcome != "passed"}

    def skipped(self) -> set[str]:
        return {name for name, each in self.results.items() if each.outcome == "skipped"}


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
    checks = tuple(_with_prerequisites(only)) if only else PROFILES[profile]
    accounts = dict(account for account in (target.account, target.other) if account)
    sending = (
        InProcessSender(application, target.base, accounts, runner)
        if application
        else Sender(target.base, accounts, timeout=timeout)
    )
    with sending as sender:
        context = CheckContext(target, sender)
        results = {result.check.id: result for result in run_checks(checks, context)}
        context.log_out_all()
        return RunResult(results, sender.limits.requests, sender.limits.wrong_logins)


def _with_prerequisites(names: Collection[str]) -> Iterator[Check]:
    selected = set(names)
    for check in reversed(PROFILES["all"]):
        selected |= set(check.needs) if check.id in selected else set()
    yield from (check for check in PROFILES["all"] if check.id in selected)
