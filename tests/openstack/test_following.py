"""What a tenant makes and removes, and how usage and costs follow it."""

import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from lab.cloud import Lab

from tests.harness import RunningServer
from tests.openstack.conftest import Serve, Settle
from tests.openstack.direct import Connection
from tests.openstack.hours import within_an_hour
from tests.openstack.residents import Registry, Resident, until

pytestmark = pytest.mark.xdist_group("following")

# By the price book of the tests.
SMALL_SERVER = Decimal("0.12")
TINY_SERVER = Decimal("0.051") + Decimal("0.0130001")
VOLUME_GB = Decimal("0.0007")
FAST_GB = Decimal("0.000000011")
IMAGE_GB = Decimal("0.00003")
BALANCER = Decimal("0.0333")


@pytest.fixture(scope="module")
def console(serve: Serve, lab: Lab) -> RunningServer:
    """Before one region, so that no limit of another adds to what is set here."""
    return serve(f'regions = ["{lab.regions[0]}"]', cloud_cache=0, flavor_cache=0)


@pytest.fixture(scope="module")
def image(admin: Connection) -> Iterator[Any]:
    """Somebody else's, so that it costs the tenants nothing."""
    made = admin.image.create_image(
        name="test-image", data=b"\0" * 1024, disk_format="raw", container_format="bare", visibility="public"
    )
    yield made
    admin.image.delete_image(made)


class TestServers:
    FIELDS = ("totalInstancesUsed", "totalCoresUsed", "totalRAMUsed")

    def test_a_new_tenant_has_nothing(self, settle: Settle) -> None:
        anna = settle()
        assert anna.used(*self.FIELDS, "totalVolumesUsed", "totalFloatingIpsUsed") == (0, 0, 0, 0, 0)
        assert anna.hourly() == {}

    @within_an_hour
    def test_one_is_used_while_it_is_there_and_costs_until_its_hour_ends(self, settle: Settle, image: Any) -> None:
        anna = settle()
        server = anna.server("m1.small", image)
        until(lambda: anna.used(*self.FIELDS) == (1, 1, 2048))
        assert anna.hourly() == {"instance": SMALL_SERVER}
        anna.cloud.compute.wait_for_server(server, interval=0.2, wait=60)
        anna.remove_server(server)
        until(lambda: anna.used(*self.FIELDS) == (0, 0, 0))
        assert anna.hourly() == {"instance": SMALL_SERVER}

    @within_an_hour
    def test_one_that_failed_counts_and_costs_also_when_deleted(
        self, settle: Settle, registry: Registry, admin: Connection, image: Any
    ) -> None:
        """No host has room for it, so Nova never brings it anywhere."""
        anna = settle()
        admin.set_compute_quotas(anna.project_id, ram=-1)
        with registry.flavor(anna.project_id, ram=2**30, vcpus=1) as flavor:
            server = anna.server(flavor.name, image)
            until(lambda: anna.cloud.compute.get_server(server).status == "ERROR")
            costs = {"instance": Decimal("0.051") + 2**20 * Decimal("0.0130001")}
            assert anna.used(*self.FIELDS) == (1, 1, 2**30)
            assert anna.hourly() == costs
            anna.remove_server(server)
            assert anna.hourly() == costs

    @within_an_hour
    def test_one_outlives_its_flavor(self, settle: Settle, registry: Registry, image: Any) -> None:
        anna = settle()
        with registry.flavor(anna.project_id, ram=512, vcpus=1) as flavor:
            assert flavor.name in _flavors(anna)
            anna.server(flavor.name, image)
        assert flavor.name not in _flavors(anna)
        assert anna.hourly() == {"instance": TINY_SERVER}


class TestVolumes:
    FIELDS = ("totalVolumesUsed", "totalGigabytesUsed", "totalSnapshotsUsed")

    @within_an_hour
    def test_one_that_was_seen_costs_until_its_hour_ends(self, settle: Settle) -> None:
        anna = settle()
        volume = anna.volume(2)
        assert anna.used(*self.FIELDS) == (1, 2, 0)
        assert anna.hourly() == {"volume": 2 * VOLUME_GB}
        anna.remove_volume(volume)
        until(lambda: anna.used(*self.FIELDS) == (0, 0, 0))
        assert anna.hourly() == {"volume": 2 * VOLUME_GB}

    def test_one_that_was_never_seen_costs_nothing_once_it_is_gone(self, settle: Settle) -> None:
        anna = settle()
        anna.remove_volume(anna.volume())
        assert anna.hourly() == {}

    def test_it_costs_by_its_type(self, settle: Settle) -> None:
        anna = settle()
        anna.volume(3, volume_type="fast")
        anna.volume(1)
        assert anna.hourly() == {"volume": 3 * FAST_GB + VOLUME_GB}

    @within_an_hour
    def test_an_extended_one_has_its_new_size_and_keeps_it(self, settle: Settle) -> None:
        anna = settle()
        volume = anna.volume(1)
        assert anna.hourly() == {"volume": VOLUME_GB}
        anna.cloud.block_storage.extend_volume(volume, 4)
        until(lambda: anna.used(*self.FIELDS) == (1, 4, 0))
        until(lambda: anna.hourly() == {"volume": 4 * VOLUME_GB})
        until(lambda: anna.cloud.block_storage.get_volume(volume).status == "available")
        anna.remove_volume(volume)
        assert anna.hourly() == {"volume": 4 * VOLUME_GB}

    def test_a_snapshot_takes_room_and_costs_nothing(self, settle: Settle) -> None:
        anna = settle()
        volume = anna.volume(2)
        storage = anna.cloud.block_storage
        snapshot = storage.create_snapshot(volume_id=volume.id, name="copy")
        storage.wait_for_status(snapshot, "available", interval=0.2, wait=60)
        assert anna.used(*self.FIELDS) == (1, 4, 1)
        assert anna.hourly() == {"volume": 2 * VOLUME_GB}
        storage.delete_snapshot(snapshot)
        storage.wait_for_delete(snapshot, interval=0.2, wait=60)
        until(lambda: anna.used(*self.FIELDS) == (1, 2, 0))


class TestNetworks:
    def test_a_floating_address(self, settle: Settle) -> None:
        anna = settle()
        network = anna.cloud.network
        public = network.find_network("public", ignore_missing=False)
        address = network.create_ip(floating_network_id=public.id)
        assert anna.used("totalFloatingIpsUsed") == (1,)
        network.delete_ip(address)
        assert anna.used("totalFloatingIpsUsed") == (0,)
        assert anna.hourly() == {}

    @within_an_hour
    def test_a_load_balancer_that_was_seen_costs_until_its_hour_ends(self, settle: Settle) -> None:
        anna = settle()
        balancing = anna.cloud.load_balancer
        balancer = balancing.create_load_balancer(name="front", vip_subnet_id=anna.subnet().id)
        assert anna.hourly() == {"loadbalance": BALANCER}
        balancing.wait_for_load_balancer(balancer.id, interval=0.2, wait=60)
        balancing.delete_load_balancer(balancer)
        until(lambda: not list(balancing.load_balancers()))
        assert anna.hourly() == {"loadbalance": BALANCER}

    def test_a_load_balancer_that_was_never_seen_costs_nothing_once_it_is_gone(self, settle: Settle) -> None:
        anna = settle()
        balancing = anna.cloud.load_balancer
        balancer = balancing.create_load_balancer(name="front", vip_subnet_id=anna.subnet().id)
        balancing.wait_for_load_balancer(balancer.id, interval=0.2, wait=60)
        balancing.delete_load_balancer(balancer)
        until(lambda: not list(balancing.load_balancers()))
        assert anna.hourly() == {}


class TestImages:
    @within_an_hour
    def test_one_that_was_seen_costs_until_its_hour_ends(self, settle: Settle) -> None:
        anna = settle()
        own = anna.image()
        assert anna.hourly() == {"image": IMAGE_GB}
        anna.cloud.image.delete_image(own)
        assert anna.hourly() == {"image": IMAGE_GB}

    def test_one_that_was_never_seen_costs_nothing_once_it_is_gone(self, settle: Settle) -> None:
        anna = settle()
        anna.cloud.image.delete_image(anna.image())
        assert anna.hourly() == {}

    def test_one_without_data_costs_nothing(self, settle: Settle) -> None:
        anna = settle()
        anna.cloud.image.create_image(name="empty", disk_format="raw", container_format="bare")
        assert anna.hourly() == {}

    def test_a_hidden_one_costs_as_others_do(self, settle: Settle) -> None:
        anna = settle()
        anna.cloud.image.update_image(anna.image(), is_hidden=True)
        assert anna.hourly() == {"image": IMAGE_GB}

    def test_one_shared_by_another_costs_only_its_owner(self, settle: Settle) -> None:
        anna, ben = settle(), settle()
        own = anna.image()
        anna.cloud.image.add_member(own, member=ben.project_id)
        ben.cloud.image.update_member(ben.project_id, own, status="accepted")
        assert [shared.id for shared in ben.cloud.image.images(visibility="shared")] == [own.id]
        assert (anna.hourly(), ben.hourly()) == ({"image": IMAGE_GB}, {})


class TestQuotas:
    def test_a_change_shows(self, settle: Settle, admin: Connection) -> None:
        anna = settle()
        admin.set_compute_quotas(anna.project_id, instances=3, key_pairs=7)
        admin.set_volume_quotas(anna.project_id, volumes=4, gigabytes=44, snapshots=2)
        admin.set_network_quotas(anna.project_id, floatingip=6, security_group=5, security_group_rule=55)
        shown = {
            "maxTotalInstances": 3,
            "maxTotalKeypairs": 7,
            "maxTotalVolumes": 4,
            "maxTotalVolumeGigabytes": 44,
            "maxTotalSnapshots": 2,
            "maxTotalFloatingIps": 6,
            "maxSecurityGroups": 5,
            "maxSecurityGroupRules": 55,
        }
        assert anna.used(*shown) == tuple(shown.values())

    def test_unlimited_is_minus_one(self, settle: Settle, admin: Connection) -> None:
        anna = settle()
        admin.set_compute_quotas(anna.project_id, cores=-1)
        admin.set_volume_quotas(anna.project_id, gigabytes=-1)
        admin.set_network_quotas(anna.project_id, floatingip=-1)
        assert anna.used("maxTotalCores", "maxTotalVolumeGigabytes", "maxTotalFloatingIps") == (-1, -1, -1)


class TestKeptAnswers:
    @pytest.fixture(scope="class")
    @classmethod
    def keeping(cls, serve: Serve, lab: Lab) -> RunningServer:
        return serve(f'regions = ["{lab.regions[0]}"]', cloud_cache=5, flavor_cache=0)

    def test_an_answer_is_kept_for_a_while_and_then_followed_by_another(
        self, settle: Settle, keeping: RunningServer, admin: Connection
    ) -> None:
        anna = settle(keeping)

        def is_kept(limit: int) -> bool:
            (before,) = anna.used("maxTotalInstances")
            admin.set_compute_quotas(anna.project_id, instances=limit)
            return anna.used("maxTotalInstances") == (before,)

        # A cloud that is slow enough lets an answer grow too old meanwhile.
        limit = next(limit for limit in range(20, 40) if is_kept(limit))
        until(lambda: anna.used("maxTotalInstances") == (limit,))

    def test_a_kept_answer_tells_its_growing_age(self, settle: Settle, keeping: RunningServer) -> None:
        anna = settle(keeping)
        anna.used("maxTotalInstances")
        until(lambda: _age(anna) >= 2)

    def test_one_users_are_not_anothers(self, settle: Settle, keeping: RunningServer) -> None:
        anna, ben = settle(keeping), settle(keeping)
        anna.volume(2)
        assert anna.used("totalGigabytesUsed") == (2,)
        assert ben.used("totalGigabytesUsed") == (0,)

    def test_where_none_is_kept_an_answer_is_no_older_than_its_call(self, settle: Settle) -> None:
        anna = settle()
        anna.used("maxTotalInstances")
        time.sleep(1.1)
        called_at = time.monotonic()
        assert _age(anna) <= time.monotonic() - called_at


def _age(resident: Resident) -> int:
    """In whole seconds, from when the cloud was asked."""
    told = resident.guest.call("GetUsageLimits").header("Age")
    assert told is not None
    return int(told)


def _flavors(resident: Resident) -> set[str]:
    return {flavor["name"] for flavor in resident.guest.data("GetFlavors")["flavors"]}
