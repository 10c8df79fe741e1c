"""Every action, beside what openstacksdk reads directly."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest
from lab.cloud import Lab

from tests.harness import OverHttp, RunningServer
from tests.openstack import direct
from tests.openstack.direct import Connection, agreed
from tests.openstack.guests import Guest
from tests.openstack.operating import DOMAIN, operate, publish

pytestmark = pytest.mark.xdist_group("readings")

EITHER = pytest.mark.parametrize("name", ["alice", "bob"])

Regions = list[Connection]


@pytest.fixture(scope="module")
def direct_as(lab: Lab) -> Iterator[Callable[[str], Regions]]:
    """Connections to all regions as somebody."""
    known: dict[str, Regions] = {}
    with ExitStack() as open_ones:

        def connections(name: str) -> Regions:
            if name not in known:
                known[name] = [open_ones.enter_context(lab.connect(name, region)) for region in lab.regions]
            return known[name]

        yield connections


@EITHER
class TestTheCloudsFigures:
    @pytest.fixture
    def regions(self, direct_as: Callable[[str], Regions], name: str) -> Regions:
        return direct_as(name)

    @pytest.fixture
    def guest(self, visit: Callable[[], Guest], name: str) -> Guest:
        return visit().enter(name)

    def test_usage_and_limits(self, guest: Guest, regions: Regions) -> None:
        told = agreed(lambda: guest.data("GetUsageLimits"), lambda: direct.usage(regions))
        assert len(told) == 22

    def test_flavors(self, guest: Guest, regions: Regions) -> None:
        agreed(lambda: guest.data("GetFlavors")["flavors"], lambda: direct.flavors(regions))

    def test_what_can_be_chosen_follows_from_the_flavors(self, guest: Guest, regions: Regions) -> None:
        told = guest.data("GetFlavors")
        pairs = {(flavor["vcpus"], flavor["ram"]) for flavor in told["flavors"]}
        assert told["configs"] == {"vcpus": sorted({cpu for cpu, _ in pairs}), "ram": sorted({ram for _, ram in pairs})}
        assert {(int(cpu), ram) for cpu, rams in told["limits"].items() for ram in rams} == pairs

    def test_the_estimate_to_the_last_digit(self, guest: Guest, regions: Regions) -> None:
        agreed(lambda: guest.data("GetConsumptionsEstimated"), lambda: direct.estimate(regions))


class TestTenantsApart:
    def test_neither_has_the_others_figures(self, alice: Guest, bob: Guest) -> None:
        for action in ("GetUsageLimits", "GetConsumptionsEstimated"):
            assert alice.data(action) != bob.data(action)

    def test_a_flavor_of_one_project_is_not_shown_to_another(self, alice: Guest, bob: Guest) -> None:
        def names(guest: Guest) -> set[str]:
            return {flavor["name"] for flavor in guest.data("GetFlavors")["flavors"]}

        assert names(alice) - names(bob) == {"acme.large"}
        assert names(bob) - names(alice) == set()

    def test_each_kind_that_the_larger_has_is_in_its_estimate(self, alice: Guest) -> None:
        kinds = [item["res_type"] for item in alice.data("GetConsumptionsEstimated")]
        assert kinds == ["instance", "image", "loadbalance", "volume"]

    def test_members_of_a_project_are_told_the_same(self, alice: Guest, visit: Callable[[], Guest]) -> None:
        carol = visit().enter("carol")
        for action in ("GetUsageLimits", "GetFlavors", "GetConsumptionsEstimated"):
            agreed(lambda action=action: carol.data(action), lambda action=action: alice.data(action))  # type: ignore[misc]


class TestTheConsolesOwn:
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def content(cls, console: RunningServer, lab: Lab) -> None:
        with closing(OverHttp(console.base)) as wire:
            Guest(wire, lab).enter("alice")
        publish(console)

    def test_news_are_for_all(self, alice: Guest, bob: Guest) -> None:
        assert [item["title"] for item in alice.data("GetNews")] == ["A new region"]
        assert bob.data("GetNews") == alice.data("GetNews")

    def test_addresses_are_for_all_or_for_one_project(self, alice: Guest, bob: Guest) -> None:
        def addresses(guest: Guest) -> set[str]:
            return {item["url"] for item in guest.data("GetUrlList")}

        assert addresses(alice) == {"https://example.com/all", "https://example.com/acme"}
        assert addresses(bob) == {"https://example.com/all"}

    def test_a_domain_is_its_projects_own(self, alice: Guest, bob: Guest) -> None:
        assert alice.data("GetDomainDetail", domainId=DOMAIN)["domainName"] == "www.example.com"
        assert bob.call("GetDomainDetail", domainId=DOMAIN).error == "domain_not_found"

    def test_all_members_of_the_project_have_it(self, visit: Callable[[], Guest]) -> None:
        assert visit().enter("carol").data("GetDomainDetail", domainId=DOMAIN)["domainId"] == DOMAIN

    def test_the_operator_sees_each_project_as_a_tenant(self, console: RunningServer, alice: Guest, bob: Guest) -> None:
        assert {"acme", "globex"} <= {tenant["name"] for tenant in operate(console, "tenant", "list")}
