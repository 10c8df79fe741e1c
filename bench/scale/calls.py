"""The calls that are measured: each action and `GET /api/`, warm as one tenant, and cold as always another one."""

import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from bench.client import ANYONE, Caller, Connection, action_request, opening_request, plain_request, right_body
from bench.data import FIRST_NUMBER
from bench.figures import Refused
from bench.load import Load
from bench.parts.actions import requests_of
from bench.rounds import Variant
from bench.servers import Server
from cloudconsole.store.activity import TOUCH_SECONDS

CALLS: Final = tuple(requests_of(ANYONE))
SAMPLED: Final = 20
FRESH_SECONDS: Final = 20
"""Sessions are noted as used again a minute after the last time."""
STALE_SECONDS: Final = TOUCH_SECONDS + 30


class Callers(Protocol):
    """Whoever can call a console: those of its store or database."""

    def demo(self) -> Caller: ...
    def callers(self) -> Iterator[tuple[Caller, int]]: ...
    def callers_file(self) -> Path: ...
    def refresh_sessions(self, seconds_ago: int = 0) -> None: ...


def warm(name: str, server: Server, store: Callers) -> list[Variant]:
    """One tenant, again and again; `name` tells these variants from others of the same calls."""
    return [
        Variant(f"{call}, {name}, warm", server, Load(request, right_body(server.port, request)))
        for call, request in requests_of(store.demo()).items()
    ]


def cold(name: str, server: Server, store: Callers) -> list[Variant]:
    """Always another tenant, whose session and answer were not in use lately, by this call or another."""
    callers, file = list(store.callers()), store.callers_file()
    fresh = Freshness(store)
    variants = []
    for number, (call, request) in enumerate(cold_requests().items()):
        load = Load(request, _pattern(server.port, request, *callers[0]), file)
        before = partial(_prepare, fresh, server.port, load, callers)
        # Far apart, so that none finds in memory what another has just used.
        offset = number * len(callers) // len(cold_requests())
        variants.append(Variant(f"{call}, {name}, cold", server, load, before=before, offset=offset))
    return variants


def cold_requests() -> dict[str, bytes]:
    """Templates, which the load fills in for each caller; their lengths are right for any number of a tenant."""
    own_domain = action_request(ANYONE, "GetDomainDetail", domainId=str(FIRST_NUMBER))
    return requests_of(ANYONE) | {
        "GetDomainDetail": own_domain.replace(str(FIRST_NUMBER).encode(), b"{number}"),
        "GET /api/": opening_request(ANYONE),
    }


def logout_request(caller: Caller) -> bytes:
    return plain_request("POST", "/auth/logout/", {"Cookie": caller.cookies, "X-CSRFToken": caller.token})


def filled(template: bytes, caller: Caller, number: int) -> bytes:
    values = {"session": caller.session, "token": caller.token, "number": str(number)}
    for name, value in values.items():
        template = template.replace(b"{%s}" % name.encode(), value.encode())
    return template


class Freshness:
    """Keeps sessions as if they were in use just now."""

    def __init__(self, store: Callers, seconds: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._seconds = seconds
        self._since: float | None = None

    def lose(self) -> None:
        """As if nobody had been here for a while: each is noted as used again by its next call."""
        self._store.refresh_sessions(STALE_SECONDS)
        self._since = None

    def keep(self) -> None:
        if self._since is None or self._seconds() - self._since > FRESH_SECONDS:
            self._store.refresh_sessions()
            self._since = self._seconds()


def _pattern(port: int, template: bytes, caller: Caller, number: int) -> bytes:
    body = right_body(port, filled(template, caller, number))
    written = str(number).encode()
    if body.count(written) > 1:
        raise Refused(f"the tenant's number {number} is in its answer more than once: {body[:200]!r}")
    return body.replace(written, b"{number}")


def _prepare(fresh: Freshness, port: int, load: Load, callers: list[tuple[Caller, int]]) -> None:
    """A sample of tenants gets their own answers, byte for byte."""
    fresh.keep()
    with Connection(port) as connection:
        for caller, number in random.sample(callers, min(SAMPLED, len(callers))):
            reply = connection.send(filled(load.request, caller, number))
            if reply.status != 200 or reply.body != load.body.replace(b"{number}", str(number).encode()):
                raise Refused(f"a wrong answer for tenant {number}: {reply.status} {reply.body[:200]!r}")
