"""Single-flight cache: shared reads, expiry, eviction and failures."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from cloudconsole.backends.openstack.cache import CachedRead, SingleFlightCache
from cloudconsole.backends.openstack.client import TokenRejected
from cloudconsole.backends.openstack.cloud import OpenStackCloud
from cloudconsole.spec.errors import UpstreamFailed
from tests.backends.openstack.fake_cloud import WAIT_SECONDS, RecordedRequest, Reply, client_limits
from tests.backends.openstack.small_openstack import HOUR, SmallOpenStack
from tests.harness import FakeClock


class ReadSource:
    """Starts reads that end when `release` is set."""

    def __init__(self, clock: FakeClock | None = None, max_records: int = 100) -> None:
        self.clock = clock or FakeClock(1000)
        self.cache = SingleFlightCache(self.clock, max_records)
        self.reads_started = 0
        self.release = asyncio.Event()
        self.result_for: Callable[[str], str] = lambda token: f"by {token}"

    def get(self, key: str = "k", token: str = "t", seconds: float = 5) -> Coroutine[Any, Any, CachedRead[str]]:
        async def read() -> str:
            self.reads_started += 1
            await self.release.wait()
            return self.result_for(token)

        return self.cache.get(key, seconds, token, read, len)

    def start(self, key: str = "k", token: str = "t") -> "asyncio.Task[CachedRead[str]]":
        return asyncio.create_task(self.get(key, token))


def fail(_token: str) -> str:
    raise UpstreamFailed


def run_async(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        asyncio.run(test())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


async def run_pending_tasks() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@run_async
async def test_concurrent_requests_for_one_key_share_a_read() -> None:
    source = ReadSource()
    waiting = [source.start(token=f"t{number}") for number in range(10)]
    other = source.start("another key")
    await run_pending_tasks()
    source.release.set()
    assert {(await each).value for each in waiting} == {"by t0"}
    assert (await other).value == "by t"
    assert source.reads_started == 2


@run_async
async def test_read_is_cached_only_for_its_lifetime_from_its_start() -> None:
    source = ReadSource()
    waiting = source.start()
    await run_pending_tasks()
    source.clock.moment = 1003
    source.release.set()
    assert (await waiting).read_at == 1000
    await run_pending_tasks()
    for moment, is_cached in ((1000, True), (1004.9, True), (1005, False), (999.9, False)):
        source.clock.moment = moment
        assert (source.cache.cached("k", 5) is not None) == is_cached


@run_async
async def test_zero_lifetime_caches_nothing() -> None:
    source = ReadSource()
    source.release.set()
    await source.get(seconds=0)
    await run_pending_tasks()
    assert source.cache.cached("k", 0) is None
    assert source.cache.records == 0


@run_async
async def test_failure_reaches_all_waiters_and_is_not_cached() -> None:
    source = ReadSource()
    source.result_for = fail
    waiting = [source.start() for _ in range(3)]
    await run_pending_tasks()
    source.release.set()
    failures = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(failure) for failure in failures] == [UpstreamFailed] * 3
    source.result_for = lambda _: "right"
    assert (await source.get()).value == "right"
    assert source.reads_started == 2


@run_async
async def test_read_continues_when_its_first_waiter_is_cancelled() -> None:
    source = ReadSource()
    first, second = source.start(token="first"), source.start(token="second")
    await run_pending_tasks()
    first.cancel()
    await run_pending_tasks()
    source.release.set()
    assert (await second).value == "by first"
    assert first.cancelled()


@run_async
async def test_failure_without_waiters_is_ignored() -> None:
    """Otherwise the event loop would report it, which is an error in tests."""
    source = ReadSource()
    source.result_for = fail
    waiting = source.start()
    await run_pending_tasks()
    waiting.cancel()
    source.release.set()
    await run_pending_tasks()
    assert source.cache.cached("k", 5) is None


@run_async
async def test_waiter_with_another_token_retries_after_a_rejection() -> None:
    source = ReadSource()

    def reject_some(token: str) -> str:
        if token.startswith("dead"):
            raise TokenRejected(token)
        return f"by {token}"

    source.result_for = reject_some
    waiting = [source.start(token=token) for token in ("dead", "dead too", "good", "good too")]
    await run_pending_tasks()
    source.release.set()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    found = [each.value if isinstance(each, CachedRead) else type(each) for each in results]
    assert found == [TokenRejected, TokenRejected, "by good", "by good"]
    assert source.reads_started == 3


@run_async
async def test_least_recently_used_entries_are_evicted() -> None:
    source = ReadSource(max_records=len("by t") * 3)
    source.release.set()
    for key in ("a", "b", "c"):
        await source.get(key)
    assert source.cache.cached("a", 5) is not None
    await source.get("d")
    await run_pending_tasks()
    assert [key for key in "abcd" if source.cache.cached(key, 5) is not None] == ["a", "c", "d"]
    assert source.cache.records == len("by t") * 3


@run_async
async def test_replaced_entry_is_not_counted_twice() -> None:
    source = ReadSource()
    source.release.set()
    for _ in range(3):
        await source.get("a")
        await run_pending_tasks()
    assert source.cache.records == len("by t")


@run_async
async def test_close_cancels_reads_in_flight() -> None:
    source = ReadSource()
    waiting = source.start()
    await run_pending_tasks()
    await source.cache.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting


# The cache of a whole cloud


def test_concurrent_and_later_requests_share_a_cloud_read(openstack: SmallOpenStack) -> None:
    async def use(cloud: OpenStackCloud) -> None:
        results = await asyncio.gather(*(cloud.usage_limits(openstack.tenant()) for _ in range(30)))
        assert len({result.read_at for result in results}) == 1
        openstack.clock.moment += 4
        assert (await cloud.usage_limits(openstack.tenant("another token"))).read_at == HOUR + 1200
        openstack.clock.moment += 1
        renewed = await cloud.usage_limits(openstack.tenant())
        assert (renewed.read_at, renewed.expires_at) == (HOUR + 1205, HOUR + 1210)

    openstack.run(use, client_limits())
    assert len(openstack.requests_to("/v2.1/limits")) == 2


def test_flavors_are_cached_longer(openstack: SmallOpenStack) -> None:
    async def use(cloud: OpenStackCloud) -> None:
        for later in (0, 299):
            openstack.clock.moment = HOUR + later
            result = await cloud.flavors(openstack.tenant())
            assert (result.read_at, result.expires_at) == (HOUR, HOUR + 300)

    openstack.run(use, client_limits())
    assert len(openstack.requests_to("/flavors/detail")) == 1


@pytest.mark.parametrize("seconds", [0, 60])
def test_concurrent_users_and_projects_never_see_each_others_data(openstack: SmallOpenStack, seconds: int) -> None:
    """Each gets the response to its own token."""
    all_arrived = threading.Barrier(8, timeout=WAIT_SECONDS)

    def by_token(request: RecordedRequest) -> Reply:
        all_arrived.wait()
        flavor = {"id": request.headers["X-Auth-Token"], "name": "f", "vcpus": 1, "ram": 1, "disk": 1}
        return Reply(body={"flavors": [flavor]})

    openstack.respond("north", "compute", "/flavors/detail", by_token)
    users = {f"token-{number}": {"user": f"user-{number}"} for number in range(4)}
    projects = {f"token-{number}": {"project": f"project-{number}"} for number in range(4, 8)}
    tenants = [(token, openstack.tenant(token, **own)) for token, own in (users | projects).items()] * 3

    async def use(cloud: OpenStackCloud) -> None:
        for _ in range(3):
            results = await asyncio.gather(*(cloud.flavors(tenant) for _, tenant in tenants))
            assert [result.record.flavors[0].id for result in results] == [token for token, _ in tenants]

    openstack.run(use, client_limits(flavor_seconds=seconds))
