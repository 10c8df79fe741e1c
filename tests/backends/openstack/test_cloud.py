"""Limits and flavors of a whole cloud: regions, missing and failing services, and the requests sent."""

import asyncio
from typing import Any

import pytest

from cloudconsole.backends.openstack.cloud import OpenStackCloud
from cloudconsole.backends.openstack.config import ClientLimits, Endpoint
from cloudconsole.core.ports import CloudCredentials, Tenant
from cloudconsole.spec.errors import LoginRequired, UpstreamFailed, UpstreamTimeout
from tests.backends.openstack.fake_cloud import Reply, client_limits
from tests.backends.openstack.small_openstack import ENDPOINT, NO_CACHING, PROJECT, SmallOpenStack, recorded

DETAILS = f"/quotas/{PROJECT}/details.json"


def error_of(
    small: SmallOpenStack, action: str = "usage_limits", tenant: Tenant | None = None, limits: ClientLimits = NO_CACHING
) -> type[BaseException]:
    """Return the type of the error that an action raises."""

    async def use(cloud: OpenStackCloud) -> type[BaseException]:
        with pytest.raises(Exception) as failure:
            await getattr(cloud, action)(tenant or small.tenant())
        return failure.type

    return small.run(use, limits)


def test_region_removed_from_config_is_omitted_in_open_sessions(openstack: SmallOpenStack) -> None:
    openstack.add_region("south")
    openstack.endpoint = Endpoint(ENDPOINT, regions=("south",))
    assert openstack.limits().record.max_total_cores == 20
    assert all(request.path.startswith("/south/") for request in openstack.fake.requests)


def test_requests_carry_token_and_request_id_but_no_api_version(openstack: SmallOpenStack) -> None:
    openstack.limits()
    assert len(openstack.fake.requests) == 3
    for request in openstack.fake.requests:
        assert (request.headers["X-Auth-Token"], request.headers["X-Request-ID"]) == ("token", "request-1")
        assert request.headers["X-OpenStack-Nova-API-Version"] is None
        assert request.headers["OpenStack-API-Version"] is None


def test_services_are_queried_concurrently(openstack: SmallOpenStack) -> None:
    openstack.add_region("south")
    recordings = [("compute", "/limits", "nova_limits"), ("volume", "/limits", "cinder_limits")]
    recordings += [("network", DETAILS, "neutron_quota_details")]
    for region in ("north", "south"):
        for service, path, name in recordings:
            openstack.respond(region, service, path, Reply(body=recorded(name), instead="freeze"))

    async def use(cloud: OpenStackCloud) -> int:
        reading = asyncio.create_task(cloud.usage_limits(openstack.tenant()))
        await asyncio.to_thread(openstack.fake.wait_for_requests, 6)
        openstack.fake.resume()
        return (await reading).record.max_total_cores

    assert openstack.run(use) == 40


@pytest.mark.parametrize(
    ("services", "cores", "volumes", "floating_ips"),
    [(["compute", "network"], 40, 10, 100), (["compute", "volume"], 40, 20, 50), (["network"], 20, 10, 100)],
)
def test_region_without_a_service_adds_nothing_to_its_limits(
    openstack: SmallOpenStack, services: list[str], cores: int, volumes: int, floating_ips: int
) -> None:
    openstack.add_region("south", services)
    record = openstack.limits().record
    assert (record.max_total_cores, record.max_total_volumes) == (cores, volumes)
    assert (record.max_total_floating_ips, record.max_security_group_rules) == (floating_ips, 100)


@pytest.mark.parametrize(
    ("services", "action"),
    [
        ({}, "usage_limits"),
        ({"north": {}}, "flavors"),
        ({"south": {"network": "http://127.0.0.1:9/v2.0"}}, "consumption"),
    ],
)
def test_catalog_without_compute_fails_with_a_log_message(
    openstack: SmallOpenStack, services: Any, action: str, caplog: pytest.LogCaptureFixture
) -> None:
    openstack.services = services
    assert error_of(openstack, action) is UpstreamFailed
    regions = ", ".join(services) or "none"
    text = f"no compute service for {ENDPOINT}: interface internal, regions all, of which the catalog has {regions}"
    assert caplog.messages == [text]


@pytest.mark.parametrize(
    ("service", "path", "body"),
    [
        ("compute", "/limits", {"limits": {"absolute": []}}),
        ("volume", "/limits", {"limits": {}}),
        ("network", DETAILS, {"quota": None}),
    ],
)
def test_malformed_response_is_an_upstream_failure(
    openstack: SmallOpenStack, service: str, path: str, body: Any
) -> None:
    openstack.respond_json("north", service, path, body)
    assert error_of(openstack) is UpstreamFailed


def test_slow_services_time_out_at_the_action_deadline(openstack: SmallOpenStack) -> None:
    for service, path in (("compute", "/limits"), ("volume", "/limits")):
        openstack.respond("north", service, path, Reply(instead="freeze"))
    assert error_of(openstack, limits=client_limits(action_seconds=0.2)) is UpstreamTimeout


def test_rejected_token_requires_login_despite_other_failures(openstack: SmallOpenStack) -> None:
    openstack.respond("north", "compute", "/limits", Reply(401))
    openstack.respond("north", "network", DETAILS, Reply(instead="freeze"))
    assert error_of(openstack) is LoginRequired


@pytest.mark.parametrize(
    ("endpoint", "token"),
    [(None, b""), ("https://elsewhere.example", b"token"), (ENDPOINT, b"")],
    ids=["no credentials", "removed endpoint", "removed key"],
)
def test_session_without_usable_credentials_requires_login(
    openstack: SmallOpenStack, endpoint: str | None, token: bytes
) -> None:
    credentials = endpoint and CloudCredentials(endpoint, "ruth", PROJECT, openstack.services, token)
    tenant = Tenant(1, "ruth", credentials or None, openstack.tenant().client)
    assert error_of(openstack, tenant=tenant) is LoginRequired


def test_flavors_of_all_regions_are_merged_in_the_order_of_their_names(openstack: SmallOpenStack) -> None:
    openstack.add_region("east")
    tiny, large = (
        {"name": "tiny", "vcpus": 1, "ram": 512, "disk": 1},
        {"name": "large", "vcpus": 2, "ram": 1, "disk": 1},
    )
    for region in ("north", "east"):
        openstack.respond_json(region, "compute", "/flavors/detail", {"flavors": [{"id": f"{region}-1", **tiny}]})
    openstack.add_region("south", ["compute"])
    openstack.respond_json("south", "compute", "/flavors/detail", {"flavors": [{"id": "south-1", **large}]})
    assert [each.id for each in openstack.flavors().record.flavors] == ["east-1", "south-1"]


@pytest.mark.parametrize("action", ["usage_limits", "flavors", "consumption"])
def test_failing_region_is_an_error_and_not_a_smaller_sum(openstack: SmallOpenStack, action: str) -> None:
    openstack.price_everything()
    openstack.add_region("south")
    for service, path in (("compute", "/limits"), ("compute", "/flavors/detail"), ("volume", "/volumes/detail")):
        openstack.respond("south", service, path, Reply(500))
    assert error_of(openstack, action) is UpstreamFailed


def test_other_requests_are_cancelled_when_one_fails(openstack: SmallOpenStack) -> None:
    openstack.respond("north", "volume", "/limits", Reply(500))
    openstack.respond("north", "compute", "/limits", Reply(instead="freeze"))

    async def use(cloud: OpenStackCloud) -> int:
        with pytest.raises(UpstreamFailed):
            await cloud.usage_limits(openstack.tenant())
        return len(asyncio.all_tasks()) - 1

    assert openstack.run(use) == 0
