"""Usage and costs of resources that a tenant creates and deletes."""

import csv
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from functools import wraps
from io import StringIO
from pathlib import Path
from typing import Any, ParamSpec

import pytest
from lab.cloud import Lab
from openstack.exceptions import ForbiddenException, HttpException

from tests.e2e.processes import command
from tests.harness import RunningServer
from tests.openstack.conftest import NewTenant, Serve
from tests.openstack.reference import Connection, hour_start
from tests.openstack.tenants import Tenant, TenantFactory, wait_until

pytestmark = pytest.mark.xdist_group("usage_and_costs")

Arguments = ParamSpec("Arguments")

# As in prices.yaml.
SMALL_SERVER = Decimal("0.12")
TINY_SERVER = Decimal("0.051") + Decimal("0.0130001")
VOLUME_GB = Decimal("0.0007")
IMAGE_GB = Decimal("0.00003")
BALANCER = Decimal("0.0333")

SERVER_FIELDS = ("totalInstancesUsed", "totalCoresUsed", "totalRAMUsed")
VOLUME_FIELDS = ("totalVolumesUsed", "totalGigabytesUsed", "totalSnapshotsUsed")


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


def within_an_hour(test: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Run a test that expects deleted resources to cost until the hour ends, and retry it if the hour changed.

    Such a test creates everything it needs.
    """

    @wraps(test)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        hour = hour_start()
        try:
            test(*args, **kwargs)
        except AssertionError:
            if hour_start() == hour:
                raise
            test(*args, **kwargs)

    return run


# Servers


@within_an_hour
def test_server_is_used_until_deleted_and_costs_until_hour_end(new_tenant: NewTenant, image: Any) -> None:
    anna = new_tenant()
    server = anna.server("m1.small", image)
    wait_until(lambda: anna.used(*SERVER_FIELDS) == (1, 1, 2048))
    assert anna.hourly() == {"instance": SMALL_SERVER}
    anna.cloud.compute.wait_for_server(server, interval=0.2, wait=300)
    anna.remove_server(server)
    wait_until(lambda: anna.used(*SERVER_FIELDS) == (0, 0, 0))
    assert anna.hourly() == {"instance": SMALL_SERVER}


@within_an_hour
def test_failed_server_counts_and_costs_after_deletion(
    new_tenant: NewTenant, factory: TenantFactory, admin: Connection, image: Any
) -> None:
    """The server is too large for any host, so Nova cannot schedule it."""
    anna = new_tenant()
    admin.set_compute_quotas(anna.project_id, ram=-1)
    with factory.flavor(anna.project_id, ram=2**30, vcpus=1) as flavor:
        server = anna.server(flavor.name, image)
        wait_until(lambda: anna.cloud.compute.get_server(server).status == "ERROR")
        costs = {"instance": Decimal("0.051") + 2**20 * Decimal("0.0130001")}
        assert anna.used(*SERVER_FIELDS) == (1, 1, 2**30)
        assert anna.hourly() == costs
        anna.remove_server(server)
        assert anna.hourly() == costs


@within_an_hour
def test_server_keeps_its_cost_after_its_flavor_is_deleted(
    new_tenant: NewTenant, factory: TenantFactory, image: Any
) -> None:
    anna = new_tenant()
    with factory.flavor(anna.project_id, ram=512, vcpus=1) as flavor:
        anna.server(flavor.name, image)
    assert anna.hourly() == {"instance": TINY_SERVER}


# Resources that the cloud no longer lists once they are deleted


def volume(tenant: Tenant) -> Callable[[], None]:
    created = tenant.volume(2)
    return lambda: tenant.remove_volume(created)


def own_image(tenant: Tenant) -> Callable[[], None]:
    created = tenant.image()
    return lambda: tenant.cloud.image.delete_image(created)


def load_balancer(tenant: Tenant) -> Callable[[], None]:
    balancers = tenant.cloud.load_balancer
    created = balancers.create_load_balancer(name="front", vip_subnet_id=tenant.subnet().id)
    balancers.wait_for_load_balancer(created.id, interval=0.2, wait=300)

    def remove() -> None:
        balancers.delete_load_balancer(created)
        wait_until(lambda: not list(balancers.load_balancers()))

    return remove


@pytest.mark.parametrize(
    ("create", "costs"),
    [(volume, {"volume": 2 * VOLUME_GB}), (own_image, {"image": IMAGE_GB}), (load_balancer, {"loadbalance": BALANCER})],
)
@pytest.mark.parametrize("is_observed", [False, True])
@within_an_hour
def test_deleted_resource_costs_until_its_hour_ends_if_it_was_observed(
    new_tenant: NewTenant, create: Callable[[Tenant], Callable[[], None]], costs: dict[str, Decimal], is_observed: bool
) -> None:
    anna = new_tenant()
    remove = create(anna)
    if is_observed:
        assert anna.hourly() == costs
    remove()
    assert anna.hourly() == (costs if is_observed else {})


# Resources that count in one place only, and quotas


def test_snapshot_uses_gigabytes_and_costs_nothing(new_tenant: NewTenant) -> None:
    anna = new_tenant()
    data = anna.volume(2)
    storage = anna.cloud.block_storage
    snapshot = storage.create_snapshot(volume_id=data.id, name="copy")
    storage.wait_for_status(snapshot, "available", interval=0.2, wait=300)
    assert anna.used(*VOLUME_FIELDS) == (1, 4, 1)
    assert anna.hourly() == {"volume": 2 * VOLUME_GB}


def test_floating_ip_is_counted_and_costs_nothing(new_tenant: NewTenant) -> None:
    anna = new_tenant()
    network = anna.cloud.network
    public = network.find_network("public", ignore_missing=False)
    network.create_ip(floating_network_id=public.id)
    assert anna.used("totalFloatingIpsUsed") == (1,)
    assert anna.hourly() == {}


def test_only_own_images_with_data_cost_even_if_hidden(new_tenant: NewTenant) -> None:
    anna, ben = new_tenant(), new_tenant()
    own, hidden = anna.image(), anna.image()
    anna.cloud.image.create_image(name="empty", disk_format="raw", container_format="bare")
    anna.cloud.image.update_image(hidden, is_hidden=True)
    anna.cloud.image.add_member(own, member=ben.project_id)
    ben.cloud.image.update_member(ben.project_id, own, status="accepted")
    assert [shared.id for shared in ben.cloud.image.images(visibility="shared")] == [own.id]
    assert (anna.hourly(), ben.hourly()) == ({"image": 2 * IMAGE_GB}, {})


def test_quota_change_is_visible(new_tenant: NewTenant, admin: Connection) -> None:
    anna = new_tenant()
    admin.set_compute_quotas(anna.project_id, instances=3, key_pairs=7, cores=-1)
    admin.set_volume_quotas(anna.project_id, volumes=4, gigabytes=-1, snapshots=2)
    admin.set_network_quotas(anna.project_id, floatingip=-1, security_group=5, security_group_rule=55)
    expected = {
        "maxTotalInstances": 3,
        "maxTotalKeypairs": 7,
        "maxTotalCores": -1,
        "maxTotalVolumes": 4,
        "maxTotalVolumeGigabytes": -1,
        "maxTotalSnapshots": 2,
        "maxTotalFloatingIps": -1,
        "maxSecurityGroups": 5,
        "maxSecurityGroupRules": 55,
    }
    assert anna.used(*expected) == tuple(expected.values())


# Estimates


def test_estimate_is_what_it_then_costs_and_what_the_cloud_allows(
    new_tenant: NewTenant, admin: Connection, image: Any
) -> None:
    anna = new_tenant()
    admin.set_compute_quotas(anna.project_id, instances=2, cores=-1, ram=-1)
    admin.set_volume_quotas(anna.project_id, volumes=-1, gigabytes=3)
    server, disk = {"res_type": "instance", "flavor": "m1.small"}, {"res_type": "volume", "size": 2}
    estimate = anna.client.data("GetEstimate", items=[{**server, "count": 2}, disk])
    assert (estimate["fits"], estimate["priced"]) == (True, True)

    for _ in range(2):
        anna.server("m1.small", image)
    anna.volume(2)
    wait_until(lambda: anna.used(*SERVER_FIELDS) == (2, 2, 4096))
    hourly = anna.hourly()
    assert hourly == {"instance": 2 * SMALL_SERVER, "volume": 2 * VOLUME_GB}
    assert Decimal(estimate["hour"]) == sum(hourly.values())
    assert [Decimal(item["hour"]) for item in estimate["items"]] == list(hourly.values())

    more = anna.client.data("GetEstimate", items=[server, disk])
    lacking = {need["quota"]: need["lacking"] for need in more["quotas"] if need["lacking"]}
    assert (more["fits"], lacking) == (False, {"instances": 1, "gigabytes": 1})
    with pytest.raises(ForbiddenException, match="Quota exceeded"):
        anna.server("m1.small", image)
    with pytest.raises(HttpException, match="exceeds"):
        anna.cloud.block_storage.create_volume(name="more", size=2)


# Costs over time


@within_an_hour
def test_costs_over_time_follow_what_the_cloud_has(new_tenant: NewTenant, image: Any) -> None:
    anna = new_tenant()

    def summary() -> dict[str, Decimal]:
        rows = anna.client.data("GetConsumptionsSummary")
        return {row["res_type"]: Decimal(row["amount"]) for row in rows if Decimal(row["amount"])}

    assert summary() == {}
    server, volume = anna.server("m1.small", image), anna.volume(2)
    costs = {"instance": SMALL_SERVER, "volume": 2 * VOLUME_GB, "allcategories": SMALL_SERVER + 2 * VOLUME_GB}
    wait_until(lambda: summary() == costs)
    anna.remove_server(server)
    anna.remove_volume(volume)
    wait_until(lambda: not any(row["is_billing"] for row in anna.client.data("GetConsumptionsByQuery")))
    assert summary() == costs
    rows = {row["res_id"]: row for row in anna.client.data("GetConsumptionsByQuery")}
    assert {(name, rows[name]["name"], Decimal(rows[name]["amount"])) for name in rows} == {
        (server.id, "web", SMALL_SERVER),
        (volume.id, "data", 2 * VOLUME_GB),
    }
    assert {row["region"] for row in rows.values()} == {anna.cloud.config.region_name}
    *_, month = anna.client.data("GetBillingReportList4NearlyYear")
    assert (Decimal(month["total"]), month["complete"]) == (costs["allcategories"], False)


def test_application_credential_is_enough_to_record_costs(
    serve: Serve, factory: TenantFactory, lab: Lab, tmp_path: Path
) -> None:
    project = factory.project()
    user = factory.user(project, default=project)
    file = tmp_path / "credentials"
    with closing(factory.connect(user, lab.regions[0])) as cloud:
        cloud.block_storage.create_volume(name="data", size=2)
        credential = cloud.identity.create_application_credential(
            user=cloud.current_user_id, name="console", roles=[{"name": "reader"}]
        )
        file.write_text(f"{credential.id} {credential.secret}\n")
        file.chmod(0o600)
        console = serve(f'application_credentials = "{file}"')

        def recorded() -> list[dict[str, str]]:
            month = datetime.now(UTC).strftime("%Y-%m")
            data = str(console.log_file.parent / "data")
            done = command("admin", "costs", "export", "--month", month, "--format", "csv", "--data", data)
            assert done.returncode == 0, done.stderr
            return list(csv.DictReader(StringIO(done.stdout)))

        row, *_ = wait_until(recorded)
    assert (row["tenant"], row["name"], row["size_gb"], row["region"]) == (project.name, "data", "2", lab.regions[0])
    assert Decimal(row["unit_price"]) == 2 * VOLUME_GB
    assert credential.secret not in console.log_file.read_text()
