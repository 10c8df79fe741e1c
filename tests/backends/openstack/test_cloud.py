"""Limits and flavors of a whole cloud: regions, missing and failing services, and the requests sent."""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from cloudconsole.backends.openstack.cloud import OpenStackCloud
from cloudconsole.backends.openstack.config import ClientLimits, Endpoint
from cloudconsole.core.ports import CloudCredentials, Tenant
from cloudconsole.spec.errors import ApiError, LoginRequired, UpstreamFailed, UpstreamTimeout
from tests.backends.openstack.fake_cloud import RecordedRequest, Reply
from tests.backends.openstack.recordings import PROJECT, pages, recorded
from tests.backends.openstack.small_openstack import BASES, ENDPOINT, SmallOpenStack

DETAILS = f"/quotas/{PROJECT}/details.json"


def limits(**changes: Any) -> dict[str, Any]:
    return {"limits": {"rate": [], "absolute": recorded("nova_limits")["limits"]["absolute"] | changes}}


def error_of(small: SmallOpenStack, action: str = "usage_limits", tenant: Tenant | None = None) -> type[BaseException]:
    """Return the type of the error that an action raises."""

    async def use(cloud: OpenStackCloud) -> type[BaseException]:
        with pytest.raises(Exception) as failure:
            await getattr(cloud, action)(tenant or small.tenant())
        return failure.type

    return small.run(use)


# Limits


def test_limits_of_two_regions_are_summed(openstack: SmallOpenStack) -> None:
    openstack.add_region("south")
    record = openstack.limits().record
    assert (record.max_total_cores, record.total_cores_used, record.max_total_volumes) == (40, 4, 20)
    assert (record.max_total_floating_ips, record.max_security_group_rules, record.max_server_meta) == (100, 100, 128)


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
    all_arrived = threading.Barrier(6, timeout=30)
    recordings = {
        ("compute", "/limits"): "nova_limits",
        ("volume", "/limits"): "cinder_limits",
        ("network", DETAILS): "neutron_quota_details",
    }

    def reply_when_all_arrived(name: str) -> Callable[[RecordedRequest], Reply]:
        def reply(_request: RecordedRequest) -> Reply:
            all_arrived.wait()
            return Reply(body=recorded(name))

        return reply

    for region in ("north", "south"):
        for (service, path), name in recordings.items():
            openstack.respond(region, service, path, reply_when_all_arrived(name))
    assert openstack.limits().record.max_total_cores == 40


@pytest.mark.parametrize("service", ["volume", "network"])
def test_region_without_a_service_adds_nothing_to_its_limits(openstack: SmallOpenStack, service: str) -> None:
    alone = openstack.limits().record
    openstack.add_region("south", [each for each in BASES if each != service])
    record = openstack.limits().record
    assert record.max_total_cores == 2 * alone.max_total_cores
    both = (alone.max_total_volumes, alone.max_total_floating_ips)
    doubled = (2 * both[0], 2 * both[1])
    expected = (both[0], doubled[1]) if service == "volume" else (doubled[0], both[1])
    assert (record.max_total_volumes, record.max_total_floating_ips) == expected
    assert record.max_security_group_rules == 100


def test_network_only_region_adds_its_network_limits(openstack: SmallOpenStack) -> None:
    openstack.add_region("south", ["network"])
    record = openstack.limits().record
    assert (record.max_total_cores, record.max_total_floating_ips) == (20, 100)


@pytest.mark.parametrize("services", [{}, {"north": {}}, {"south": {"network": "http://127.0.0.1:9/v2.0"}}])
@pytest.mark.parametrize("action", ["usage_limits", "flavors", "consumption"])
def test_catalog_without_compute_fails_with_a_log_message(
    openstack: SmallOpenStack, services: Any, action: str, caplog: pytest.LogCaptureFixture
) -> None:
    openstack.services = services
    with caplog.at_level(logging.WARNING):
        assert error_of(openstack, action) is UpstreamFailed
    assert f"no compute service for {ENDPOINT}: interface internal, regions all, of which" in caplog.text
    assert all(region in caplog.text for region in services)


@pytest.mark.parametrize("cores", [None, "20", -2, 1.5, True])
def test_invalid_limit_is_an_upstream_failure(openstack: SmallOpenStack, cores: Any) -> None:
    openstack.respond_json("north", "compute", "/limits", limits(maxTotalCores=cores))
    assert error_of(openstack) is UpstreamFailed


@pytest.mark.parametrize("body", [None, {}, {"limits": None}, {"limits": {"absolute": []}}, {"limits": {}}])
def test_malformed_response_is_an_upstream_failure(openstack: SmallOpenStack, body: Any) -> None:
    openstack.respond_json("north", "volume", "/limits", body)
    assert error_of(openstack) is UpstreamFailed


@pytest.mark.parametrize("status", [403, 404, 500, 503])
def test_error_status_is_an_upstream_failure(openstack: SmallOpenStack, status: int) -> None:
    openstack.respond("north", "network", DETAILS, Reply(status, {"error": {}}))
    assert error_of(openstack) is UpstreamFailed


def test_slow_services_time_out_at_the_action_deadline(openstack: SmallOpenStack) -> None:
    for service, path in (("compute", "/limits"), ("volume", "/limits")):
        openstack.respond("north", service, path, Reply(instead="freeze"))

    async def use(cloud: OpenStackCloud) -> None:
        with pytest.raises(UpstreamTimeout):
            await cloud.usage_limits(openstack.tenant())

    openstack.run(use, ClientLimits(action_seconds=0.2))


def test_rejected_token_requires_login_despite_other_failures(openstack: SmallOpenStack) -> None:
    openstack.respond("north", "compute", "/limits", Reply(401))
    openstack.respond("north", "network", DETAILS, Reply(instead="freeze"))
    assert error_of(openstack) is LoginRequired


@pytest.mark.parametrize(
    "credentials",
    [
        None,
        CloudCredentials(
            "https://elsewhere.example", "ruth", PROJECT, {"north": {"compute": "http://x/v2.1"}}, b"token"
        ),
        CloudCredentials(ENDPOINT, "ruth", PROJECT, {"north": {"compute": "http://x/v2.1"}}, b""),
    ],
    ids=["none", "removed endpoint", "removed key"],
)
def test_session_without_usable_credentials_requires_login(
    openstack: SmallOpenStack, credentials: CloudCredentials | None
) -> None:
    tenant = Tenant(1, "ruth", credentials, openstack.tenant().client)
    assert error_of(openstack, tenant=tenant) is LoginRequired


# Flavors


def test_flavors_cover_all_regions_and_pages(openstack: SmallOpenStack) -> None:
    first, last = pages("nova_flavors")
    extra = [{**last["flavors"][0], "id": "south-1", "ram": 9216}, {**last["flavors"][0], "id": "south-2"}]
    openstack.add_region("south")

    def north(request: RecordedRequest) -> Reply:
        return Reply(body=last if request.query.get("marker") == first["flavors"][-1]["id"] else first)

    openstack.respond("north", "compute", "/flavors/detail", north)
    openstack.respond_json("south", "compute", "/flavors/detail", {"flavors": extra})
    record = openstack.flavors().record
    assert [each.id for each in record.flavors] == [
        *sorted((each["id"] for each in first["flavors"]), reverse=True),
        last["flavors"][0]["id"],
        "south-1",
    ]
    assert record.limits == {"1": [512, 2048], "2": [4096, 9216]}


def test_flavor_id_comes_from_the_first_region_by_name(openstack: SmallOpenStack) -> None:
    openstack.add_region("east")
    tiny = {"name": "tiny", "vcpus": 1, "ram": 512, "disk": 1}
    for region in ("north", "east"):
        openstack.respond_json(region, "compute", "/flavors/detail", {"flavors": [{"id": f"{region}-1", **tiny}]})
    assert [each.id for each in openstack.flavors().record.flavors] == ["east-1"]


# Partial failure


@pytest.mark.parametrize("action", ["usage_limits", "flavors", "consumption"])
def test_failing_region_is_an_error_and_not_a_smaller_sum(openstack: SmallOpenStack, action: str) -> None:
    openstack.price_everything()
    openstack.add_region("south")
    for service, path in (("compute", "/limits"), ("compute", "/flavors/detail"), ("volume", "/volumes/detail")):
        openstack.respond("south", service, path, Reply(500))
    kind = error_of(openstack, action)
    assert issubclass(kind, ApiError)
    assert kind is UpstreamFailed


def test_other_requests_are_cancelled_when_one_fails(openstack: SmallOpenStack) -> None:
    openstack.respond("north", "volume", "/limits", Reply(500))
    openstack.respond("north", "compute", "/limits", Reply(instead="freeze"))

    async def use(cloud: OpenStackCloud) -> int:
        with pytest.raises(UpstreamFailed):
            await cloud.usage_limits(openstack.tenant())
        return len(asyncio.all_tasks()) - 1

    assert openstack.run(use) == 0
