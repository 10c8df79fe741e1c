"""Hourly cost of a project: what counts, at which price, and resources that were observed and then deleted."""

import shlex
from datetime import timedelta, timezone
from typing import Any

import pytest
from msgspec.structs import replace

from cloudconsole.backends.openstack.cloud import OpenStackCloud
from cloudconsole.cli.main import main
from cloudconsole.core.ports import PriceMissing
from cloudconsole.spec.errors import Unavailable
from tests.backends.openstack.fake_cloud import RecordedRequest, Reply, client_limits
from tests.backends.openstack.small_openstack import HOUR, ONE, PROJECT, SmallOpenStack, hourly, pages, recorded_items


@pytest.fixture
def priced(openstack: SmallOpenStack) -> SmallOpenStack:
    """Price a server, a GB and a load balancer at 1 each."""
    openstack.price_everything()
    return openstack


def volume(volume_id: str, size: int, kind: str | None = "ssd") -> dict[str, Any]:
    return {"id": volume_id, "size": size, "volume_type": kind}


# Requests, and resources that count


def test_own_resources_and_changed_servers_are_listed(priced: SmallOpenStack) -> None:
    priced.consumption()
    first, second = priced.requests_to("/servers/detail")
    assert (first.query, second.query) == ({}, {"changes-since": "2026-11-15T20:00:00Z"})
    assert {first.headers["X-OpenStack-Nova-API-Version"], second.headers["X-OpenStack-Nova-API-Version"]} == {"2.69"}
    shown = {"owner": PROJECT, "limit": "1000"}
    queries = [request.query for request in priced.requests_to("/images")]
    assert sorted(queries, key=len) == [shown, {**shown, "os_hidden": "true"}]
    assert [request.query for request in priced.requests_to("/loadbalancers")] == [{"project_id": PROJECT}]


def test_all_pages_of_all_lists_count(priced: SmallOpenStack) -> None:
    def paged(name: str, key: str) -> Any:
        def reply(request: RecordedRequest) -> Reply:
            if "os_hidden" in request.query:
                return Reply(body={key: []})
            listed = pages(f"{name}_changed" if "changes-since" in request.query else name)
            markers = [None, *(page[key][-1]["id"] for page in listed[:-1])]
            return Reply(body=listed[markers.index(request.query.get("marker"))])

        return reply

    priced.respond("north", "compute", "/servers/detail", paged("nova_servers", "servers"))
    priced.respond("north", "volume", "/volumes/detail", paged("cinder_volumes", "volumes"))
    priced.respond("north", "image", "/images", paged("glance_images", "images"))
    priced.respond("north", "load-balancer", "/lbaas/loadbalancers", paged("octavia_loadbalancers", "loadbalancers"))
    assert priced.hourly() == {"instance": "3.00", "image": "2.00", "loadbalance": "2.00", "volume": "6.00"}


@pytest.mark.parametrize(
    ("missing", "kind"), [("load-balancer", "loadbalance"), ("volume", "volume"), ("image", "image")]
)
def test_all_regions_count_as_far_as_they_have_the_service(priced: SmallOpenStack, missing: str, kind: str) -> None:
    alone = priced.hourly()
    priced.add_region("south", [service for service in priced.services["north"] if service != missing])
    both = priced.hourly()
    assert both[kind] == alone[kind]
    assert both["instance"] == "6.00"


# Prices


def test_volume_of_an_unpriced_type_has_the_general_price(openstack: SmallOpenStack) -> None:
    openstack.clear_region("north")
    openstack.set_items("north", "volumes", [volume("a", 3), volume("b", 5, "of tomorrow"), volume("c", 7, None)])
    openstack.price("volume", "gb", ONE)
    openstack.price("volume", "gb", 100 * ONE, of="ssd")
    assert openstack.hourly() == {"volume": "312.00"}


@pytest.mark.parametrize(
    ("kind", "resource", "cost"),
    [
        ("instance", "an instance of type m1.tiny in region north", "7.00"),
        ("volume", "a volume of type __DEFAULT__ in region north", "42.00"),
        ("image", "an image in region north", "14.00"),
        ("loadbalance", "a loadbalance in region north", "14.00"),
    ],
)
def test_missing_price_error_suggests_a_working_command(
    openstack: SmallOpenStack, kind: str, resource: str, cost: str
) -> None:
    openstack.price_everything(but=kind)
    openstack.set_servers("north", recorded_items("nova_servers")[:1], [])
    with pytest.raises(PriceMissing, match="at 2026-11-15T20:20:00Z") as missing:
        openstack.consumption()
    assert resource in str(missing.value)
    command = str(missing.value).partition("add one with: ")[2].replace("PRICE", "7")
    assert main([*shlex.split(command)[1:], "--data", str(openstack.data_dir)]) == 0
    assert openstack.hourly()[kind] == cost


# Time


def test_result_expires_with_the_read_the_hour_or_the_price(priced: SmallOpenStack) -> None:
    def lifetime_at(moment: float) -> float:
        priced.clock.moment = moment
        result = priced.consumption(client_limits(cache_seconds=5))
        assert result.read_at == moment
        return result.expires_at - moment

    assert lifetime_at(HOUR + 1200) == 5
    assert lifetime_at(HOUR + 3598) == 2
    priced.price("volume", "gb", 2 * ONE, since=HOUR + 1203)
    assert lifetime_at(HOUR + 1200) == 3


def test_hour_is_in_the_operators_time_zone(priced: SmallOpenStack) -> None:
    priced.zone = timezone(timedelta(hours=5, minutes=45))
    priced.consumption()
    assert priced.requests_to("/servers/detail")[-1].query == {"changes-since": "2026-11-15T20:15:00Z"}


def test_new_price_applies_immediately_to_a_cached_read(priced: SmallOpenStack) -> None:
    async def use(cloud: OpenStackCloud) -> None:
        assert hourly(await cloud.consumption(priced.tenant()))["loadbalance"] == "2.00"
        priced.price("loadbalance", "each", 4 * ONE, since=HOUR)
        assert hourly(await cloud.consumption(priced.tenant()))["loadbalance"] == "8.00"

    priced.run(use, client_limits(cache_seconds=60))
    assert len(priced.requests_to("/loadbalancers")) == 1


def test_cached_read_is_not_used_in_the_next_hour(priced: SmallOpenStack) -> None:
    priced.clock.moment = HOUR + 3599

    async def use(cloud: OpenStackCloud) -> None:
        assert hourly(await cloud.consumption(priced.tenant()))["instance"] == "3.00"
        priced.clock.moment = HOUR + 3600
        priced.set_servers("north", recorded_items("nova_servers"), [])
        assert hourly(await cloud.consumption(priced.tenant()))["instance"] == "2.00"

    priced.run(use, client_limits(cache_seconds=60))
    assert priced.requests_to("/servers/detail")[-1].query == {"changes-since": "2026-11-15T21:00:00Z"}


# Observed resources that are deleted


@pytest.mark.parametrize(("moment", "kinds"), [(3599, {"image", "loadbalance", "volume"}), (3600, set())])
def test_deleted_resource_counts_in_the_hour_it_was_observed_in(
    priced: SmallOpenStack, moment: int, kinds: set[str]
) -> None:
    before = priced.hourly()
    priced.clear_region("north")
    priced.clock.moment = HOUR + moment
    assert priced.hourly() == {kind: before[kind] for kind in kinds}


def test_observation_belongs_to_the_hour_its_read_started_in(priced: SmallOpenStack) -> None:
    priced.clock.moment = HOUR + 3599

    def advance_the_hour(_request: RecordedRequest) -> Reply:
        priced.clock.moment = HOUR + 3601
        return Reply(body={"volumes": [volume("v", 3)]})

    priced.clear_region("north")
    priced.respond("north", "volume", "/volumes/detail", advance_the_hour)
    assert priced.hourly() == {"volume": "3.00"}
    priced.clear_region("north")
    assert priced.hourly() == {}


def test_deleted_resource_counts_as_last_observed(priced: SmallOpenStack) -> None:
    priced.clear_region("north")
    priced.price("volume", "gb", 10 * ONE, of="hdd")
    for size, kind in ((3, "ssd"), (5, "hdd")):
        priced.set_items("north", "volumes", [volume("v", size, kind)])
        priced.consumption()
    priced.set_items("north", "volumes", [])
    assert priced.hourly() == {"volume": "50.00"}


def test_deleted_resource_costs_the_price_when_last_observed(priced: SmallOpenStack) -> None:
    priced.clear_region("north")
    priced.price("volume", "gb", 9 * ONE, since=HOUR + 1500)
    priced.set_items("north", "volumes", [volume("v", 1)])
    costs = []
    for moment in (1200, 1300, 1800, 1900):
        priced.clock.moment = HOUR + moment
        costs.append(priced.hourly()["volume"])
    priced.set_items("north", "volumes", [])
    assert [*costs, priced.hourly()["volume"]] == ["1.00", "1.00", "9.00", "9.00", "9.00"]
    # Unchanged observations are written again only under a new price.
    assert priced.writes == 2


@pytest.mark.parametrize("changes", [{"project": "another"}, {"user": "another"}])
def test_observations_are_shared_only_within_a_project(priced: SmallOpenStack, changes: dict[str, str]) -> None:
    priced.consumption()
    priced.clear_region("north")
    others = priced.run(lambda cloud: cloud.consumption(priced.tenant(**changes)))
    assert bool(others.record) == ("user" in changes)


@pytest.mark.parametrize("source", ["catalog", "settings"])
def test_observations_outside_the_usable_regions_do_not_count(priced: SmallOpenStack, source: str) -> None:
    priced.add_region("south")
    priced.clear_region("north")
    priced.consumption()
    if source == "catalog":
        del priced.services["south"]
    else:
        priced.endpoint = replace(priced.endpoint, regions=("north",))
    assert priced.hourly() == {}


def test_failed_observation_write_fails_the_request(priced: SmallOpenStack) -> None:
    priced.write_error = Unavailable()
    with pytest.raises(Unavailable):
        priced.consumption()
    priced.write_error = None
    assert priced.hourly()["volume"] == "6.00"
