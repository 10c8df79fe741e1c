"""Cached responses are reused only while neither data nor time can have changed them."""

import asyncio
import json
import math
from typing import Any

import pytest

from cloudconsole.core.ports import CacheableResult, CloudCredentials, Tenant
from cloudconsole.server.actions import HANDLERS, ActionRunner, Handler, Ports
from cloudconsole.server.metrics.shared_memory import standalone_metrics
from cloudconsole.server.response_cache import ENTRY_OVERHEAD, ResponseCache
from cloudconsole.spec import envelope
from cloudconsole.spec.actions import GET_NEWS, GET_URL_LIST
from cloudconsole.spec.errors import DomainNotFound
from cloudconsole.spec.i18n import Language
from tests.harness import FakeClock

ACME, RIVAL = Tenant(1, "acme"), Tenant(2, "rival")


class FakeChangeFeed:
    """A fake change feed with changes of single tenants and of all."""

    is_stale = False

    def __init__(self) -> None:
        self.latest = 1
        self._all_version = 1
        self._tenant_versions: dict[int, int] = {}

    def change(self, tenant: Tenant | None = None) -> None:
        self.latest += 1
        if tenant is None:
            self._all_version = self.latest
        else:
            self._tenant_versions[tenant.id] = self.latest

    async def poll(self) -> None:
        raise AssertionError("requests poll before they use the cache")

    def tenant_version(self, tenant_id: int) -> int:
        return max(self._all_version, self._tenant_versions.get(tenant_id, 0))

    def session_version(self, id_hash: bytes) -> int:
        raise AssertionError("no cached response depends on a session")


class Source:
    """A cloud with a change feed, and an action on it that counts its reads."""

    def __init__(self) -> None:
        self.changes = FakeChangeFeed()
        self.reads: list[tuple[int, tuple[str, ...]]] = []
        self.expires_at = math.inf
        self.size = 0
        self.fails = False
        self.changes_during_read = False

    async def read(self, _ports: Ports, tenant: Tenant, *parameters: str) -> CacheableResult[str]:
        self.reads.append((tenant.id, parameters))
        if self.fails:
            raise DomainNotFound
        if self.changes_during_read:
            self.changes.change()
        return CacheableResult(
            f"{len(self.reads)} for {tenant.username} {' '.join(parameters)}".ljust(self.size), self.expires_at
        )


class CachedSource:
    """A response cache for a source."""

    def __init__(self, max_bytes: int = 1_000_000) -> None:
        self.source = Source()
        self.clock = FakeClock(100)
        cloud: Any = self.source
        self.cache = ResponseCache(self.source.changes, self.clock, standalone_metrics(), max_bytes)
        self.runner = ActionRunner(Ports(cloud, cloud), self.cache, self.clock)
        self.per_tenant = Handler(GET_URL_LIST, self.source.read, HANDLERS["GetUrlList"].cache_scope)
        self.shared = Handler(GET_NEWS, self.source.read, HANDLERS["GetNews"].cache_scope)

    def get(self, *parameters: str, tenant: Tenant = ACME, handler: Handler | None = None) -> str:
        return str(json.loads(self.body(*parameters, tenant=tenant, handler=handler))["data"]).strip()

    def body(
        self, *parameters: str, tenant: Tenant = ACME, handler: Handler | None = None, language: Language = "en"
    ) -> bytes:
        return asyncio.run(self.runner.run(handler or self.per_tenant, tenant, parameters, language)).body

    @property
    def read_count(self) -> int:
        return len(self.source.reads)


@pytest.fixture
def cached() -> CachedSource:
    return CachedSource()


def test_response_is_reused_while_nothing_changes(cached: CachedSource) -> None:
    assert {cached.get() for _ in range(5)} == {"1 for acme"}
    assert cached.read_count == 1


def test_cached_response_is_an_envelope(cached: CachedSource) -> None:
    assert cached.body() == b'{"message":"URLs.","code":200,"data":"1 for acme "}'


def test_each_language_is_cached_separately(cached: CachedSource) -> None:
    messages = [json.loads(cached.body(language=language))["message"] for language in ("en", "zh", "en")]
    assert messages == ["URLs.", "获取URL列表成功", "URLs."]
    assert cached.read_count == 2


def test_change_invalidates_a_response(cached: CachedSource) -> None:
    before = cached.get()
    cached.source.changes.change()
    assert (before, cached.get(), cached.get()) == ("1 for acme", "2 for acme", "2 for acme")


def test_change_of_another_tenant_invalidates_nothing(cached: CachedSource) -> None:
    cached.get()
    cached.source.changes.change(RIVAL)
    assert cached.get() == "1 for acme"
    cached.source.changes.change(ACME)
    assert cached.get() == "2 for acme"


def test_change_during_a_read_makes_it_stale(cached: CachedSource) -> None:
    cached.source.changes_during_read = True
    cached.get()
    cached.source.changes_during_read = False
    assert cached.get() == "2 for acme"


@pytest.mark.parametrize(("now", "expected"), [(149.999, "1 for acme"), (150, "2 for acme"), (151, "2 for acme")])
def test_response_is_reused_until_it_expires(cached: CachedSource, now: float, expected: str) -> None:
    cached.source.expires_at = 150
    cached.get()
    cached.clock.moment = now
    assert cached.get() == expected


def test_response_is_not_reused_after_the_clock_is_set_back(cached: CachedSource) -> None:
    cached.get()
    cached.clock.moment -= 1
    assert cached.get() == "2 for acme"


def test_response_that_expires_at_once_is_not_reused(cached: CachedSource) -> None:
    cached.source.expires_at = 100
    assert (cached.get(), cached.get()) == ("1 for acme", "2 for acme")


def test_tenants_are_never_mixed(cached: CachedSource) -> None:
    results = [cached.get(tenant=tenant) for tenant in (ACME, RIVAL, ACME, RIVAL)]
    assert results == ["1 for acme", "2 for rival", "1 for acme", "2 for rival"]


def test_parameters_are_never_mixed(cached: CachedSource) -> None:
    results = [cached.get(*parameters) for parameters in (("a",), ("b",), ("a", "b"), ("a",))]
    assert results == ["1 for acme a", "2 for acme b", "3 for acme a b", "1 for acme a"]


def test_actions_are_never_mixed(cached: CachedSource) -> None:
    results = [cached.get(handler=handler) for handler in (cached.per_tenant, cached.shared, cached.per_tenant)]
    assert results == ["1 for acme", "2 for acme", "1 for acme"]


def test_shared_response_is_cached_once(cached: CachedSource) -> None:
    for tenant in (ACME, RIVAL):
        cached.get(tenant=tenant, handler=cached.shared)
    assert cached.read_count == 1


def cache_scopes(tenant: Tenant) -> dict[str, int | str | None]:
    return {name: handler.cache_scope(tenant) for name, handler in HANDLERS.items()}


def test_only_flavors_and_news_are_shared() -> None:
    assert {name for name, scope in cache_scopes(ACME).items() if scope is None} == {"GetFlavors", "GetNews"}


def test_cloud_data_is_cached_per_user_and_the_rest_per_tenant() -> None:
    access = CloudCredentials("https://identity.example", "user", "project", {"north": {}, "east": {}}, b"")
    scope = "https://identity.example user project east north"
    assert cache_scopes(Tenant(7, "alice", access)) == {
        "GetUsageLimits": scope,
        "GetFlavors": scope,
        "GetConsumptionsEstimated": scope,
        "GetUrlList": 7,
        "GetDomainDetail": 7,
        "GetNews": None,
    }


def test_error_is_not_cached(cached: CachedSource) -> None:
    cached.source.fails = True
    for _ in range(2):
        with pytest.raises(DomainNotFound):
            cached.get()
    cached.source.fails = False
    assert cached.get() == "3 for acme"


def test_error_does_not_fall_back_to_an_older_response(cached: CachedSource) -> None:
    cached.get()
    cached.source.fails = True
    cached.source.changes.change()
    with pytest.raises(DomainNotFound):
        cached.get()


# Memory


def _with_capacity(count: int) -> CachedSource:
    """Return a cache for this number of responses of equal size."""
    cached = CachedSource(count * (1000 + ENTRY_OVERHEAD))
    cached.source.size = 1000 - len(envelope.success(GET_URL_LIST.success, "en", b'""'))
    return cached


def test_cache_is_used_up_to_its_capacity() -> None:
    cached = _with_capacity(3)
    for name in "abcabc":
        cached.get(name)
    assert cached.read_count == 3


def test_least_recently_used_entry_is_evicted() -> None:
    cached = _with_capacity(3)
    for name in ("a", "b", "c", "a", "d"):
        cached.get(name)
    reads = cached.read_count
    for name in ("a", "c", "d"):
        cached.get(name)
    assert cached.read_count == reads
    cached.get("b")
    assert cached.read_count == reads + 1


def test_response_too_large_to_cache_is_still_served() -> None:
    cached = _with_capacity(3)
    cached.source.size = 100_000
    assert (cached.get("a"), cached.get("a")) == ("1 for acme a", "2 for acme a")


def test_renewing_one_entry_evicts_no_other() -> None:
    cached = _with_capacity(3)
    cached.get("stays")
    cached.source.expires_at = 0
    for _ in range(20):
        cached.get("renewed")
    reads = cached.read_count
    cached.get("stays")
    assert cached.read_count == reads


def test_number_of_small_entries_is_bounded() -> None:
    cached = CachedSource(100_000)
    for number in range(2000):
        cached.get(str(number))
    reads = cached.read_count
    for number in range(2000):
        cached.get(str(number))
    assert cached.read_count == reads + 2000
