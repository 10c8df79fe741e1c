"""The measured requests: each action and `GET /api/`, as cache hits of one tenant and as cache misses of many."""

import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from bench.datasets import FIRST_TENANT_NUMBER
from bench.measurements import InvalidRun
from bench.parts.actions import requests_for
from bench.raw_http import (
    PLACEHOLDER_COOKIES,
    Connection,
    SessionCookies,
    action_request,
    build_request,
    expected_body,
    get_api_request,
)
from bench.rounds import Variant
from bench.servers import Server
from bench.wrk import Workload
from cloudconsole.store.activity_writes import TOUCH_SECONDS

REQUESTS: Final = tuple(requests_for(PLACEHOLDER_COOKIES))
HIT: Final = "cache hit"
MISS: Final = "cache miss"
SAMPLED: Final = 20
FRESH_SECONDS: Final = 20
"""Shorter than the interval after which the console writes the last use of a session again."""
STALE_SECONDS: Final = TOUCH_SECONDS + 30


class Dataset(Protocol):
    """A dataset on SQLite or PostgreSQL."""

    def demo_cookies(self) -> SessionCookies: ...
    def tenant_cookies(self) -> Iterator[tuple[SessionCookies, int]]: ...
    def cookies_file(self) -> Path: ...
    def touch_sessions(self, seconds_ago: int = 0) -> None: ...


def cache_hits(label: str, server: Server, dataset: Dataset) -> list[Variant]:
    """Repeat the requests of one tenant; `label` distinguishes the variants from those of other consoles."""
    return [
        Variant(f"{name}, {label}, {HIT}", server, Workload(request, expected_body(server.port, request)))
        for name, request in requests_for(dataset.demo_cookies()).items()
    ]


def cache_misses(label: str, server: Server, dataset: Dataset) -> list[Variant]:
    """Use another tenant for every request, whose session and response are not in any cache."""
    tenants, file = list(dataset.tenant_cookies()), dataset.cookies_file()
    freshness = SessionFreshness(dataset)
    variants = []
    for number, (name, request) in enumerate(cache_miss_requests().items()):
        workload = Workload(request, _pattern(server.port, request, *tenants[0]), file)
        prepare = partial(_prepare, freshness, server.port, workload, tenants)
        # Distant offsets: no request hits what another one has just cached.
        offset = number * len(tenants) // len(cache_miss_requests())
        variants.append(Variant(f"{name}, {label}, {MISS}", server, workload, prepare=prepare, offset=offset))
    return variants


def cache_miss_requests() -> dict[str, bytes]:
    """Return templates to fill in for each tenant; all tenant numbers have the same length."""
    own_domain = action_request(PLACEHOLDER_COOKIES, "GetDomainDetail", domainId=str(FIRST_TENANT_NUMBER))
    return requests_for(PLACEHOLDER_COOKIES) | {
        "GetDomainDetail": own_domain.replace(str(FIRST_TENANT_NUMBER).encode(), b"{number}"),
        "GET /api/": get_api_request(PLACEHOLDER_COOKIES),
    }


def logout_request(cookies: SessionCookies) -> bytes:
    return build_request("POST", "/auth/logout/", {"Cookie": cookies.header, "X-CSRFToken": cookies.csrf_token})


def fill_template(template: bytes, cookies: SessionCookies, number: int) -> bytes:
    values = {"session": cookies.session_id, "token": cookies.csrf_token, "number": str(number)}
    for name, value in values.items():
        template = template.replace(b"{%s}" % name.encode(), value.encode())
    return template


class SessionFreshness:
    """Keeps the last use of sessions recent, so that requests do not write it."""

    def __init__(self, dataset: Dataset, clock: Callable[[], float] = time.monotonic) -> None:
        self._dataset = dataset
        self._clock = clock
        self._refreshed_at: float | None = None

    def expire(self) -> None:
        """Make the last use old, so that the next request of each session writes it."""
        self._dataset.touch_sessions(STALE_SECONDS)
        self._refreshed_at = None

    def refresh(self) -> None:
        if self._refreshed_at is None or self._clock() - self._refreshed_at > FRESH_SECONDS:
            self._dataset.touch_sessions()
            self._refreshed_at = self._clock()


def _pattern(port: int, template: bytes, cookies: SessionCookies, number: int) -> bytes:
    body = expected_body(port, fill_template(template, cookies, number))
    text = str(number).encode()
    if body.count(text) > 1:
        raise InvalidRun(f"the tenant number {number} occurs more than once in the response: {body[:200]!r}")
    return body.replace(text, b"{number}")


def _prepare(
    freshness: SessionFreshness, port: int, workload: Workload, tenants: list[tuple[SessionCookies, int]]
) -> None:
    """Refresh the sessions and verify the responses of a sample of tenants."""
    freshness.refresh()
    with Connection(port) as connection:
        for cookies, number in random.sample(tenants, min(SAMPLED, len(tenants))):
            response = connection.send(fill_template(workload.request, cookies, number))
            if response.status != 200 or response.body != workload.body.replace(b"{number}", str(number).encode()):
                raise InvalidRun(f"wrong response for tenant {number}: {response.status} {response.body[:200]!r}")
