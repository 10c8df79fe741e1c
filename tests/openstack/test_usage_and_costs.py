"""Usage and costs of resources that a tenant creates and deletes."""

import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from lab.cloud import Lab

from tests.harness import RunningServer
from tests.openstack.conftest import NewTenant, Serve
from tests.openstack.hours import within_an_hour
from tests.openstack.reference import Connection
from tests.openstack.tenants import Tenant, TenantFactory, wait_until

pytestmark = pytest.mark.xdist_group("usage_and_costs")

# As in prices.yaml.
SMALL_SERVER = Decimal("0.12")
TINY_SERVER = Decimal("0.051") + Decimal("0.0130001")
VOLUME_GB = Decimal("0.0007")
FAST_GB = Decimal("0.000000011")
IMAGE_GB = Decimal("0.00003")
BALANCER = Decimal("0.0333")


@pytest.fixture(scope="module")
def console(serve: Serve, lab: Lab) -> RunningServer:
    """Start a console for one region, so that limits of other regions are not added."""
    return serve(f'regions = ["{lab.regions[0]}"]', cloud_cache=0, flavor_cache=0)


@pytest.fixture(scope="module")
def image(admin: Connection) -> Iterator[Any]:
    """Create an image of another owner, which costs the tenants nothing."""
    created = admin.image.create_image(
        name="test-image", data=b"\0" * 1024, disk_format="raw", container_format="bare", visibility="public"
    )
    yield created
    admin.image.delete_image(created)


class TestServers:
    FIELDS = ("totalInstancesUsed", "totalCoresUsed", "totalRAMUsed")

    def test_new_tenant_has_no_usage_and_no_costs(self, new_tenant: NewTenant) -> None:
        anna = new_tenant()
        assert anna.used(*self.FIELDS, "totalVolumesUsed", "totalFloatingIpsUsed") == (0, 0, 0, 0, 0)
        assert anna.hourly() == {}

    @within_an_hour
    def test_server_is_used_until_deleted_and_costs_until_hour_end(self, new_tenant: NewTenant, image: Any) -> None:
        anna = new_tenant()
        server = anna.server("m1.small", image)
        wait_until(lambda: anna.used(*self.FIELDS) == (1, 1, 2048))
        assert anna.hourly() == {"instance": SMALL_SERVER}
        anna.cloud.compute.wait_for_server(server, interval=0.2, wait=60)
        anna.remove_server(server)
        wait_until(lambda: anna.used(*self.FIELDS) == (0, 0, 0))
        assert anna.hourly() == {"instance": SMALL_SERVER}

    @within_an_hour
    def test_failed_server_counts_and_costs_after_deletion(
        self, new_tenant: NewTenant, factory: TenantFactory, admin: Connection, image: Any
    ) -> None:
        """The server is too large for any host, so Nova cannot schedule it."""
        anna = new_tenant()
        admin.set_compute_quotas(anna.project_id, ram=-1)
        with factory.flavor(anna.project_id, ram=2**30, vcpus=1) as flavor:
            server = anna.server(flavor.name, image)
            wait_until(lambda: anna.cloud.compute.get_server(server).status == "ERROR")
            costs = {"instance": Decimal("0.051") + 2**20 * Decimal("0.0130001")}
            assert anna.used(*self.FIELDS) == (1, 1, 2**30)
            assert anna.hourly() == costs
            anna.remove_server(server)
            assert anna.hourly() == costs

    @within_an_hour
    def test_server_keeps_its_cost_after_its_flavor_is_deleted(
        self, new_tenant: NewTenant, factory: TenantFactory, image: Any
    ) -> None:
        anna = new_tenant()
        with factory.flavor(anna.project_id, ram=512, vcpus=1) as flavor:
            assert flavor.name in _flavors(anna)
            anna.server(flavor.name, image)
        assert flavor.name not in _flavors(anna)
        assert anna.hourly() == {"instance": TINY_SERVER}


class TestVolumes:
    FIELDS = ("totalVolumesUsed", "totalGigabytesUsed", "totalSnapshotsUsed")

    @within_an_hour
    def test_observed_volume_costs_until_its_hour_ends(self, new_tenant: NewTenant) -> None:
        anna = new_tenant()
        volume = anna.volume(2)
        assert anna.used(*self.FIELDS) == (1, 2, 0)
        assert anna.hourly() == {"volume": 2 * VOLUME_GB}
        anna.remove_volume(volume)
        wait_until(lambda: anna.used(*self.FIELDS) == (0, 0, 0))
        assert anna.hourly() == {"volume": 2 * VOLUME_GB}

    def test_unobserved_deleted_volume_costs_nothing(self, new_tenant: NewTenant) -> None:
        anna = new_tenant()
        anna.remove_volume(anna.volume())
        assert anna.hourly() == {}

    def test_volume_costs_by_its_type(self, new_tenant: NewTenant) -> None:
        anna = new_tenant()
        anna.volume(3, volume_type="fast")
        anna.volume(1)
        assert anna.hourly() == {"volume": 3 * FAST_GB + VOLUME_GB}

    @within_an_hour
    def test_extended_volume_keeps_its_new_size(self, new_tenant: NewTenant) -> None:
        anna = new_tenant()
        volume = anna.volume(1)
        assert anna.hourly() == {"volume": VOLUME_GB}
        anna.cloud.block_storage.extend_volume(volume, 4)
        wait_until(lambda: anna.used(*self.FIELDS) == (1, 4, 0))
        wait_until(lambda: anna.hourly() == {"volume": 4 * VOLUME_GB})
        wait_until(lambda: anna.cloud.block_storage.get_volume(volume).status == "available")
        anna.remove_volume(volume)
        assert anna.hourly() == {"volume": 4 * VOLUME_GB}

    def test_snapshot_uses_gigabytes_and_costs_nothing(self, new_tenant: NewTenant) -> None:
        anna = new_tenant()
        volume = anna.volume(2)
        storage = anna.cloud.block_storage
        snapshot = storage.create_snapshot(volume_id=volume.id, name="copy")
        storage.wait_for_status(snapshot, "available", interval=0.2, wait=60)
        assert anna.used(*self.FIELDS) == (1, 4, 1)
        assert anna.hourly() == {"volume": 2 * VOLUME_GB}
        storage.delete_snapshot(snapshot)
        storage.wait_for_delete(snapshot, interval=0.2, wait=60)
        wait_until(lambda: anna.used(*self.FIELDS) == (1, 2, 0))


class TestNetworks:
    def test_floating_ip_is_counted_and_costs_nothing(self, new_tenant: NewTenant) -> None:
        anna = new_tenant()
        network = anna.cloud.network
        public = network.find_network("public", ignore_missing=False)
        address = network.create_ip(floating_network_id=public.id)
        assert anna.used("totalFloatingIpsUsed") == (1,)
        network.delete_ip(address)
        assert anna.used("totalFloatingIpsUsed") == (0,)
        assert anna.hourly() == {}

    @within_an_hour
    def test_observed_load_balancer_costs_until_its_hour_ends(self, new_tenant: NewTenant) -> None:
        anna = new_tenant()
        balancers = anna.cloud.load_balancer
        balancer = balancers.create_load_balancer(name="front", vip_subnet_id=anna.subnet().id)
        assert anna.hourly() == {"loadbalance": BALANCER}
        balancers.wait_for_load_balancer(balancer.id, interval=0.2, wait=60)
        balancers.delete_load_balancer(balancer)
        wait_until(lambda: not list(balancers.load_balancers()))
        assert anna.hourly() == {"loadbalance": BALANCER}

    def test_unobserved_deleted_load_balancer_costs_nothing(self, new_tenant: NewTenant) -> None:
        anna = new_tenant()
        balancers = anna.cloud.load_balancer
        balancer = balancers.create_load_balancer(name="front", vip_subnet_id=anna.subnet().id)
        balancers.wait_for_load_balancer(balancer.id, interval=0.2, wait=60)
        balancers.delete_load_balancer(balancer)
        wait_until(lambda: not list(balancers.load_balancers()))
        assert anna.hourly() == {}


class TestImages:
    @within_an_hour
    def test_observed_image_costs_until_its_hour_ends(self, new_tenant: NewTenant) -> None:
        anna = new_tenant()
        own = anna.image()
        assert anna.hourly() == {"image": IMAGE_GB}
        anna.cloud.image.delete_image(own)
        assert anna.hourly() == {"image": IMAGE_GB}

    def test_unobserved_deleted_image_costs_nothing(self, new_tenant: NewTenant) -> None:
        anna = new_tenant()
        anna.cloud.image.delete_image(anna.image())
        assert anna.hourly() == {}

    def test_image_without_data_costs_nothing(self, new_tenant: NewTenant) -> None:
        anna = new_tenant()
        anna.cloud.image.create_image(name="empty", disk_format="raw", container_format="bare")
        assert anna.hourly() == {}

    def test_hidden_image_costs_the_same(self, new_tenant: NewTenant) -> None:
        anna = new_tenant()
        anna.cloud.image.update_image(anna.image(), is_hidden=True)
        assert anna.hourly() == {"image": IMAGE_GB}

    def test_shared_image_costs_only_its_owner(self, new_tenant: NewTenant) -> None:
        anna, ben = new_tenant(), new_tenant()
        own = anna.image()
        anna.cloud.image.add_member(own, member=ben.project_id)
        ben.cloud.image.update_member(ben.project_id, own, status="accepted")
        assert [shared.id for shared in ben.cloud.image.images(visibility="shared")] == [own.id]
        assert (anna.hourly(), ben.hourly()) == ({"image": IMAGE_GB}, {})


class TestQuotas:
    def test_quota_change_is_visible(self, new_tenant: NewTenant, admin: Connection) -> None:
        anna = new_tenant()
        admin.set_compute_quotas(anna.project_id, instances=3, key_pairs=7)
        admin.set_volume_quotas(anna.project_id, volumes=4, gigabytes=44, snapshots=2)
        admin.set_network_quotas(anna.project_id, floatingip=6, security_group=5, security_group_rule=55)
        expected = {
            "maxTotalInstances": 3,
            "maxTotalKeypairs": 7,
            "maxTotalVolumes": 4,
            "maxTotalVolumeGigabytes": 44,
            "maxTotalSnapshots": 2,
            "maxTotalFloatingIps": 6,
            "maxSecurityGroups": 5,
            "maxSecurityGroupRules": 55,
        }
        assert anna.used(*expected) == tuple(expected.values())

    def test_unlimited_is_minus_one(self, new_tenant: NewTenant, admin: Connection) -> None:
        anna = new_tenant()
        admin.set_compute_quotas(anna.project_id, cores=-1)
        admin.set_volume_quotas(anna.project_id, gigabytes=-1)
        admin.set_network_quotas(anna.project_id, floatingip=-1)
        assert anna.used("maxTotalCores", "maxTotalVolumeGigabytes", "maxTotalFloatingIps") == (-1, -1, -1)


class TestCachedResponses:
    @pytest.fixture(scope="class")
    @classmethod
    def caching_console(cls, serve: Serve, lab: Lab) -> RunningServer:
        return serve(f'regions = ["{lab.regions[0]}"]', cloud_cache=5, flavor_cache=0)

    def test_response_is_cached_and_later_refreshed(
        self, new_tenant: NewTenant, caching_console: RunningServer, admin: Connection
    ) -> None:
        anna = new_tenant(caching_console)

        def is_cached(limit: int) -> bool:
            (before,) = anna.used("maxTotalInstances")
            admin.set_compute_quotas(anna.project_id, instances=limit)
            return anna.used("maxTotalInstances") == (before,)

        # If the cloud is slow, the cached response may expire meanwhile.
        limit = next(limit for limit in range(20, 40) if is_cached(limit))
        wait_until(lambda: anna.used("maxTotalInstances") == (limit,))

    def test_cached_response_has_an_increasing_age(self, new_tenant: NewTenant, caching_console: RunningServer) -> None:
        anna = new_tenant(caching_console)
        anna.used("maxTotalInstances")
        wait_until(lambda: _age(anna) >= 2)

    def test_users_do_not_share_cached_responses(self, new_tenant: NewTenant, caching_console: RunningServer) -> None:
        anna, ben = new_tenant(caching_console), new_tenant(caching_console)
        anna.volume(2)
        assert anna.used("totalGigabytesUsed") == (2,)
        assert ben.used("totalGigabytesUsed") == (0,)

    def test_uncached_response_is_no_older_than_its_request(self, new_tenant: NewTenant) -> None:
        anna = new_tenant()
        anna.used("maxTotalInstances")
        time.sleep(1.1)
        requested_at = time.monotonic()
        assert _age(anna) <= time.monotonic() - requested_at


def _age(tenant: Tenant) -> int:
    """Return the age of the response in whole seconds."""
    age = tenant.client.call("GetUsageLimits").header("Age")
    assert age is not None
    return int(age)


def _flavors(tenant: Tenant) -> set[str]:
    return {flavor["name"] for flavor in tenant.client.data("GetFlavors")["flavors"]}
