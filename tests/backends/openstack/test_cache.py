"""Readings that many share: who waits for whom, what is kept for how long, and whose failure is whose."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from cloudconsole.backends.openstack.cache import CachedRead, SingleFlightCache
from cloudconsole.backends.openstack.client import TokenRejected
from cloudconsole.backends.openstack.cloud import OpenStackCloud
from cloudconsole.backends.openstack.config import ClientLimits
from cloudconsole.spec.errors import LoginRequired, UpstreamFailed
from tests.backends.openstack.fake_cloud import Asked, Reply
from tests.backends.openstack.recordings import HOUR, recorded
from tests.backends.openstack.small_openstack import SmallOpenStack
from tests.harness import HeldClock


class Source:
    """Readings that end when they are told to."""

    def __init__(self, clock: HeldClock | None = None, most_records: int = 100) -> None:
        self.clock = clock or HeldClock(1000)
        self.sharing = SingleFlightCache(self.clock, most_records)
        self.begun = 0
        self.go = asyncio.Event()
        self.ends: Callable[[str], str] = lambda token: f"by {token}"

    def get(self, key: str = "k", token: str = "t", seconds: float = 5) -> Coroutine[Any, Any, CachedRead[str]]:
        async def read() -> str:
            self.begun += 1
            await self.go.wait()
            return self.ends(token)

        return self.sharing.get(key, seconds, token, read, len)

    def begin(self, key: str = "k", token: str = "t") -> "asyncio.Task[CachedRead[str]]":
        return asyncio.create_task(self.get(key, token))


def in_a_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        asyncio.run(test())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@in_a_loop
async def test_those_who_ask_the_same_at_once_share_one_reading() -> None:
    source = Source()
    waiting = [source.begin(token=f"t{number}") for number in range(10)]
    await settle()
    source.go.set()
    assert {(await each).value for each in waiting} == {"by t0"}
    assert source.begun == 1


@in_a_loop
async def test_those_who_ask_for_something_else_do_not() -> None:
    source = Source()
    waiting = [source.begin("k1"), source.begin("k2")]
    await settle()
    source.go.set()
    await asyncio.gather(*waiting)
    assert source.begun == 2


@in_a_loop
async def test_a_reading_is_kept_for_its_seconds_and_not_before_it_was_made() -> None:
    source = Source()
    source.go.set()
    await source.get()
    await settle()
    for moment, is_kept in ((1000, True), (1004.9, True), (1005, False), (999.9, False)):
        source.clock.moment = moment
        assert (source.sharing.cached("k", 5) is not None) == is_kept


@in_a_loop
async def test_its_age_counts_from_its_beginning() -> None:
    source = Source()
    waiting = source.begin()
    await settle()
    source.clock.moment = 1003
    source.go.set()
    assert (await waiting).read_at == 1000


@in_a_loop
async def test_nothing_is_kept_for_no_seconds() -> None:
    source = Source()
    source.go.set()
    await source.get(seconds=0)
    await settle()
    assert source.sharing.cached("k", 0) is None
    assert source.sharing.records == 0


@in_a_loop
async def test_a_failure_is_all_waiters_and_is_not_kept() -> None:
    source = Source()

    def fail(_token: str) -> str:
        raise UpstreamFailed

    source.ends = fail
    waiting = [source.begin() for _ in range(3)]
    await settle()
    source.go.set()
    failures = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(failure) for failure in failures] == [UpstreamFailed] * 3
    source.ends = lambda _: "right"
    assert (await source.get()).value == "right"
    assert source.begun == 2


@in_a_loop
async def test_a_reading_goes_on_when_whoever_began_it_leaves() -> None:
    source = Source()
    first, second = source.begin(token="first"), source.begin(token="second")
    await settle()
    first.cancel()
    await settle()
    source.go.set()
    assert (await second).value == "by first"
    assert first.cancelled()


@in_a_loop
async def test_a_failure_that_nobody_waits_for_any_more_is_nobodys() -> None:
    """Else the loop would complain, and a complaint is an error in tests."""
    source = Source()

    def fail(_token: str) -> str:
        raise UpstreamFailed

    source.ends = fail
    left = source.begin()
    await settle()
    left.cancel()
    source.go.set()
    await settle()
    assert source.sharing.cached("k", 5) is None


@in_a_loop
async def test_who_has_another_token_than_the_refused_one_goes_on_without_it() -> None:
    source = Source()

    def refuse_some(token: str) -> str:
        if token in {"dead", "dead too"}:
            raise TokenRejected(token)
        return f"by {token}"

    source.ends = refuse_some
    waiting = [source.begin(token=token) for token in ("dead", "dead too", "good", "good too")]
    await settle()
    source.go.set()
    dead, dead_too, good, good_too = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(dead, TokenRejected)
    assert isinstance(dead_too, TokenRejected)
    assert isinstance(good, CachedRead)
    assert good.value == "by good"
    assert good_too is good
    assert source.begun == 3


@in_a_loop
async def test_the_least_recently_used_make_room() -> None:
    source = Source(most_records=len("by t") * 3)
    source.go.set()
    for key in ("a", "b", "c"):
        await source.get(key)
    assert source.sharing.cached("a", 5) is not None
    await source.get("d")
    await settle()
    assert [key for key in "abcd" if source.sharing.cached(key, 5) is not None] == ["a", "c", "d"]
    assert source.sharing.records == len("by t") * 3


@in_a_loop
async def test_a_reading_in_place_of_another_takes_no_room_besides_it() -> None:
    source = Source()
    source.go.set()
    for _ in range(3):
        await source.get("a")
        await settle()
    assert source.sharing.records == len("by t")


@in_a_loop
async def test_closing_ends_what_is_under_way() -> None:
    source = Source()
    waiting = source.begin()
    await settle()
    await source.sharing.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting


# The same on a whole cloud


def test_concurrent_calls_ask_the_cloud_once_and_later_ones_not_at_all(openstack: SmallOpenStack) -> None:
    async def use(cloud: OpenStackCloud) -> None:
        answers = await asyncio.gather(*(cloud.usage_limits(openstack.tenant()) for _ in range(30)))
        assert len({fresh.read_at for fresh in answers}) == 1
        openstack.clock.moment += 4
        assert (await cloud.usage_limits(openstack.tenant("another token"))).read_at == HOUR + 1200
        openstack.clock.moment += 1
        assert (await cloud.usage_limits(openstack.tenant())).read_at == HOUR + 1205

    openstack.run(use, ClientLimits(cache_seconds=5))
    assert len(openstack.asked("/v2.1/limits")) == 2


def test_flavors_are_kept_for_longer(openstack: SmallOpenStack) -> None:
    async def use(cloud: OpenStackCloud) -> None:
        for later in (0, 299):
            openstack.clock.moment = HOUR + later
            fresh = await cloud.flavors(openstack.tenant())
            assert (fresh.read_at, fresh.expires_at) == (HOUR, HOUR + 300)

    openstack.run(use, ClientLimits())
    assert len(openstack.asked("/flavors/detail")) == 1


@pytest.mark.parametrize("seconds", [0, 60])
def test_two_tenants_at_once_never_see_each_others(openstack: SmallOpenStack, seconds: int) -> None:
    """Of one project and of two, by one endpoint: each is told what was said to its own token."""

    def by_token(asked: Asked) -> Reply:
        cores = int(asked.headers["X-Auth-Token"])
        absolute = recorded("nova_limits")["limits"]["absolute"] | {"maxTotalCores": cores}
        return Reply(body={"limits": {"absolute": absolute}}, seconds=0.02)

    openstack.answers("north", "compute", "/limits", by_token)
    tenants = {str(cores): openstack.tenant(str(cores), user=f"user-{cores}") for cores in range(1, 9)}

    async def use(cloud: OpenStackCloud) -> None:
        for _ in range(3):
            calls = [(token, cloud.usage_limits(tenant)) for token, tenant in tenants.items() for _ in range(3)]
            for (token, _), fresh in zip(calls, await asyncio.gather(*(call for _, call in calls)), strict=True):
                assert fresh.record.max_total_cores == int(token)

    openstack.run(use, ClientLimits(cache_seconds=seconds))


@pytest.mark.parametrize("changes", [{"user": "u2"}, {"project": "p2"}])
def test_another_user_or_project_asks_for_itself(openstack: SmallOpenStack, changes: dict[str, str]) -> None:
    async def use(cloud: OpenStackCloud) -> None:
        await cloud.flavors(openstack.tenant())
        await cloud.flavors(openstack.tenant(**changes))

    openstack.run(use, ClientLimits())
    assert len(openstack.asked("/flavors/detail")) == 2


def test_a_waiter_with_another_token_outlives_the_readers_refusal(openstack: SmallOpenStack) -> None:
    def reply(asked: Asked) -> Reply:
        refused = asked.headers["X-Auth-Token"] == "dead"
        return Reply(401, seconds=0.05) if refused else Reply(body=recorded("nova_limits"))

    openstack.answers("north", "compute", "/limits", reply)

    async def use(cloud: OpenStackCloud) -> None:
        calls = [cloud.usage_limits(openstack.tenant(token)) for token in ("dead", "good")]
        dead, good = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(dead, LoginRequired)
        assert not isinstance(good, BaseException)
        assert good.record.max_total_cores == 20

    openstack.run(use)
