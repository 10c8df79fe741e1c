"""Limits and flavors of a whole cloud: regions, services that are missing or fail, and what is asked of them."""

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
from tests.backends.openstack.fake_cloud import Asked, Reply
from tests.backends.openstack.recordings import PROJECT, pages, recorded
from tests.backends.openstack.small_openstack import BASES, ENDPOINT, SmallOpenStack

DETAILS = f"/quotas/{PROJECT}/details.json"


def limits(**changes: Any) -> dict[str, Any]:
    return {"limits": {"rate": [], "absolute": recorded("nova_limits")["limits"]["absolute"] | changes}}


def failing(small: SmallOpenStack, action: str = "usage_limits", tenant: Tenant | None = None) -> type[BaseException]:
    """How an action fails."""

    async def use(cloud: OpenStackCloud) -> type[BaseException]:
        with pytest.raises(Exception) as failure:
            await getattr(cloud, action)(tenant or small.tenant())
        return failure.type

    return small.run(use)


# Limits


def test_two_regions_add_up(openstack: SmallOpenStack) -> None:
    openstack.add_region("south")
    record = openstack.limits().record
    assert (record.max_total_cores, record.total_cores_used, record.max_total_volumes) == (40, 4, 20)
    assert (record.max_total_floating_ips, record.max_security_group_rules, record.max_server_meta) == (100, 100, 128)


def test_a_region_that_the_operator_names_no_more_is_left_out_of_older_sessions(openstack: SmallOpenStack) -> None:
    openstack.add_region("south")
    openstack.endpoint = Endpoint(ENDPOINT, regions=("south",))
    assert openstack.limits().record.max_total_cores == 20
    assert all(asked.path.startswith("/south/") for asked in openstack.double.asked)


def test_the_tenants_token_and_request_go_along_and_no_version_is_asked_for(openstack: SmallOpenStack) -> None:
    openstack.limits()
    assert len(openstack.double.asked) == 3
    for asked in openstack.double.asked:
        assert (asked.headers["X-Auth-Token"], asked.headers["X-Request-ID"]) == ("token", "request-1")
        assert asked.headers["X-OpenStack-Nova-API-Version"] is None
        assert asked.headers["OpenStack-API-Version"] is None


def test_all_services_are_asked_at_once(openstack: SmallOpenStack) -> None:
    openstack.add_region("south")
    all_there = threading.Barrier(6, timeout=30)
    recordings = {
        ("compute", "/limits"): "nova_limits",
        ("volume", "/limits"): "cinder_limits",
        ("network", DETAILS): "neutron_quota_details",
    }

    def reply_once_all_are_there(name: str) -> Callable[[Asked], Reply]:
        def reply(_asked: Asked) -> Reply:
            all_there.wait()
            return Reply(body=recorded(name))

        return reply

    for region in ("north", "south"):
        for (service, path), name in recordings.items():
            openstack.answers(region, service, path, reply_once_all_are_there(name))
    assert openstack.limits().record.max_total_cores == 40


@pytest.mark.parametrize("service", ["volume", "network"])
def test_a_region_without_a_service_adds_nothing_to_its_figures(openstack: SmallOpenStack, service: str) -> None:
    alone = openstack.limits().record
    openstack.add_region("south", [each for each in BASES if each != service])
    record = openstack.limits().record
    assert record.max_total_cores == 2 * alone.max_total_cores
    both = (alone.max_total_volumes, alone.max_total_floating_ips)
    doubled = (2 * both[0], 2 * both[1])
    expected = (both[0], doubled[1]) if service == "volume" else (doubled[0], both[1])
    assert (record.max_total_volumes, record.max_total_floating_ips) == expected
    assert record.max_security_group_rules == 100


def test_a_region_that_only_has_a_network_adds_its_own(openstack: SmallOpenStack) -> None:
    openstack.add_region("south", ["network"])
    record = openstack.limits().record
    assert (record.max_total_cores, record.max_total_floating_ips) == (20, 100)


@pytest.mark.parametrize("services", [{}, {"north": {}}, {"south": {"network": "http://127.0.0.1:9/v2.0"}}])
@pytest.mark.parametrize("action", ["usage_limits", "flavors", "consumption"])
def test_a_catalog_without_compute_is_a_failure_that_the_log_explains(
    openstack: SmallOpenStack, services: Any, action: str, caplog: pytest.LogCaptureFixture
) -> None:
    openstack.services = services
    with caplog.at_level(logging.WARNING):
        assert failing(openstack, action) is UpstreamFailed
    assert f"no compute service for {ENDPOINT}: interface internal, regions all, of which" in caplog.text
    assert all(region in caplog.text for region in services)


@pytest.mark.parametrize("cores", [None, "20", -2, 1.5, True])
def test_a_limit_that_is_none_is_a_failure(openstack: SmallOpenStack, cores: Any) -> None:
    openstack.says("north", "compute", "/limits", limits(maxTotalCores=cores))
    assert failing(openstack) is UpstreamFailed


@pytest.mark.parametrize("body", [None, {}, {"limits": None}, {"limits": {"absolute": []}}, {"limits": {}}])
def test_an_answer_of_another_form_is_a_failure(openstack: SmallOpenStack, body: Any) -> None:
    openstack.says("north", "volume", "/limits", body)
    assert failing(openstack) is UpstreamFailed


@pytest.mark.parametrize("status", [403, 404, 500, 503])
def test_a_service_that_refuses_is_a_failure(openstack: SmallOpenStack, status: int) -> None:
    openstack.answers("north", "network", DETAILS, Reply(status, {"error": {}}))
    assert failing(openstack) is UpstreamFailed


def test_a_slow_service_is_a_timeout_and_an_action_has_one_deadline(openstack: SmallOpenStack) -> None:
    for service, path in (("compute", "/limits"), ("volume", "/limits")):
        openstack.answers("north", service, path, Reply(instead="freeze"))

    async def use(cloud: OpenStackCloud) -> None:
        with pytest.raises(UpstreamTimeout):
            await cloud.usage_limits(openstack.tenant())

    openstack.run(use, ClientLimits(action_seconds=0.2))


def test_a_refused_token_asks_for_a_login_whatever_else_fails(openstack: SmallOpenStack) -> None:
    openstack.answers("north", "compute", "/limits", Reply(401))
    openstack.answers("north", "network", DETAILS, Reply(instead="freeze"))
    assert failing(openstack) is LoginRequired


@pytest.mark.parametrize(
    "access",
    [
        None,
        CloudCredentials(
            "https://elsewhere.example", "ruth", PROJECT, {"north": {"compute": "http://x/v2.1"}}, b"token"
        ),
        CloudCredentials(ENDPOINT, "ruth", PROJECT, {"north": {"compute": "http://x/v2.1"}}, b""),
    ],
    ids=["none", "an endpoint that was taken away", "a key that was taken away"],
)
def test_a_session_that_nothing_can_be_asked_with_is_over(
    openstack: SmallOpenStack, access: CloudCredentials | None
) -> None:
    tenant = Tenant(1, "ruth", access, openstack.tenant().client)
    assert failing(openstack, tenant=tenant) is LoginRequired


# Flavors


def test_flavors_of_all_regions_by_all_pages(openstack: SmallOpenStack) -> None:
    first, last = pages("nova_flavors")
    extra = [{**last["flavors"][0], "id": "south-1", "ram": 9216}, {**last["flavors"][0], "id": "south-2"}]
    openstack.add_region("south")

    def north(asked: Asked) -> Reply:
        return Reply(body=last if asked.query.get("marker") == first["flavors"][-1]["id"] else first)

    openstack.answers("north", "compute", "/flavors/detail", north)
    openstack.says("south", "compute", "/flavors/detail", {"flavors": extra})
    record = openstack.flavors().record
    assert [each.id for each in record.flavors] == [
        *sorted((each["id"] for each in first["flavors"]), reverse=True),
        last["flavors"][0]["id"],
        "south-1",
    ]
    assert record.limits == {"1": [512, 2048], "2": [4096, 9216]}


def test_the_first_region_by_name_gives_the_id(openstack: SmallOpenStack) -> None:
    openstack.add_region("east")
    tiny = {"name": "tiny", "vcpus": 1, "ram": 512, "disk": 1}
    for region in ("north", "east"):
        openstack.says(region, "compute", "/flavors/detail", {"flavors": [{"id": f"{region}-1", **tiny}]})
    assert [each.id for each in openstack.flavors().record.flavors] == ["east-1"]


# One failure of many


@pytest.mark.parametrize("action", ["usage_limits", "flavors", "consumption"])
def test_a_region_that_fails_is_an_error_and_never_a_smaller_sum(openstack: SmallOpenStack, action: str) -> None:
    openstack.price_everything()
    openstack.add_region("south")
    for service, path in (("compute", "/limits"), ("compute", "/flavors/detail"), ("volume", "/volumes/detail")):
        openstack.answers("south", service, path, Reply(500))
    kind = failing(openstack, action)
    assert issubclass(kind, ApiError)
    assert kind is UpstreamFailed


def test_what_else_was_asked_is_let_go_when_one_fails(openstack: SmallOpenStack) -> None:
    openstack.answers("north", "volume", "/limits", Reply(500))
    openstack.answers("north", "compute", "/limits", Reply(instead="freeze"))

    async def use(cloud: OpenStackCloud) -> int:
        with pytest.raises(UpstreamFailed):
            await cloud.usage_limits(openstack.tenant())
        return len(asyncio.all_tasks()) - 1

    assert openstack.run(use) == 0
