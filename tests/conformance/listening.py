"""Applications of the tests' own on a real socket, and the kit run against them."""

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
def listening(application: Any, lifespan: Literal["on", "off"] = "off", http: HttpServer = "h11") -> Iterator[str]:
    """An ASGI application on a free port, in a thread of its own; gives its address."""
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


class Seen(NamedTuple):
    results: dict[str, Result]
    requests: int
    wrong_logins: int

    def failed(self, level: str) -> set[str]:
        return {name for name, each in self.results.items() if each.outcome == "failed" and each.check.level == level}

    def skipped(self) -> set[str]:
        return {name for name, each in self.results.items() if each.outcome == "skipped"}


def subject_at(base: str, **changes: Any) -> Target:
    return Target(base, f"{base}/v3", DEMO, OTHER, DOMAINS)._replace(**changes)


def examine(subject: Target, profile: str = "interface", timeout: float = 10, only: Collection[str] = ()) -> Seen:
    """All checks of a profile, or only some and those that they build on."""
    checks = tuple(_up_to(only)) if only else PROFILES[profile]
    accounts = dict(account for account in (subject.account, subject.other) if account)
    with Sender(subject.base, accounts, timeout=timeout) as sender:
        examination = CheckContext(subject, sender)
        results = {result.check.id: result for result in run_checks(checks, examination)}
        examination.log_out_all()
        return Seen(results, sender.limits.requests, sender.limits.wrong_logins)


def _up_to(names: Collection[str]) -> Iterator[Check]:
    wanted = set(names)
    for check in reversed(PROFILES["all"]):
        wanted |= set(check.needs) if check.id in wanted else set()
    yield from (check for check in PROFILES["all"] if check.id in wanted)
