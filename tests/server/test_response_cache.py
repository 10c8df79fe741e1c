"""Cached responses are reused only while neither data nor time can have changed them."""

import asyncio
import json
import math
from typing import Any

import pytest

from cloudconsole.core.ports import CacheableResult, CloudCredentials, Ports, Tenant
from cloudconsole.server.actions import BYTES_IN_MEMORY, HANDLERS, MAX_KEY_BYTES, ActionRunner, Handler
from cloudconsole.server.metrics.shared_memory import standalone_metrics
from cloudconsole.server.response_cache import ENTRY_OVERHEAD, ResponseCache
from cloudconsole.spec import envelope
from cloudconsole.spec.actions import GET_NEWS, GET_URL_LIST
from cloudconsole.spec.errors import DomainNotFound
from cloudconsole.spec.i18n import Language
from tests.harness import FakeClock

ACME, RIVAL = Tenant(1, "acme"), Tenant(2, "rival")


class FakeChangeFeed:
    """A fake change feed with changes of single tenants and of all; requests poll before they use the cache."""

    def __init__(self) -> None:
        self.latest = 1
        self._versions: dict[int | None, int] = {None: 1}

    def change(self, tenant: Tenant | None = None) -> None:
        self.latest += 1
        self._versions[None if tenant is None else tenant.id] = self.latest

    def tenant_version(self, tenant_id: int) -> int:
        return max(self._versions[None], self._versions.get(tenant_id, 0))


class CachedSource:
    """A response cache for an action that counts its reads, on a cloud with a change feed."""

    def __init__(self, max_bytes: int = 1_000_000) -> None:
        self.changes = FakeChangeFeed()
        self.read_count = 0
        self.expires_at = math.inf
        self.size = 0
        self.fails = self.changes_during_read = False
        self.clock = FakeClock(100)
        cloud: Any = self
        changes: Any = self.changes
        cache = ResponseCache(changes, self.clock, standalone_metrics(), max_bytes)
        self.runner = ActionRunner(Ports(cloud, cloud, cloud, cloud, self.clock), cache)
        self._per_tenant = Handler(GET_URL_LIST, self._read, HANDLERS["GetUrlList"].cache_scope)
        self._shared = Handler(GET_NEWS, self._read, HANDLERS["GetNews"].cache_scope)

    async def _read(self, _ports: Ports, tenant: Tenant, parameters: Any) -> CacheableResult[str]:
        self.read_count += 1
        if self.fails:
            raise DomainNotFound
        if self.changes_during_read:
            self.changes.change()
        text = f"{self.read_count} for {tenant.username} {' '.join(parameters)}"
        return CacheableResult(text.ljust(self.size), self.expires_at)

    def get(self, *parameters: str, tenant: Tenant = ACME, shared: bool = False) -> str:
        return str(json.loads(self.body(*parameters, tenant=tenant, shared=shared))["data"]).strip()

    def body(self, *parameters: str, tenant: Tenant = ACME, shared: bool = False, language: Language = "en") -> bytes:
        sent: Any = parameters
        call = (self._shared if shared else self._per_tenant, tenant, sent, language)
        return (self.runner.cached(*call) or asyncio.run(self.runner.run(*call))).body


@pytest.fixture
def cached() -> CachedSource:
    return CachedSource()


def test_each_language_is_cached_separately(cached: CachedSource) -> None:
    messages = [json.loads(cached.body(language=language))["message"] for language in ("en", "zh", "en")]
    assert messages == ["URLs.", "获取URL列表成功", "URLs."]
    assert cached.read_count == 2


def test_only_a_change_of_the_tenant_or_of_all_invalidates_a_response(cached: CachedSource) -> None:
    results = []
    for changed in (ACME, RIVAL, None, RIVAL):
        results.append(cached.get())
        cached.changes.change(changed)
    assert [*results, cached.get()] == [f"{number} for acme" for number in (1, 2, 2, 3, 3)]


def test_change_during_a_read_makes_it_stale(cached: CachedSource) -> None:
    cached.changes_during_read = True
    cached.get()
    cached.changes_during_read = False
    assert cached.get() == "2 for acme"


@pytest.mark.parametrize(
    ("expires_at", "now", "is_reused"),
    [(150, 149.999, True), (150, 150, False), (100, 100, False), (math.inf, 100, True), (math.inf, 99.999, False)],
    ids=["valid", "expired", "expired at once", "same time", "clock set back"],
)
def test_response_is_reused_from_its_creation_until_it_expires(
    cached: CachedSource, expires_at: float, now: float, is_reused: bool
) -> None:
    cached.expires_at = expires_at
    cached.get()
    cached.clock.moment = now
    assert cached.get() == ("1 for acme" if is_reused else "2 for acme")


@pytest.mark.parametrize(
    ("calls", "reads"),
    [
        pytest.param([((), ACME, False), ((), RIVAL, False), ((), ACME, False)], 2, id="tenants"),
        pytest.param([(("a",), ACME, False), (("b",), ACME, False), (("a", "b"), ACME, False)], 3, id="parameters"),
        pytest.param([((), ACME, False), ((), ACME, True), ((), ACME, False)], 2, id="actions"),
        pytest.param([((), ACME, True), ((), RIVAL, True)], 1, id="shared by tenants"),
    ],
)
def test_only_equal_calls_share_a_response(
    cached: CachedSource, calls: list[tuple[tuple[str, ...], Tenant, bool]], reads: int
) -> None:
    first = {call: cached.get(*call[0], tenant=call[1], shared=call[2]) for call in calls}
    assert [cached.get(*call[0], tenant=call[1], shared=call[2]) for call in calls] == [first[call] for call in calls]
    assert cached.read_count == reads


def cache_scopes(tenant: Tenant) -> dict[str, int | str | None]:
    return {name: handler.cache_scope(tenant) for name, handler in HANDLERS.items()}


def test_only_flavors_and_news_are_shared_by_tenants_of_the_store() -> None:
    assert {name for name, scope in cache_scopes(ACME).items() if scope is None} == {"GetFlavors", "GetNews"}
    assert {scope for scope in cache_scopes(ACME).values() if scope is not None} == {ACME.id}


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


def test_error_is_neither_cached_nor_replaced_by_an_older_response(cached: CachedSource) -> None:
    cached.get()
    cached.fails = True
    cached.changes.change()
    for _ in range(2):
        with pytest.raises(DomainNotFound):
            cached.get()
    cached.fails = False
    assert cached.get() == "4 for acme"


def _with_capacity(count: int) -> CachedSource:
    """Return a cache for this number of responses of equal size to requests with one letter."""
    cached = CachedSource(count * (1000 + ENTRY_OVERHEAD + len('["a"]') * BYTES_IN_MEMORY))
    cached.size = 1000 - len(envelope.success(GET_URL_LIST.success, "en", b'""'))
    return cached


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
    cached.size = 100_000
    assert (cached.get("a"), cached.get("a")) == ("1 for acme a", "2 for acme a")


def test_renewing_one_entry_evicts_no_other() -> None:
    cached = _with_capacity(3)
    cached.get("stays")
    cached.expires_at = 0
    for _ in range(20):
        cached.get("renewed")
    reads = cached.read_count
    cached.get("stays")
    assert cached.read_count == reads


def test_large_parameters_are_no_key(cached: CachedSource) -> None:
    longest = MAX_KEY_BYTES // BYTES_IN_MEMORY - len('[""]')
    for length, reads in ((longest, 1), (longest + 1, 2)):
        before = cached.read_count
        cached.get("x" * length)
        cached.get("x" * length)
        assert cached.read_count - before == reads


def test_number_of_small_entries_is_bounded() -> None:
    cached = CachedSource(20_000)
    for _ in range(2):
        for number in range(100):
            cached.get(str(number))
    assert cached.read_count == 200
