"""What a project costs in an hour: what counts, at which price, and what the console remembers of what is gone."""

import shlex
from datetime import timedelta, timezone
from typing import Any

import pytest

from cloudconsole.backends.openstack.cloud import OpenStackCloud
from cloudconsole.backends.openstack.config import ClientLimits, Endpoint
from cloudconsole.cli.main import main
from cloudconsole.core.ports import PriceMissing
from cloudconsole.spec.errors import Unavailable, UpstreamFailed
from tests.backends.openstack.fake_cloud import Asked, Reply
from tests.backends.openstack.recordings import HOUR, PROJECT, pages, recorded, whole
from tests.backends.openstack.small_openstack import BASES, ENDPOINT, ONE, SmallOpenStack, hourly


@pytest.fixture
def priced(openstack: SmallOpenStack) -> SmallOpenStack:
    """A cloud in which a server, a GB and a load balancer cost 1 each."""
    openstack.price_everything()
    return openstack


def volume(volume_id: str, size: int, kind: str | None = "ssd") -> dict[str, Any]:
    return {"id": volume_id, "size": size, "volume_type": kind}


# What is asked, and what counts


def test_servers_volumes_images_and_load_balancers_count(priced: SmallOpenStack) -> None:
    assert priced.hourly() == {"instance": "3.00", "image": "2.00", "loadbalance": "2.00", "volume": "6.00"}


def test_servers_are_asked_for_at_first_as_nova_tells_of_what_it_cannot_reach(priced: SmallOpenStack) -> None:
    priced.consumption()
    first, second = priced.asked("/servers/detail")
    assert (first.query, second.query) == ({}, {"changes-since": "2026-11-15T20:00:00Z"})
    assert {first.headers["X-OpenStack-Nova-API-Version"], second.headers["X-OpenStack-Nova-API-Version"]} == {"2.69"}


def test_only_own_images_and_load_balancers_are_asked_for_and_hidden_images_too(priced: SmallOpenStack) -> None:
    priced.consumption()
    shown = {"owner": PROJECT, "limit": "1000"}
    queries = [asked.query for asked in priced.asked("/images")]
    assert sorted(queries, key=len) == [shown, {**shown, "os_hidden": "true"}]
    assert [asked.query for asked in priced.asked("/loadbalancers")] == [{"project_id": PROJECT}]


def test_a_hidden_image_counts(priced: SmallOpenStack) -> None:
    priced.answers("north", "image", "/images", Reply(body=recorded("glance_images_hidden")))
    assert priced.hourly()["image"] == "1.00"


def test_all_pages_of_all_lists_count(priced: SmallOpenStack) -> None:
    def paged(name: str, key: str) -> Any:
        def reply(asked: Asked) -> Reply:
            if "os_hidden" in asked.query:
                return Reply(body={key: []})
            told = pages(f"{name}_changed" if "changes-since" in asked.query else name)
            markers = [None, *(page[key][-1]["id"] for page in told[:-1])]
            return Reply(body=told[markers.index(asked.query.get("marker"))])

        return reply

    expected = priced.hourly()
    priced.answers("north", "compute", "/servers/detail", paged("nova_servers", "servers"))
    priced.answers("north", "volume", "/volumes/detail", paged("cinder_volumes", "volumes"))
    priced.answers("north", "image", "/images", paged("glance_images", "images"))
    priced.answers("north", "load-balancer", "/lbaas/loadbalancers", paged("octavia_loadbalancers", "loadbalancers"))
    assert priced.hourly() == expected


def test_all_regions_count(priced: SmallOpenStack) -> None:
    priced.add_region("south")
    assert priced.hourly() == {"instance": "6.00", "image": "4.00", "loadbalance": "4.00", "volume": "12.00"}


@pytest.mark.parametrize(
    ("missing", "kind"), [("load-balancer", "loadbalance"), ("volume", "volume"), ("image", "image")]
)
def test_a_region_without_a_service_has_nothing_of_it(priced: SmallOpenStack, missing: str, kind: str) -> None:
    alone = priced.hourly()
    priced.add_region("south", [service for service in BASES if service != missing])
    both = priced.hourly()
    assert both[kind] == alone[kind]
    assert both["instance"] == "6.00"


def test_nothing_at_all_costs_nothing_and_writes_nothing(priced: SmallOpenStack) -> None:
    priced.lists_nothing("north")
    assert priced.consumption().record == []
    assert priced.writes == 0


def test_a_server_of_a_part_of_the_cloud_that_is_down_is_a_failure(priced: SmallOpenStack) -> None:
    lost = {"id": "s", "status": "UNKNOWN", "tenant_id": PROJECT, "created": "2026-11-15T02:21:14Z", "links": []}
    priced.lists_servers("north", [*whole("nova_servers", "servers")["servers"], lost], [])
    with pytest.raises(UpstreamFailed):
        priced.consumption()


# Prices


def test_a_flavors_own_price_is_a_servers_whole_price(openstack: SmallOpenStack) -> None:
    openstack.price("instance", "vcpu", 10 * ONE)
    openstack.price("instance", "each", 7 * ONE, of="m1.medium")
    openstack.lists_nothing("north")
    openstack.lists_servers("north", *(whole(name, "servers")["servers"] for name in ("nova_servers",) * 2))
    assert openstack.hourly() == {"instance": "20.00"}
    openstack.lists_servers("north", [], whole("nova_servers_changed", "servers")["servers"])
    assert openstack.hourly() == {"instance": "27.00"}


def test_a_volume_of_an_unknown_type_has_the_price_of_all(openstack: SmallOpenStack) -> None:
    openstack.lists_nothing("north")
    openstack.lists("north", "volumes", [volume("a", 3), volume("b", 5, "of tomorrow"), volume("c", 7, None)])
    openstack.price("volume", "gb", ONE)
    openstack.price("volume", "gb", 100 * ONE, of="ssd")
    assert openstack.hourly() == {"volume": "312.00"}


def test_a_region_with_a_node_of_its_name_has_that_nodes_prices(priced: SmallOpenStack) -> None:
    priced.add_region("south")
    priced.add_node(1, "south")
    priced.price("loadbalance", "each", 5 * ONE, node=1)
    assert priced.hourly()["loadbalance"] == "12.00"


@pytest.mark.parametrize(
    ("kind", "told", "cost"),
    [
        ("instance", "an instance of type m1.tiny in region north", "7.00"),
        ("volume", "a volume of type __DEFAULT__ in region north", "42.00"),
        ("image", "an image in region north", "14.00"),
        ("loadbalance", "a loadbalance in region north", "14.00"),
    ],
)
def test_what_has_no_price_is_told_with_the_command_that_mends_it(
    openstack: SmallOpenStack, kind: str, told: str, cost: str
) -> None:
    openstack.price_everything(but=kind)
    openstack.lists_servers("north", whole("nova_servers", "servers")["servers"][:1], [])
    with pytest.raises(PriceMissing, match="at 2026-11-15T20:20:00Z") as missing:
        openstack.consumption()
    assert told in str(missing.value)
    command = str(missing.value).partition("add one with: ")[2].replace("PRICE", "7")
    assert main([*shlex.split(command)[1:], "--data", str(openstack.folder)]) == 0
    assert openstack.hourly()[kind] == cost


def test_what_was_deleted_is_priced_as_of_its_end(openstack: SmallOpenStack) -> None:
    """The recorded server was deleted at 20:14:17."""
    openstack.lists_nothing("north")
    openstack.lists_servers("north", [], whole("nova_servers_changed", "servers")["servers"][:1])
    openstack.price("instance", "each", ONE)
    openstack.price("instance", "each", 9 * ONE, since=HOUR + 900)
    assert openstack.hourly() == {"instance": "1.00"}


# Time


def test_an_answer_lasts_until_the_reading_is_old_the_hour_ends_or_a_price_changes(priced: SmallOpenStack) -> None:
    def lasts(moment: float) -> float:
        priced.clock.moment = moment
        fresh = priced.consumption(ClientLimits(cache_seconds=5))
        assert fresh.read_at == moment
        return fresh.expires_at - moment

    assert lasts(HOUR + 1200) == 5
    assert lasts(HOUR + 3598) == 2
    priced.price("volume", "gb", 2 * ONE, since=HOUR + 1203)
    assert lasts(HOUR + 1200) == 3


def test_the_hour_is_the_operators(priced: SmallOpenStack) -> None:
    priced.zone = timezone(timedelta(hours=5, minutes=45))
    priced.consumption()
    assert priced.asked("/servers/detail")[-1].query == {"changes-since": "2026-11-15T20:15:00Z"}


def test_a_new_price_counts_at_once_though_the_reading_is_kept(priced: SmallOpenStack) -> None:
    async def use(cloud: OpenStackCloud) -> None:
        assert hourly(await cloud.consumption(priced.tenant()))["loadbalance"] == "2.00"
        priced.price("loadbalance", "each", 4 * ONE, since=HOUR)
        assert hourly(await cloud.consumption(priced.tenant()))["loadbalance"] == "8.00"

    priced.run(use, ClientLimits(cache_seconds=60))
    assert len(priced.asked("/loadbalancers")) == 1


def test_a_kept_reading_does_not_go_over_into_the_next_hour(priced: SmallOpenStack) -> None:
    priced.clock.moment = HOUR + 3599

    async def use(cloud: OpenStackCloud) -> None:
        assert hourly(await cloud.consumption(priced.tenant()))["instance"] == "3.00"
        priced.clock.moment = HOUR + 3600
        priced.lists_servers("north", whole("nova_servers", "servers")["servers"], [])
        fresh = await cloud.consumption(priced.tenant())
        assert hourly(fresh)["instance"] == "2.00"
        assert fresh.read_at == HOUR + 3600

    priced.run(use, ClientLimits(cache_seconds=60))
    assert priced.asked("/servers/detail")[-1].query == {"changes-since": "2026-11-15T21:00:00Z"}


# What was seen and is gone


def test_what_was_seen_this_hour_counts_once_it_is_gone(priced: SmallOpenStack) -> None:
    seen = priced.hourly()
    priced.lists_nothing("north")
    assert priced.hourly() == {kind: cost for kind, cost in seen.items() if kind != "instance"}


def test_it_counts_no_more_in_the_next_hour(priced: SmallOpenStack) -> None:
    priced.consumption()
    priced.lists_nothing("north")
    priced.clock.moment = HOUR + 3600
    assert priced.hourly() == {}


def test_what_a_reading_saw_belongs_to_the_hour_that_it_was_begun_in(priced: SmallOpenStack) -> None:
    priced.clock.moment = HOUR + 3599

    def turn_the_hour(_asked: Asked) -> Reply:
        priced.clock.moment = HOUR + 3601
        return Reply(body={"volumes": [volume("v", 3)]})

    priced.lists_nothing("north")
    priced.answers("north", "volume", "/volumes/detail", turn_the_hour)
    assert priced.hourly() == {"volume": "3.00"}
    priced.lists_nothing("north")
    assert priced.hourly() == {}


def test_it_counts_as_it_was_last_seen(priced: SmallOpenStack) -> None:
    priced.lists_nothing("north")
    priced.price("volume", "gb", 10 * ONE, of="hdd")
    for size, kind in ((3, "ssd"), (5, "hdd")):
        priced.lists("north", "volumes", [volume("v", size, kind)])
        priced.consumption()
    priced.lists("north", "volumes", [])
    assert priced.hourly() == {"volume": "50.00"}


def test_it_costs_what_it_did_when_it_was_last_seen(priced: SmallOpenStack) -> None:
    priced.lists_nothing("north")
    priced.price("volume", "gb", 9 * ONE, since=HOUR + 1500)
    priced.lists("north", "volumes", [volume("v", 1)])
    costs = []
    for moment in (1200, 1800):
        priced.clock.moment = HOUR + moment
        costs.append(priced.hourly())
    priced.lists("north", "volumes", [])
    assert [*costs, priced.hourly()] == [{"volume": "1.00"}, {"volume": "9.00"}, {"volume": "9.00"}]
    assert priced.writes == 2


def test_it_is_written_only_when_it_is_new_or_has_changed(priced: SmallOpenStack) -> None:
    priced.consumption()
    priced.consumption()
    assert priced.writes == 1
    priced.clock.moment = HOUR + 3600
    priced.consumption()
    assert priced.writes == 2


@pytest.mark.parametrize("changes", [{"project": "another"}, {"user": "another"}])
def test_another_project_never_sees_it_but_another_user_of_it_does(
    priced: SmallOpenStack, changes: dict[str, str]
) -> None:
    priced.consumption()
    priced.lists_nothing("north")
    others = priced.run(lambda cloud: cloud.consumption(priced.tenant(**changes)))
    assert bool(others.record) == ("user" in changes)


def test_it_does_not_count_for_who_has_no_longer_that_region(priced: SmallOpenStack) -> None:
    priced.add_region("south")
    priced.lists_nothing("north")
    priced.consumption()
    del priced.services["south"]
    assert priced.hourly() == {}


def test_nor_where_the_operator_names_that_region_no_more(priced: SmallOpenStack) -> None:
    priced.add_region("south")
    priced.lists_nothing("north")
    priced.consumption()
    priced.endpoint = Endpoint(ENDPOINT, regions=("north",))
    assert priced.hourly() == {}


def test_what_cannot_be_written_down_is_no_answer(priced: SmallOpenStack) -> None:
    priced.fails_to_write = Unavailable()
    with pytest.raises(Unavailable):
        priced.consumption()
    priced.fails_to_write = None
    assert priced.hourly()["volume"] == "6.00"
