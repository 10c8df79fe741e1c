"""Estimated costs: what counts in an hour, at which size, node and price; also checked against a per-resource sum."""

import random
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from functools import cache, partial
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import text

from cloudconsole.core.clock import format_utc
from cloudconsole.core.resources import Kind
from cloudconsole.operator.entities import RESOURCES
from cloudconsole.operator.errors import OperatorError
from cloudconsole.store import counters
from cloudconsole.store.sql import insert_rows
from cloudconsole.store.tables import nodes, prices, resources
from tests.backends.embedded.small_cloud import ACME, LONG_AGO, NORTH, ONE, RIVAL, SOUTH, SmallCloud, at
from tests.harness import ApiClient


@pytest.fixture
def priced(cloud: SmallCloud) -> SmallCloud:
    """Price a GB of volume at 1 per hour on every node; it is 12:20."""
    cloud.price("volume", "gb", ONE)
    return cloud


# Resources that count in the hour


def test_no_resources_cost_nothing(priced: SmallCloud) -> None:
    assert priced.consumption().record == []


def test_running_resource_counts(priced: SmallCloud) -> None:
    priced.volume(10)
    assert priced.volume_cost() == 10


@pytest.mark.parametrize(
    ("since", "until", "cost"),
    [
        ("00:00", "12:00:01", 10),
        ("00:00", "12:19:59", 10),
        ("00:00", "12:20", 10),
        ("00:00", "12:20:01", 10),
        ("00:00", "12:59:59", 10),
        ("00:00", "18:00", 10),
        ("12:05", "12:06", 10),
        ("12:05", "12:05", 10),
        ("12:20", "12:20", 10),
        ("12:20", "13:00", 10),
        ("12:00", "12:00", 10),
        ("00:00", "12:00", 10),
        ("00:00", "11:59:59", 0),
        ("00:00", "00:00", 0),
        ("12:20:01", "12:30", 0),
        ("12:59:59", "18:00", 0),
        ("13:00", "18:00", 0),
    ],
)
def test_resource_with_an_end_counts_by_its_interval(priced: SmallCloud, since: str, until: str, cost: int) -> None:
    priced.volume(10, since=at(since), until=at(until))
    assert priced.volume_cost() == cost


@pytest.mark.parametrize(
    ("since", "cost"), [("11:00", 10), ("12:00", 10), ("12:20", 10), ("12:20:01", 0), ("12:59:59", 0), ("13:00", 0)]
)
def test_resource_without_an_end_counts_once_started(priced: SmallCloud, since: str, cost: int) -> None:
    priced.volume(10, since=at(since))
    assert priced.volume_cost() == cost


def test_resource_deleted_this_hour_counts_once_at_full_price(priced: SmallCloud) -> None:
    gone = priced.volume(10)
    priced.end(gone, at("12:00:30"))
    assert priced.volume_cost() == 10


def test_each_recreated_resource_counts(priced: SmallCloud) -> None:
    for minute in range(10):
        priced.volume(1, since=at(f"12:{minute:02}"), until=at(f"12:{minute:02}:30"))
    priced.volume(1, since=at("12:15"))
    assert priced.volume_cost() == 11


def test_resource_does_not_count_a_millisecond_before_its_start(priced: SmallCloud) -> None:
    priced.volume(10, since=at("12:30"))
    priced.clock.moment = at("12:30") - 0.001
    assert priced.volume_cost() == 0


def test_resource_counts_from_its_start(priced: SmallCloud) -> None:
    priced.volume(10, since=at("12:30"))
    priced.clock.moment = at("12:30")
    assert priced.volume_cost() == 10


def test_removed_resource_does_not_count(priced: SmallCloud) -> None:
    for until in (None, at("12:10")):
        gone = priced.volume(10, until=until)
        with priced.transaction() as transaction:
            RESOURCES.remove(transaction, gone)
    assert priced.volume_cost() == 0


def test_resources_of_other_tenants_do_not_count(priced: SmallCloud) -> None:
    priced.volume(10, tenant=RIVAL)
    priced.volume(7, tenant=RIVAL, until=at("12:10"))
    priced.volume(5, tenant=RIVAL, since=at("12:40"))
    assert priced.hourly(ACME) == {}
    assert priced.hourly(RIVAL) == {"volume": 17}


def test_resources_on_all_nodes_add_up(priced: SmallCloud) -> None:
    priced.volume(10, node=NORTH)
    priced.volume(5, node=SOUTH)
    assert priced.volume_cost() == 15


# Size and node: the latest ones count


@pytest.mark.parametrize("size", [25, 4])
def test_resized_resource_counts_at_its_new_size(priced: SmallCloud, size: int) -> None:
    resized = priced.volume(10)
    priced.resize(resized, size_gb=size)
    assert priced.volume_cost() == size


def test_resource_resized_then_deleted_counts_at_its_last_size(priced: SmallCloud) -> None:
    resized = priced.volume(10)
    priced.resize(resized, size_gb=30)
    priced.end(resized, at("12:10"))
    assert priced.volume_cost() == 30


def test_resource_resized_before_its_start_counts_from_then(priced: SmallCloud) -> None:
    resized = priced.volume(10, since=at("12:40"))
    priced.resize(resized, size_gb=30)
    assert priced.volume_cost() == 0
    priced.clock.moment = at("12:40")
    assert priced.volume_cost() == 30


def test_moved_resource_counts_once_at_its_new_nodes_price(priced: SmallCloud) -> None:
    priced.price("volume", "gb", 3 * ONE, node=SOUTH)
    moved = priced.volume(10, node=NORTH)
    priced.resize(moved, node=SOUTH)
    assert priced.volume_cost() == 30


def test_resource_moved_then_deleted_costs_its_last_nodes_price(priced: SmallCloud) -> None:
    priced.price("volume", "gb", 3 * ONE, node=SOUTH)
    moved = priced.volume(10, node=SOUTH)
    priced.resize(moved, node=NORTH)
    priced.end(moved, at("12:10"))
    assert priced.volume_cost() == 10


# Prices


def test_typed_price_affects_neither_cost_nor_expiry(priced: SmallCloud) -> None:
    priced.volume(10)
    until = priced.consumption().expires_at
    priced.price("volume", "gb", 7 * ONE, node=NORTH, of="ssd")
    priced.price("volume", "gb", 8 * ONE, of="ssd", since=at("12:31"))
    assert priced.volume_cost() == 10
    assert priced.consumption().expires_at == until


def test_node_price_overrides_the_general_price(priced: SmallCloud) -> None:
    priced.price("volume", "gb", 2 * ONE, node=SOUTH)
    priced.volume(10, node=NORTH)
    priced.volume(10, node=SOUTH)
    assert priced.volume_cost() == 30


@pytest.mark.parametrize(
    ("changed", "cost"), [("12:10", 20), ("12:20", 20), ("12:20:01", 10), ("12:59", 10), ("11:00", 20)]
)
def test_running_resource_costs_the_current_price(priced: SmallCloud, changed: str, cost: int) -> None:
    priced.price("volume", "gb", 2 * ONE, since=at(changed))
    priced.volume(10)
    assert priced.volume_cost() == cost


@pytest.mark.parametrize(("changed", "cost"), [("12:04:59", 20), ("12:05:01", 10), ("12:15", 10), ("12:30", 10)])
def test_ended_resource_costs_the_price_at_its_end(priced: SmallCloud, changed: str, cost: int) -> None:
    priced.price("volume", "gb", 2 * ONE, since=at(changed))
    priced.volume(10, until=at("12:05"))
    assert priced.volume_cost() == cost


@pytest.mark.parametrize(("changed", "cost"), [("12:10", 20), ("12:25", 10)])
def test_resource_with_a_future_end_costs_the_current_price(priced: SmallCloud, changed: str, cost: int) -> None:
    priced.price("volume", "gb", 2 * ONE, since=at(changed))
    priced.volume(10, until=at("12:30"))
    assert priced.volume_cost() == cost


def test_running_and_ended_resources_cost_their_own_prices(priced: SmallCloud) -> None:
    priced.price("volume", "gb", 2 * ONE, since=at("12:10"))
    priced.volume(10)
    priced.volume(10, until=at("12:05"))
    priced.volume(10, until=at("12:15"))
    assert priced.volume_cost() == 20 + 10 + 20


def test_future_price_of_a_future_resource_changes_nothing_yet(priced: SmallCloud) -> None:
    priced.price("loadbalance", "each", ONE, since=at("13:00"))
    priced.record("loadbalance", since=at("13:30"))
    priced.volume(10)
    assert priced.hourly() == {"volume": 10}


def test_future_price_counts_once_its_resource_starts(priced: SmallCloud) -> None:
    priced.price("loadbalance", "each", ONE, since=at("13:00"))
    priced.record("loadbalance", since=at("13:30"))
    priced.clock.moment = at("13:30")
    assert priced.hourly() == {"loadbalance": 1}


def test_future_resource_on_a_not_yet_priced_node_is_ignored(cloud: SmallCloud) -> None:
    cloud.price("volume", "gb", ONE, node=NORTH)
    cloud.price("volume", "gb", 5 * ONE, node=SOUTH, since=at("15:00"))
    cloud.volume(10, node=NORTH)
    cloud.volume(10, node=SOUTH, since=at("16:00"))
    cloud.volume(10, node=SOUTH, since=at("16:00"), until=at("17:00"))
    assert cloud.volume_cost() == 10


def test_free_kind_is_omitted(cloud: SmallCloud) -> None:
    cloud.price("volume", "gb", 0)
    cloud.price("loadbalance", "each", ONE)
    cloud.volume(10)
    cloud.record("loadbalance")
    assert cloud.hourly() == {"loadbalance": 1}


def test_kind_can_be_free_on_one_node(priced: SmallCloud) -> None:
    priced.price("volume", "gb", 0, node=SOUTH)
    priced.volume(10, node=NORTH)
    priced.volume(10, node=SOUTH)
    assert priced.volume_cost() == 10


def test_billable_resource_without_a_price_is_rejected(cloud: SmallCloud) -> None:
    cloud.price("volume", "gb", ONE, node=NORTH)
    with pytest.raises(OperatorError, match="price"):
        cloud.volume(10, node=SOUTH)
    assert cloud.consumption().record == []


# Kinds and units


def test_instance_cost_is_the_sum_of_its_units(cloud: SmallCloud) -> None:
    cloud.price("instance", "each", 100 * ONE)
    cloud.price("instance", "vcpu", 10 * ONE)
    cloud.price("instance", "ram_gb", ONE)
    cloud.instance(vcpus=4, ram_mb=8192)
    assert cloud.hourly() == {"instance": 100 + 4 * 10 + 8}


def test_an_instances_disk_costs_nothing(cloud: SmallCloud) -> None:
    cloud.price("instance", "vcpu", ONE)
    cloud.instance(vcpus=1, disk_gb=500)
    assert cloud.hourly() == {"instance": 1}


@pytest.mark.parametrize(
    ("ram_mb", "gb"), [(1, 1), (512, 1), (1023, 1), (1024, 1), (1025, 2), (1536, 2), (2048, 2), (2**31 - 1, 2**21)]
)
@pytest.mark.parametrize("until", [None, at("12:10")])
def test_ram_is_rounded_up_to_whole_gb(cloud: SmallCloud, until: int | None, ram_mb: int, gb: int) -> None:
    cloud.price("instance", "ram_gb", ONE)
    cloud.instance(ram_mb=ram_mb, until=until)
    assert cloud.hourly() == {"instance": gb}


@pytest.mark.parametrize("until", [None, at("12:10")])
def test_ram_is_rounded_per_instance(cloud: SmallCloud, until: int | None) -> None:
    cloud.price("instance", "ram_gb", ONE)
    for _ in range(4):
        cloud.instance(ram_mb=512, until=until)
    assert cloud.hourly() == {"instance": 4}


def test_future_ram_is_subtracted_with_the_same_rounding(cloud: SmallCloud) -> None:
    cloud.price("instance", "ram_gb", ONE)
    cloud.instance(ram_mb=1500)
    for _ in range(3):
        cloud.instance(ram_mb=1500, since=at("12:40"))
    assert cloud.hourly() == {"instance": 2}


def test_image_costs_by_the_gb(cloud: SmallCloud) -> None:
    cloud.price("image", "gb", ONE)
    cloud.record("image", size_gb=7)
    assert cloud.hourly() == {"image": 7}


def test_load_balancers_cost_by_their_number(cloud: SmallCloud) -> None:
    cloud.price("loadbalance", "each", ONE)
    for _ in range(3):
        cloud.record("loadbalance")
    assert cloud.hourly() == {"loadbalance": 3}


@pytest.mark.parametrize(
    ("kind", "sizes"), [("snapshot", {"size_gb": 100}), ("floating_ip", {}), ("security_group", {}), ("keypair", {})]
)
def test_no_other_kind_costs_anything(cloud: SmallCloud, kind: Kind, sizes: dict[str, Any]) -> None:
    cloud.price("volume", "gb", ONE)
    for until in (None, at("12:10"), at("18:00")):
        cloud.record(kind, until=until, **sizes)
    assert cloud.consumption().record == []


def test_kinds_are_listed_in_a_fixed_order(cloud: SmallCloud) -> None:
    cloud.price("volume", "gb", ONE)
    cloud.price("loadbalance", "each", ONE)
    cloud.price("image", "gb", ONE)
    cloud.price("instance", "each", ONE)
    cloud.volume(1)
    cloud.record("loadbalance")
    cloud.record("image", size_gb=1)
    cloud.instance()
    kinds = [item.res_type for item in cloud.consumption().record]
    assert kinds == ["instance", "image", "loadbalance", "volume"]


def test_small_and_large_amounts_are_exact(cloud: SmallCloud) -> None:
    cloud.price("volume", "gb", 1)
    cloud.price("image", "gb", 9_000_000_000 * ONE + 1)
    cloud.volume(1)
    cloud.record("image", size_gb=2**31 - 1)
    image, volume = cloud.consumption().record
    assert (volume.hour, volume.year) == ("0.000000001", "0.00000876")
    assert image.hour == "19327352823000000002.147483647"


# The hour


def test_hour_is_in_the_operators_time_zone(priced: SmallCloud) -> None:
    # At +05:45, 12:20 UTC is 18:05 and its hour began at 12:15 UTC.
    priced.use_zone(timezone(timedelta(hours=5, minutes=45)))
    priced.volume(1, until=at("12:10"))
    priced.volume(10, until=at("12:15"))
    priced.volume(100, until=at("12:16"))
    assert priced.volume_cost() == 110


def test_hour_depends_on_the_time_zone(priced: SmallCloud) -> None:
    priced.volume(1, until=at("11:40"))
    costs = []
    for zone in ("UTC", "Asia/Kolkata", "Asia/Kathmandu"):
        priced.use_zone(ZoneInfo(zone))
        costs.append(priced.volume_cost())
    assert costs == [0, 1, 0]


@pytest.mark.parametrize(
    ("now", "until"),
    [("12:20", "13:00"), ("12:59:59", "13:00"), ("13:00", "14:00")],
)
def test_result_expires_at_the_end_of_the_hour(priced: SmallCloud, now: str, until: str) -> None:
    priced.volume(10)
    priced.clock.moment = at(now)
    assert priced.consumption().expires_at == at(until)


def test_result_expires_at_the_next_start_end_or_price_change(priced: SmallCloud) -> None:
    assert priced.consumption().expires_at == at("13:00")
    priced.price("volume", "gb", 2 * ONE, since=at("12:50"))
    assert priced.consumption().expires_at == at("12:50")
    priced.volume(1, since=at("12:45"))
    assert priced.consumption().expires_at == at("12:45")
    priced.volume(1, since=at("12:40"), until=at("12:55"))
    assert priced.consumption().expires_at == at("12:40")


# Change of the hour through the real action, whose responses are cached


@pytest.fixture
def before_the_hour(served: tuple[SmallCloud, ApiClient]) -> tuple[SmallCloud, ApiClient]:
    """Price a GB of volume at 1 per hour in the served cloud; it is 12:59:59."""
    cloud, _client = served
    cloud.price("volume", "gb", ONE)
    cloud.clock.moment = at("12:59:59")
    return served


def _hourly_cost(client: ApiClient) -> str:
    items = client.call("GetConsumptionsEstimated").data
    return items[0]["hour"] if items else "nothing"


def test_ended_resource_disappears_when_the_hour_changes(before_the_hour: tuple[SmallCloud, ApiClient]) -> None:
    cloud, client = before_the_hour
    cloud.volume(10)
    cloud.volume(5, until=at("12:30"))
    before = _hourly_cost(client), _hourly_cost(client)
    cloud.clock.moment = at("13:00")
    assert (before, _hourly_cost(client)) == (("15.00", "15.00"), "10.00")


def test_resource_ending_on_the_hour_counts_in_both_hours(before_the_hour: tuple[SmallCloud, ApiClient]) -> None:
    cloud, client = before_the_hour
    cloud.volume(10, until=at("13:00"))
    seen = [_hourly_cost(client)]
    for moment in ("13:00", "13:59:59", "14:00"):
        cloud.clock.moment = at(moment)
        seen.append(_hourly_cost(client))
    assert seen == ["10.00", "10.00", "10.00", "nothing"]


def test_resource_starting_on_the_hour_counts_from_then(before_the_hour: tuple[SmallCloud, ApiClient]) -> None:
    cloud, client = before_the_hour
    cloud.volume(10, since=at("13:00"))
    before = _hourly_cost(client)
    cloud.clock.moment = at("13:00")
    assert (before, _hourly_cost(client)) == ("nothing", "10.00")


def test_price_changing_on_the_hour_applies_from_then(before_the_hour: tuple[SmallCloud, ApiClient]) -> None:
    cloud, client = before_the_hour
    cloud.price("volume", "gb", 2 * ONE, since=at("13:00"))
    cloud.volume(10)
    before = _hourly_cost(client)
    cloud.clock.moment = at("13:00")
    assert (before, _hourly_cost(client)) == ("10.00", "20.00")


def test_deleted_resource_costs_until_its_hour_ends(before_the_hour: tuple[SmallCloud, ApiClient]) -> None:
    cloud, client = before_the_hour
    volume = cloud.volume(10)
    before = _hourly_cost(client)
    cloud.end(volume, at("12:59:59"))
    assert (before, _hourly_cost(client)) == ("10.00", "10.00")
    cloud.clock.moment = at("13:00")
    assert _hourly_cost(client) == "nothing"


def test_resize_is_visible_immediately(before_the_hour: tuple[SmallCloud, ApiClient]) -> None:
    cloud, client = before_the_hour
    volume = cloud.volume(10)
    before = _hourly_cost(client)
    cloud.resize(volume, size_gb=12)
    assert (before, _hourly_cost(client)) == ("10.00", "12.00")


# Comparison with a per-resource sum


@dataclass(frozen=True)
class ListedResource:
    """One resource in a plain list of all of them."""

    id: str
    tenant: int
    kind: str
    node: int | None
    vcpus: int
    ram_mb: int
    size_gb: int
    started: int
    ended: int | None


@dataclass(frozen=True)
class ListedPrice:
    kind: str
    unit: str
    node: int | None
    since: int
    price: Decimal


def expected_costs(
    recorded: list[ListedResource], price_list: list[ListedPrice], tenant: int, now: float, hour_start: float
) -> dict[str, Decimal]:
    """Return the hour's cost by kind, added up resource by resource."""
    costs: dict[str, Decimal] = {}
    in_force = cache(partial(price_in_force, price_list))
    for resource in recorded:
        if resource.tenant != tenant or resource.kind not in ("instance", "image", "loadbalance", "volume"):
            continue
        if resource.started > now or (resource.ended is not None and resource.ended < hour_start):
            continue
        moment = now if resource.ended is None else min(now, resource.ended)
        quantity = {
            "each": Decimal(1),
            "vcpu": Decimal(resource.vcpus),
            "ram_gb": Decimal(resource.ram_mb // 1024 + (1 if resource.ram_mb % 1024 else 0)),
            "gb": Decimal(resource.size_gb),
        }
        for unit, number in quantity.items():
            price = in_force(resource.kind, resource.node, unit, moment)
            if price is not None:
                costs[resource.kind] = costs.get(resource.kind, Decimal(0)) + price * number
    return {kind: cost for kind, cost in costs.items() if cost}


def price_in_force(
    price_list: list[ListedPrice], kind: str, node: int | None, unit: str, moment: float
) -> Decimal | None:
    applicable = [
        listed for listed in price_list if (listed.kind, listed.unit) == (kind, unit) and listed.since <= moment
    ]
    own = [listed for listed in applicable if listed.node == node]
    general = [listed for listed in applicable if listed.node is None]
    best = max(own or general, key=lambda listed: listed.since, default=None)
    return None if best is None else best.price


UNITS = [("instance", "each"), ("instance", "vcpu"), ("instance", "ram_gb")]
UNITS += [("image", "gb"), ("loadbalance", "each"), ("volume", "gb")]
NODES = range(1, 9)
NODE_NAMES: dict[int | None, str] = {NORTH: "north", SOUTH: "south", **{node: f"node{node}" for node in range(3, 9)}}
TENANT_NAMES = {ACME.id: "acme", RIVAL.id: "rival"}


def random_prices(rng: random.Random) -> list[ListedPrice]:
    """Return an old general price for each unit, plus random prices by node that start around noon."""
    price_list = {(kind, unit, None, LONG_AGO): rng.randrange(10**7) for kind, unit in UNITS}
    for _ in range(60):
        kind, unit = rng.choice(UNITS)
        node = rng.choice([None, *NODES])
        since = rng.choice([LONG_AGO, at("11:30") + 60 * rng.randrange(120)])
        price_list[kind, unit, node, since] = rng.randrange(10**10)
    return [ListedPrice(*key, Decimal(price) / ONE) for key, price in price_list.items()]


def random_resource(rng: random.Random, number: int) -> ListedResource:
    kinds = ["instance", "image", "loadbalance", "volume", "snapshot", "floating_ip", "security_group", "keypair"]
    kind = rng.choice(kinds)
    started = rng.choice([LONG_AGO + rng.randrange(86_400), at("11:30") + rng.randrange(7200), at("12:00")])
    ended = rng.choice([None, None, started + rng.randrange(7200), max(started, at("12:00")), at("18:00")])
    return ListedResource(
        id=f"t{number}",
        tenant=rng.choice([ACME.id, ACME.id, RIVAL.id]),
        kind=kind,
        node=None if kind in ("security_group", "keypair") else rng.choice(NODES),
        vcpus=rng.randint(1, 64) if kind == "instance" else 0,
        ram_mb=rng.randint(1, 70_000) if kind == "instance" else 0,
        size_gb=rng.randint(1, 5000) if kind in ("image", "volume", "snapshot") else 0,
        started=started,
        ended=ended,
    )


def to_row(resource: ListedResource) -> dict[str, Any]:
    return {
        "id": resource.id,
        "tenant_id": resource.tenant,
        "kind": resource.kind,
        "name": resource.id,
        "node_id": resource.node,
        "vcpus": resource.vcpus,
        "ram_mb": resource.ram_mb,
        "disk_gb": 0,
        "size_gb": resource.size_gb,
        "started_at": resource.started,
        "ended_at": resource.ended,
    }


def to_operator_input(resource: ListedResource) -> dict[str, Any]:
    """Return the values that an operator would enter."""
    what = {"id": resource.id, "kind": resource.kind, "name": resource.id, "node": NODE_NAMES.get(resource.node)}
    sizes = {"vcpus": resource.vcpus, "ram": resource.ram_mb, "size": resource.size_gb}
    return {"tenant": TENANT_NAMES[resource.tenant], **what, **sizes, "started": format_utc(resource.started)}


@pytest.fixture
def many_prices(cloud: SmallCloud) -> tuple[SmallCloud, random.Random, list[ListedPrice]]:
    """Return a cloud of eight nodes with many prices, its random source and those prices."""
    rng = random.Random(20261115)
    price_list = random_prices(rng)
    cloud.insert(nodes, *({"id": node, "name": NODE_NAMES[node]} for node in NODES if node not in (NORTH, SOUTH)))
    rows = [
        {
            "kind": listed.kind,
            "unit": listed.unit,
            "node_id": listed.node,
            "start": listed.since,
            "billionths": int(listed.price * ONE),
        }
        for listed in price_list
    ]
    cloud.insert(prices, *rows)
    return cloud, rng, price_list


MOMENTS = [at("11:59:59"), at("12:00"), at("12:20") + 0.5, at("12:59:59"), at("13:00"), at("13:10"), at("18:00")]


def start_of_hour(now: float, minutes_ahead: int) -> float:
    local = datetime.fromtimestamp(now, UTC).replace(tzinfo=None) + timedelta(minutes=minutes_ahead)
    whole = local.replace(minute=0, second=0, microsecond=0) - timedelta(minutes=minutes_ahead)
    return whole.replace(tzinfo=UTC).timestamp()


def test_cost_of_10000_resources_matches_a_per_resource_sum(
    many_prices: tuple[SmallCloud, random.Random, list[ListedPrice]],
) -> None:
    cloud, rng, price_list = many_prices
    recorded = [random_resource(rng, number) for number in range(10_000)]
    with cloud.engine.begin() as connection:
        insert_rows(connection, resources, [to_row(resource) for resource in recorded])
        counters.recount_all(connection)
    for now in MOMENTS:
        cloud.clock.moment = now
        for minutes_ahead in (0, 345):
            cloud.use_zone(timezone(timedelta(minutes=minutes_ahead)))
            start = start_of_hour(now, minutes_ahead)
            for tenant in (ACME, RIVAL):
                expected = expected_costs(recorded, price_list, tenant.id, now, start)
                assert cloud.hourly(tenant) == expected, (now, minutes_ahead, tenant)
                assert len(expected) == 4


def test_cost_is_correct_after_random_changes(
    many_prices: tuple[SmallCloud, random.Random, list[ListedPrice]],
) -> None:
    cloud, rng, price_list = many_prices
    recorded: dict[str, ListedResource] = {}
    with cloud.transaction() as transaction:
        for number in range(400):
            resource = replace(random_resource(rng, number), ended=None)
            RESOURCES.add(transaction, to_operator_input(resource))
            recorded[resource.id] = resource
            changed = recorded[rng.choice(list(recorded))]
            if changed.ended is not None:
                continue
            change = rng.randrange(6)
            if change == 0:
                RESOURCES.remove(transaction, changed.id)
                del recorded[changed.id]
            elif change in (1, 2):
                ended = changed.started + rng.randrange(7200)
                RESOURCES.end(transaction, changed.id, format_utc(ended))
                recorded[changed.id] = replace(changed, ended=ended)
            elif change == 3 and changed.kind == "instance":
                RESOURCES.change(transaction, changed.id, {"vcpus": 3, "ram": 3333})
                recorded[changed.id] = replace(changed, vcpus=3, ram_mb=3333)
            elif change == 4 and changed.node is not None:
                RESOURCES.change(transaction, changed.id, {"node": "node5"})
                recorded[changed.id] = replace(changed, node=5)
    for now in MOMENTS:
        cloud.clock.moment = now
        expected = expected_costs(list(recorded.values()), price_list, ACME.id, now, start_of_hour(now, 0))
        assert cloud.hourly() == expected, now


def test_recount_changes_no_total(many_prices: tuple[SmallCloud, random.Random, list[ListedPrice]]) -> None:
    cloud, rng, _ = many_prices
    for number in range(60):
        resource = random_resource(rng, number)
        sizes = {"vcpus": resource.vcpus, "ram_mb": resource.ram_mb, "size_gb": resource.size_gb}
        cloud.record(resource.kind, since=resource.started, until=resource.ended, node=resource.node, **sizes)  # type: ignore[arg-type]
    query = text("SELECT * FROM totals WHERE items <> 0 ORDER BY tenant_id, kind, node_id")
    with cloud.engine.begin() as connection:
        before = connection.execute(query).all()
        counters.recount_all(connection)
        assert connection.execute(query).all() == before


def test_uncommitted_change_does_not_count(priced: SmallCloud) -> None:
    priced.volume(10)
    with priced.engine.begin() as connection:
        connection.execute(text("UPDATE prices SET billionths = 2 * billionths"))
        assert priced.volume_cost() == 10
    assert priced.volume_cost() == 20
