"""Serve test applications on a real socket and run the conformance kit against them."""

import socket
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import uvicorn

from cloudconsole.conformance.checks import Check
from cloudconsole.conformance.client import Account, Sender, Target
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.runner import PROFILES, Result, run_checks

HttpServer = Literal["h11", "httptools"]

DEMO, OTHER = Account("demo", "console-demo"), Account("other", "console-other")
DOMAINS = ("206813", "206814")


@contextmanager
def serving(application: Any, lifespan: Literal["on", "off"] = "off", http: HttpServer = "h11") -> Iterator[str]:
    """Serve an ASGI application on a free port in a thread; yield its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(application, lifespan=lifespan, log_config=None, ws="none", http=http)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=30)


class RunResult(NamedTuple):
    results: dict[str, Result]
    requests: int
    wrong_logins: int

    def failed(self, level: str) -> set[str]:
        return {name for name, each in self.results.items() if each.outcome == "failed" and each.check.level == level}

    def skipped(self) -> set[str]:
        return {name for name, each in self.results.items() if each.outcome == "skipped"}


def target_at(base: str, **changes: Any) -> Target:
    return Target(base, f"{base}/v3", DEMO, OTHER, DOMAINS)._replace(**changes)


def run_kit(target: Target, profile: str = "interface", timeout: float = 10, only: Collection[str] = ()) -> RunResult:
    """Run all checks of a profile, or only some and their prerequisites."""
    checks = tuple(_with_prerequisites(only)) if only else PROFILES[profile]
    accounts = dict(account for account in (target.account, target.other) if account)
    with Sender(target.base, accounts, timeout=timeout) as sender:
        context = CheckContext(target, sender)
        results = {result.check.id: result for result in run_checks(checks, context)}
        context.log_out_all()
        return RunResult(results, sender.limits.requests, sender.limits.wrong_logins)


def _with_prerequisites(names: Collection[str]) -> Iterator[Check]:
    selected = set(names)
    for check in reversed(PROFILES["all"]):
        selected |= set(check.needs) if check.id in selected else set()
    yield from (check for check in PROFILES["all"] if check.id in selected)
