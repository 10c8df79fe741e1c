"""A cloud of two regions: what adds up, what does not, and what is left out."""

import os
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from lab.cloud import Lab

from tests.harness import RunningServer
from tests.openstack import direct
from tests.openstack.conftest import Serve, Settle
from tests.openstack.direct import Connection, agreed
from tests.openstack.guests import Guest
from tests.openstack.hours import within_an_hour
from tests.openstack.residents import Registry, Resident, until

pytestmark = pytest.mark.xdist_group("regions")

VOLUME_GB = Decimal("0.0007")
VOLUME_GB_IN_SECOND = Decimal("0.0011")
FAST_GB = Decimal("0.000000011")

Visit = Callable[..., Guest]


@pytest.fixture(scope="module", autouse=True)
def _two_regions(lab: Lab) -> None:
    if len(lab.regions) < 2 and os.environ.get("CI") != "true":
        pytest.skip("the lab has one region only")


@pytest.fixture(scope="module")
def second_admin(lab: Lab) -> Iterator[Connection]:
    with lab.connect("admin", lab.regions[1]) as connection:
        yield connection


@pytest.fixture
def elsewhere(registry: Registry) -> Iterator[Callable[[Resident], Resident]]:
    """The same person with a connection to the second region."""
    connections: list[Connection] = []

    def move(resident: Resident) -> Resident:
        connections.append(registry.connect(resident.user, registry.lab.regions[1]))
        return Resident(resident.user, connections[-1], resident.guest)

    yield move
    for connection in connections:
        connection.close()


class TestUsage:
    def test_what_is_used_adds_up(self, lab: Lab, alice: Guest) -> None:
        used = (
            "totalInstancesUsed",
            "totalRAMUsed",
            "totalGigabytesUsed",
            "totalSnapshotsUsed",
            "totalFloatingIpsUsed",
        )
        with lab.connect("alice", lab.regions[0]) as first, lab.connect("alice", lab.regions[1]) as second:
            one, other = direct.usage([first]), direct.usage([second])
        told = alice.data("GetUsageLimits")
        for field in used:
            assert one[field] > 0
            assert other[field] > 0
            assert told[field] == one[field] + other[field], field

    def test_limits_add_up_unless_one_of_them_is_none(
        self, settle: Settle, admin: Connection, second_admin: Connection
    ) -> None:
        anna = settle()
        for region, addresses, groups in ((admin, 5, 3), (second_admin, 7, -1)):
            region.set_network_quotas(anna.project_id, floatingip=addresses, security_group=groups)
        assert anna.used("maxTotalFloatingIps", "maxSecurityGroups") == (12, -1)

    @pytest.mark.parametrize(("one", "other", "shown"), [(50, 30, 30), (-1, 30, 30), (50, -1, 50), (-1, -1, -1)])
    def test_of_limits_of_a_single_thing_the_least_counts(
        self, settle: Settle, admin: Connection, second_admin: Connection, one: int, other: int, shown: int
    ) -> None:
        anna = settle()
        for region, rules in ((admin, one), (second_admin, other)):
            region.set_network_quotas(anna.project_id, security_group_rule=rules)
        assert anna.used("maxSecurityGroupRules") == (shown,)

    def test_limits_that_are_the_same_everywhere_are_not_doubled(self, alice: Guest) -> None:
        told = alice.data("GetUsageLimits")
        assert (told["maxServerMeta"], told["maxImageMeta"], told["maxPersonality"]) == (128, 128, 5)


class TestFlavors:
    def test_those_alike_are_one_with_the_first_regions_id(self, lab: Lab, admin: Connection, bob: Guest) -> None:
        (small,) = [flavor for flavor in bob.data("GetFlavors")["flavors"] if flavor["name"] == "m1.small"]
        assert small["id"] == admin.compute.find_flavor("m1.small", ignore_missing=False).id

    def test_one_of_the_second_region_is_there(self, second_admin: Connection, bob: Guest) -> None:
        ids = {flavor["name"]: flavor["id"] for flavor in bob.data("GetFlavors")["flavors"]}
        assert ids["m2.small"] == second_admin.compute.find_flavor("m2.small", ignore_missing=False).id

    def test_those_of_one_name_and_different_sizes_are_two(
        self, settle: Settle, registry: Registry, second_admin: Connection
    ) -> None:
        anna = settle()
        with (
            registry.flavor(anna.project_id, ram=512, vcpus=1) as one,
            registry.flavor(anna.project_id, ram=768, vcpus=1, name=one.name, admin=second_admin) as other,
        ):
            found = {
                (flavor["id"], flavor["ram"])
                for flavor in anna.guest.data("GetFlavors")["flavors"]
                if flavor["name"] == one.name
            }
            assert found == {(one.id, 512), (other.id, 768)}


class TestCosts:
    def test_each_regions_prices_count_there(self, settle: Settle, elsewhere: Callable[[Resident], Resident]) -> None:
        anna = settle()
        away = elsewhere(anna)
        anna.volume(1)
        away.volume(2)
        away.volume(3, volume_type="fast")
        assert anna.hourly() == {"volume": VOLUME_GB + 2 * VOLUME_GB_IN_SECOND + 3 * FAST_GB}

    @within_an_hour
    def test_what_was_seen_in_the_second_region_costs_until_its_hour_ends(
        self, settle: Settle, elsewhere: Callable[[Resident], Resident]
    ) -> None:
        anna = settle()
        away = elsewhere(anna)
        volume = away.volume(2)
        assert anna.hourly() == {"volume": 2 * VOLUME_GB_IN_SECOND}
        away.remove_volume(volume)
        until(lambda: anna.used("totalVolumesUsed") == (0,))
        assert anna.hourly() == {"volume": 2 * VOLUME_GB_IN_SECOND}


class TestTheRegionsThatMayBeUsed:
    @pytest.fixture(scope="class")
    @classmethod
    def at_first(cls, serve: Serve) -> RunningServer:
        return serve('regions = ["RegionOne"]', cloud_cache=0, flavor_cache=0)

    @pytest.fixture(scope="class")
    @classmethod
    def unmindful(cls, serve: Serve) -> RunningServer:
        return serve('regions = ["Nowhere", "RegionTwo"]', cloud_cache=0, flavor_cache=0)

    @pytest.mark.parametrize(
        ("action", "read"),
        [
            ("GetUsageLimits", direct.usage),
            ("GetFlavors", direct.flavors),
            ("GetConsumptionsEstimated", direct.estimate),
        ],
    )
    @pytest.mark.parametrize("number", [0, 1])
    def test_others_are_left_out_and_unknown_ones_ignored(
        self, request: Any, lab: Lab, visit: Visit, number: int, action: str, read: Callable[[list[Connection]], Any]
    ) -> None:
        console = request.getfixturevalue(("at_first", "unmindful")[number])
        guest = visit(console).enter("alice")

        def told() -> Any:
            data = guest.data(action)
            return data["flavors"] if action == "GetFlavors" else data

        with lab.connect("alice", lab.regions[number]) as region:
            agreed(told, lambda: read([region]))

    def test_where_none_is_left_no_figure_is_made_up(self, serve: Serve, visit: Visit) -> None:
        guest = visit(serve('regions = ["Nowhere"]')).enter("alice")
        reply = guest.call("GetUsageLimits")
        assert (reply.status, reply.error) == (502, "upstream_failed")
