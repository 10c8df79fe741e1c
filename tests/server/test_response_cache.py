"""Prepared payloads are handed out again only while neither data nor time can have changed them."""

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
from tests.harness import HeldClock

ACME, RIVAL = Tenant(1, "acme"), Tenant(2, "rival")


class Learnt:
    """What the calls of a test have learnt of changes, of single tenants and of all."""

    is_stale = False

    def __init__(self) -> None:
        self.latest = 1
        self._of_all = 1
        self._of_tenant: dict[int, int] = {}

    def change(self, tenant: Tenant | None = None) -> None:
        self.latest += 1
        if tenant is None:
            self._of_all = self.latest
        else:
            self._of_tenant[tenant.id] = self.latest

    async def poll(self) -> None:
        raise AssertionError("a call has looked before it asks for a payload")

    def tenant_version(self, tenant_id: int) -> int:
        return max(self._of_all, self._of_tenant.get(tenant_id, 0))

    def session_version(self, id_hash: bytes) -> int:
        raise AssertionError("no payload hangs on a session")


class Source:
    """A cloud of which changes become known, and an action over it that counts how often it is asked."""

    def __init__(self) -> None:
        self.changes = Learnt()
        self.asked: list[tuple[int, tuple[str, ...]]] = []
        self.until = math.inf
        self.size = 0
        self.refuse = False
        self.changes_meanwhile = False

    async def answer(self, _ports: Ports, tenant: Tenant, *parameters: str) -> CacheableResult[str]:
        self.asked.append((tenant.id, parameters))
        if self.refuse:
            raise DomainNotFound
        if self.changes_meanwhile:
            self.changes.change()
        return CacheableResult(
            f"{len(self.asked)} for {tenant.username} {' '.join(parameters)}".ljust(self.size), self.until
        )


class Kept:
    """Payloads over a source."""

    def __init__(self, most_bytes: int = 1_000_000) -> None:
        self.source = Source()
        self.clock = HeldClock(100)
        cloud: Any = self.source
        self.payloads = ResponseCache(self.source.changes, self.clock, standalone_metrics(), most_bytes)
        self.runner = ActionRunner(Ports(cloud, cloud), self.payloads, self.clock)
        self.own = Handler(GET_URL_LIST, self.source.answer, HANDLERS["GetUrlList"].cache_scope)
        self.shared = Handler(GET_NEWS, self.source.answer, HANDLERS["GetNews"].cache_scope)

    def get(self, *parameters: str, tenant: Tenant = ACME, handler: Handler | None = None) -> str:
        return str(json.loads(self.body(*parameters, tenant=tenant, handler=handler))["data"]).strip()

    def body(
        self, *parameters: str, tenant: Tenant = ACME, handler: Handler | None = None, language: Language = "en"
    ) -> bytes:
        return asyncio.run(self.runner.run(handler or self.own, tenant, parameters, language)).body

    @property
    def times_asked(self) -> int:
        return len(self.source.asked)


@pytest.fixture
def kept() -> Kept:
    return Kept()


def test_while_nothing_changed_it_is_served_again(kept: Kept) -> None:
    assert {kept.get() for _ in range(5)} == {"1 for acme"}
    assert kept.times_asked == 1


def test_it_is_an_envelope(kept: Kept) -> None:
    assert kept.body() == b'{"message":"URLs.","code":200,"data":"1 for acme "}'


def test_each_language_has_its_own(kept: Kept) -> None:
    messages = [json.loads(kept.body(language=language))["message"] for language in ("en", "zh", "en")]
    assert messages == ["URLs.", "获取URL列表成功", "URLs."]
    assert kept.times_asked == 2


def test_after_a_change_it_is_asked_for_again(kept: Kept) -> None:
    before = kept.get()
    kept.source.changes.change()
    assert (before, kept.get(), kept.get()) == ("1 for acme", "2 for acme", "2 for acme")


def test_a_change_of_another_tenant_leaves_it_as_it_is(kept: Kept) -> None:
    kept.get()
    kept.source.changes.change(RIVAL)
    assert kept.get() == "1 for acme"
    kept.source.changes.change(ACME)
    assert kept.get() == "2 for acme"


def test_a_change_while_it_was_read_makes_it_stale(kept: Kept) -> None:
    kept.source.changes_meanwhile = True
    kept.get()
    kept.source.changes_meanwhile = False
    assert kept.get() == "2 for acme"


@pytest.mark.parametrize(("now", "answer"), [(149.999, "1 for acme"), (150, "2 for acme"), (151, "2 for acme")])
def test_it_is_served_until_its_time_is_over(kept: Kept, now: float, answer: str) -> None:
    kept.source.until = 150
    kept.get()
    kept.clock.moment = now
    assert kept.get() == answer


def test_it_is_not_served_when_the_clock_was_set_back_before_it(kept: Kept) -> None:
    kept.get()
    kept.clock.moment -= 1
    assert kept.get() == "2 for acme"


def test_what_is_over_at_once_is_never_served_again(kept: Kept) -> None:
    kept.source.until = 100
    assert (kept.get(), kept.get()) == ("1 for acme", "2 for acme")


def test_tenants_are_never_mixed(kept: Kept) -> None:
    answers = [kept.get(tenant=tenant) for tenant in (ACME, RIVAL, ACME, RIVAL)]
    assert answers == ["1 for acme", "2 for rival", "1 for acme", "2 for rival"]


def test_parameters_are_never_mixed(kept: Kept) -> None:
    answers = [kept.get(*parameters) for parameters in (("a",), ("b",), ("a", "b"), ("a",))]
    assert answers == ["1 for acme a", "2 for acme b", "3 for acme a b", "1 for acme a"]


def test_actions_are_never_mixed(kept: Kept) -> None:
    answers = [kept.get(handler=handler) for handler in (kept.own, kept.shared, kept.own)]
    assert answers == ["1 for acme", "2 for acme", "1 for acme"]


def test_what_is_the_same_for_all_is_kept_once(kept: Kept) -> None:
    for tenant in (ACME, RIVAL):
        kept.get(tenant=tenant, handler=kept.shared)
    assert kept.times_asked == 1


def owners(tenant: Tenant) -> dict[str, int | str | None]:
    return {name: handler.cache_scope(tenant) for name, handler in HANDLERS.items()}


def test_only_flavors_and_news_are_the_same_for_all() -> None:
    assert {name for name, owner in owners(ACME).items() if owner is None} == {"GetFlavors", "GetNews"}


def test_what_a_cloud_says_is_its_users_alone_and_the_rest_his_tenants() -> None:
    access = CloudCredentials("https://identity.example", "user", "project", {"north": {}, "east": {}}, b"")
    scope = "https://identity.example user project east north"
    assert owners(Tenant(7, "alice", access)) == {
        "GetUsageLimits": scope,
        "GetFlavors": scope,
        "GetConsumptionsEstimated": scope,
        "GetUrlList": 7,
        "GetDomainDetail": 7,
        "GetNews": None,
    }


def test_a_refusal_is_not_kept(kept: Kept) -> None:
    kept.source.refuse = True
    for _ in range(2):
        with pytest.raises(DomainNotFound):
            kept.get()
    kept.source.refuse = False
    assert kept.get() == "3 for acme"


def test_a_refusal_leaves_nothing_older_behind(kept: Kept) -> None:
    kept.get()
    kept.source.refuse = True
    kept.source.changes.change()
    with pytest.raises(DomainNotFound):
        kept.get()


# Memory


def _with_room_for(entries: int) -> Kept:
    """Room for so many answers, all of one size."""
    kept = Kept(entries * (1000 + ENTRY_OVERHEAD))
    kept.source.size = 1000 - len(envelope.success(GET_URL_LIST.success, "en", b'""'))
    return kept


def test_as_many_are_kept_as_there_is_room_for() -> None:
    kept = _with_room_for(3)
    for name in "abcabc":
        kept.get(name)
    assert kept.times_asked == 3


def test_the_least_recently_used_makes_room() -> None:
    kept = _with_room_for(3)
    for name in ("a", "b", "c", "a", "d"):
        kept.get(name)
    asked = kept.times_asked
    for name in ("a", "c", "d"):
        kept.get(name)
    assert kept.times_asked == asked
    kept.get("b")
    assert kept.times_asked == asked + 1


def test_a_payload_too_large_to_keep_is_still_served() -> None:
    kept = _with_room_for(3)
    kept.source.size = 100_000
    assert (kept.get("a"), kept.get("a")) == ("1 for acme a", "2 for acme a")


def test_renewing_one_payload_over_and_over_pushes_no_other_out() -> None:
    kept = _with_room_for(3)
    kept.get("stays")
    kept.source.until = 0
    for _ in range(20):
        kept.get("renewed")
    asked = kept.times_asked
    kept.get("stays")
    assert kept.times_asked == asked


def test_small_payloads_cannot_be_kept_without_end() -> None:
    kept = Kept(100_000)
    for number in range(2000):
        kept.get(str(number))
    asked = kept.times_asked
    for number in range(2000):
        kept.get(str(number))
    assert kept.times_asked == asked + 2000
