"""A cloud of two regions: summed and minimum values, merged flavors, and omitted regions."""

import os
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from lab.cloud import Lab

from tests.harness import RunningServer
from tests.openstack import reference
from tests.openstack.conftest import NewTenant, Serve
from tests.openstack.federated_client import FederatedClient
from tests.openstack.hours import within_an_hour
from tests.openstack.reference import Connection, assert_consistent
from tests.openstack.tenants import Tenant, TenantFactory, wait_until

pytestmark = pytest.mark.xdist_group("regions")

VOLUME_GB = Decimal("0.0007")
VOLUME_GB_IN_SECOND = Decimal("0.0011")
FAST_GB = Decimal("0.000000011")

NewClient = Callable[..., FederatedClient]


@pytest.fixture(scope="module", autouse=True)
def _two_regions(lab: Lab) -> None:
    if len(lab.regions) < 2 and os.environ.get("CI") != "true":
        pytest.skip("the lab has one region only")


@pytest.fixture(scope="module")
def second_admin(lab: Lab) -> Iterator[Connection]:
    with lab.connect("admin", lab.regions[1]) as connection:
        yield connection


@pytest.fixture
def in_second_region(factory: TenantFactory) -> Iterator[Callable[[Tenant], Tenant]]:
    """Return a function that connects a tenant to the second region."""
    connections: list[Connection] = []

    def connect(tenant: Tenant) -> Tenant:
        connections.append(factory.connect(tenant.user, factory.lab.regions[1]))
        return Tenant(tenant.user, connections[-1], tenant.client)

    yield connect
    for connection in connections:
        connection.close()


class TestUsage:
    def test_usage_is_summed_over_regions(self, lab: Lab, alice: FederatedClient) -> None:
        used = (
            "totalInstancesUsed",
            "totalRAMUsed",
            "totalGigabytesUsed",
            "totalSnapshotsUsed",
            "totalFloatingIpsUsed",
        )
        with lab.connect("alice", lab.regions[0]) as first, lab.connect("alice", lab.regions[1]) as second:
            one, other = reference.usage([first]), reference.usage([second])
        limits = alice.data("GetUsageLimits")
        for field in used:
            assert one[field] > 0
            assert other[field] > 0
            assert limits[field] == one[field] + other[field], field

    def test_limits_are_summed_unless_one_is_unlimited(
        self, new_tenant: NewTenant, admin: Connection, second_admin: Connection
    ) -> None:
        anna = new_tenant()
        for region, floating_ips, groups in ((admin, 5, 3), (second_admin, 7, -1)):
            region.set_network_quotas(anna.project_id, floatingip=floating_ips, security_group=groups)
        assert anna.used("maxTotalFloatingIps", "maxSecurityGroups") == (12, -1)

    @pytest.mark.parametrize(("one", "other", "expected"), [(50, 30, 30), (-1, 30, 30), (50, -1, 50), (-1, -1, -1)])
    def test_per_item_limit_is_the_minimum_over_regions(
        self, new_tenant: NewTenant, admin: Connection, second_admin: Connection, one: int, other: int, expected: int
    ) -> None:
        anna = new_tenant()
        for region, rules in ((admin, one), (second_admin, other)):
            region.set_network_quotas(anna.project_id, security_group_rule=rules)
        assert anna.used("maxSecurityGroupRules") == (expected,)

    def test_equal_per_item_limits_are_not_doubled(self, alice: FederatedClient) -> None:
        limits = alice.data("GetUsageLimits")
        assert (limits["maxServerMeta"], limits["maxImageMeta"], limits["maxPersonality"]) == (128, 128, 5)


class TestFlavors:
    def test_equal_flavors_are_merged_under_the_first_regions_id(
        self, lab: Lab, admin: Connection, bob: FederatedClient
    ) -> None:
        (small,) = [flavor for flavor in bob.data("GetFlavors")["flavors"] if flavor["name"] == "m1.small"]
        assert small["id"] == admin.compute.find_flavor("m1.small", ignore_missing=False).id

    def test_flavor_of_the_second_region_is_listed(self, second_admin: Connection, bob: FederatedClient) -> None:
        ids = {flavor["name"]: flavor["id"] for flavor in bob.data("GetFlavors")["flavors"]}
        assert ids["m2.small"] == second_admin.compute.find_flavor("m2.small", ignore_missing=False).id

    def test_flavors_of_different_sizes_stay_separate(
        self, new_tenant: NewTenant, factory: TenantFactory, second_admin: Connection
    ) -> None:
        anna = new_tenant()
        with (
            factory.flavor(anna.project_id, ram=512, vcpus=1) as one,
            factory.flavor(anna.project_id, ram=768, vcpus=1, name=one.name, admin=second_admin) as other,
        ):
            found = {
                (flavor["id"], flavor["ram"])
                for flavor in anna.client.data("GetFlavors")["flavors"]
                if flavor["name"] == one.name
            }
            assert found == {(one.id, 512), (other.id, 768)}


class TestCosts:
    def test_each_region_uses_its_own_prices(
        self, new_tenant: NewTenant, in_second_region: Callable[[Tenant], Tenant]
    ) -> None:
        anna = new_tenant()
        in_second = in_second_region(anna)
        anna.volume(1)
        in_second.volume(2)
        in_second.volume(3, volume_type="fast")
        assert anna.hourly() == {"volume": VOLUME_GB + 2 * VOLUME_GB_IN_SECOND + 3 * FAST_GB}

    @within_an_hour
    def test_volume_in_the_second_region_costs_until_its_hour_ends(
        self, new_tenant: NewTenant, in_second_region: Callable[[Tenant], Tenant]
    ) -> None:
        anna = new_tenant()
        in_second = in_second_region(anna)
        volume = in_second.volume(2)
        assert anna.hourly() == {"volume": 2 * VOLUME_GB_IN_SECOND}
        in_second.remove_volume(volume)
        wait_until(lambda: anna.used("totalVolumesUsed") == (0,))
        assert anna.hourly() == {"volume": 2 * VOLUME_GB_IN_SECOND}


class TestConfiguredRegions:
    @pytest.fixture(scope="class")
    @classmethod
    def first_region_console(cls, serve: Serve) -> RunningServer:
        return serve('regions = ["RegionOne"]', cloud_cache=0, flavor_cache=0)

    @pytest.fixture(scope="class")
    @classmethod
    def second_region_console(cls, serve: Serve) -> RunningServer:
        return serve('regions = ["Nowhere", "RegionTwo"]', cloud_cache=0, flavor_cache=0)

    @pytest.mark.parametrize(
        ("action", "read"),
        [
            ("GetUsageLimits", reference.usage),
            ("GetFlavors", reference.flavors),
            ("GetConsumptionsEstimated", reference.estimate),
        ],
    )
    @pytest.mark.parametrize("number", [0, 1])
    def test_other_regions_are_omitted_and_unknown_ones_ignored(
        self,
        request: Any,
        lab: Lab,
        new_client: NewClient,
        number: int,
        action: str,
        read: Callable[[list[Connection]], Any],
    ) -> None:
        console = request.getfixturevalue(("first_region_console", "second_region_console")[number])
        client = new_client(console).log_in_as("alice")

        def from_console() -> Any:
            data = client.data(action)
            return data["flavors"] if action == "GetFlavors" else data

        with lab.connect("alice", lab.regions[number]) as region:
            assert_consistent(from_console, lambda: read([region]))

    def test_no_usable_region_is_an_upstream_failure(self, serve: Serve, new_client: NewClient) -> None:
        client = new_client(serve('regions = ["Nowhere"]')).log_in_as("alice")
        reply = client.call("GetUsageLimits")
        assert (reply.status, reply.error) == (502, "upstream_failed")
