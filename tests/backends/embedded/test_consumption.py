"""What counts in an hour, at which size, node and price: by hand, and against a count of every single resource."""

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
from tests.harness import Caller


@pytest.fixture
def priced(cloud: SmallCloud) -> SmallCloud:
    """A GB of volume costs 1 an hour on every node; it is 12:20."""
    cloud.price("volume", "gb", ONE)
    return cloud


# What counts in the hour


def test_nothing_at_all_costs_nothing(priced: SmallCloud) -> None:
    assert priced.consumption().record == []


def test_what_runs_counts(priced: SmallCloud) -> None:
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
def test_one_with_an_end(priced: SmallCloud, since: str, until: str, cost: int) -> None:
    priced.volume(10, since=at(since), until=at(until))
    assert priced.volume_cost() == cost


@pytest.mark.parametrize(
    ("since", "cost"), [("11:00", 10), ("12:00", 10), ("12:20", 10), ("12:20:01", 0), ("12:59:59", 0), ("13:00", 0)]
)
def test_one_without_an_end(priced: SmallCloud, since: str, cost: int) -> None:
    priced.volume(10, since=at(since))
    assert priced.volume_cost() == cost


def test_deleted_earlier_in_the_hour_counts_once_and_at_the_full_price(priced: SmallCloud) -> None:
    gone = priced.volume(10)
    priced.end(gone, at("12:00:30"))
    assert priced.volume_cost() == 10


def test_many_deleted_and_made_again_each_count(priced: SmallCloud) -> None:
    for minute in range(10):
        priced.volume(1, since=at(f"12:{minute:02}"), until=at(f"12:{minute:02}:30"))
    priced.volume(1, since=at("12:15"))
    assert priced.volume_cost() == 11


def test_a_part_of_a_second_before_it_starts_it_does_not_count(priced: SmallCloud) -> None:
    priced.volume(10, since=at("12:30"))
    priced.clock.moment = at("12:30") - 0.001
    assert priced.volume_cost() == 0


def test_it_counts_from_the_moment_it_starts(priced: SmallCloud) -> None:
    priced.volume(10, since=at("12:30"))
    priced.clock.moment = at("12:30")
    assert priced.volume_cost() == 10


def test_one_removed_as_if_it_had_never_been_does_not_count(priced: SmallCloud) -> None:
    for until in (None, at("12:10")):
        gone = priced.volume(10, until=until)
        with priced.desk() as desk:
            RESOURCES.remove(desk, gone)
    assert priced.volume_cost() == 0


def test_another_tenants_do_not_count(priced: SmallCloud) -> None:
    priced.volume(10, tenant=RIVAL)
    priced.volume(7, tenant=RIVAL, until=at("12:10"))
    priced.volume(5, tenant=RIVAL, since=at("12:40"))
    assert priced.hourly(ACME) == {}
    assert priced.hourly(RIVAL) == {"volume": 17}


def test_resources_on_all_nodes_add_up(priced: SmallCloud) -> None:
    priced.volume(10, node=NORTH)
    priced.volume(5, node=SOUTH)
    assert priced.volume_cost() == 15


# Size and node: those of its last moment so far


@pytest.mark.parametrize("size", [25, 4])
def test_resized_in_the_hour_counts_at_its_new_size(priced: SmallCloud, size: int) -> None:
    resized = priced.volume(10)
    priced.resize(resized, size_gb=size)
    assert priced.volume_cost() == size


def test_resized_and_then_deleted_counts_at_its_last_size(priced: SmallCloud) -> None:
    resized = priced.volume(10)
    priced.resize(resized, size_gb=30)
    priced.end(resized, at("12:10"))
    assert priced.volume_cost() == 30


def test_resized_before_it_starts_it_does_not_count_yet(priced: SmallCloud) -> None:
    resized = priced.volume(10, since=at("12:40"))
    priced.resize(resized, size_gb=30)
    assert priced.volume_cost() == 0
    priced.clock.moment = at("12:40")
    assert priced.volume_cost() == 30


def test_moved_to_another_node_counts_once_at_the_price_there(priced: SmallCloud) -> None:
    priced.price("volume", "gb", 3 * ONE, node=SOUTH)
    moved = priced.volume(10, node=NORTH)
    priced.resize(moved, node=SOUTH)
    assert priced.volume_cost() == 30


def test_moved_and_then_deleted_counts_at_the_price_of_its_last_node(priced: SmallCloud) -> None:
    priced.price("volume", "gb", 3 * ONE, node=SOUTH)
    moved = priced.volume(10, node=SOUTH)
    priced.resize(moved, node=NORTH)
    priced.end(moved, at("12:10"))
    assert priced.volume_cost() == 10


# Prices


def test_a_price_of_a_type_is_for_nothing_here_and_ends_no_answer(priced: SmallCloud) -> None:
    priced.volume(10)
    until = priced.consumption().expires_at
    priced.price("volume", "gb", 7 * ONE, node=NORTH, of="ssd")
    priced.price("volume", "gb", 8 * ONE, of="ssd", since=at("12:31"))
    assert priced.volume_cost() == 10
    assert priced.consumption().expires_at == until


def test_a_nodes_own_price_goes_before_the_general_one(priced: SmallCloud) -> None:
    priced.price("volume", "gb", 2 * ONE, node=SOUTH)
    priced.volume(10, node=NORTH)
    priced.volume(10, node=SOUTH)
    assert priced.volume_cost() == 30


@pytest.mark.parametrize(
    ("changed", "cost"), [("12:10", 20), ("12:20", 20), ("12:20:01", 10), ("12:59", 10), ("11:00", 20)]
)
def test_a_running_one_costs_the_price_in_force_now(priced: SmallCloud, changed: str, cost: int) -> None:
    priced.price("volume", "gb", 2 * ONE, since=at(changed))
    priced.volume(10)
    assert priced.volume_cost() == cost


@pytest.mark.parametrize(("changed", "cost"), [("12:04:59", 20), ("12:05:01", 10), ("12:15", 10), ("12:30", 10)])
def test_an_ended_one_costs_the_price_in_force_when_it_ended(priced: SmallCloud, changed: str, cost: int) -> None:
    priced.price("volume", "gb", 2 * ONE, since=at(changed))
    priced.volume(10, until=at("12:05"))
    assert priced.volume_cost() == cost


@pytest.mark.parametrize(("changed", "cost"), [("12:10", 20), ("12:25", 10)])
def test_one_that_will_end_costs_the_price_in_force_now(priced: SmallCloud, changed: str, cost: int) -> None:
    priced.price("volume", "gb", 2 * ONE, since=at(changed))
    priced.volume(10, until=at("12:30"))
    assert priced.volume_cost() == cost


def test_running_and_ended_ones_each_cost_their_own_price(priced: SmallCloud) -> None:
    priced.price("volume", "gb", 2 * ONE, since=at("12:10"))
    priced.volume(10)
    priced.volume(10, until=at("12:05"))
    priced.volume(10, until=at("12:15"))
    assert priced.volume_cost() == 20 + 10 + 20


def test_a_price_that_will_begin_with_its_resource_disturbs_nothing_before(priced: SmallCloud) -> None:
    priced.price("loadbalance", "each", ONE, since=at("13:00"))
    priced.record("loadbalance", since=at("13:30"))
    priced.volume(10)
    assert priced.hourly() == {"volume": 10}


def test_a_price_that_began_with_its_resource_counts(priced: SmallCloud) -> None:
    priced.price("loadbalance", "each", ONE, since=at("13:00"))
    priced.record("loadbalance", since=at("13:30"))
    priced.clock.moment = at("13:30")
    assert priced.hourly() == {"loadbalance": 1}


def test_one_on_a_node_whose_first_price_is_still_to_come_disturbs_nothing(cloud: SmallCloud) -> None:
    cloud.price("volume", "gb", ONE, node=NORTH)
    cloud.price("volume", "gb", 5 * ONE, node=SOUTH, since=at("15:00"))
    cloud.volume(10, node=NORTH)
    cloud.volume(10, node=SOUTH, since=at("16:00"))
    cloud.volume(10, node=SOUTH, since=at("16:00"), until=at("17:00"))
    assert cloud.volume_cost() == 10


def test_a_kind_that_is_free_is_left_out(cloud: SmallCloud) -> None:
    cloud.price("volume", "gb", 0)
    cloud.price("loadbalance", "each", ONE)
    cloud.volume(10)
    cloud.record("loadbalance")
    assert cloud.hourly() == {"loadbalance": 1}


def test_free_on_one_node_only(priced: SmallCloud) -> None:
    priced.price("volume", "gb", 0, node=SOUTH)
    priced.volume(10, node=NORTH)
    priced.volume(10, node=SOUTH)
    assert priced.volume_cost() == 10


def test_a_billable_one_without_a_price_is_refused_when_it_is_recorded(cloud: SmallCloud) -> None:
    cloud.price("volume", "gb", ONE, node=NORTH)
    with pytest.raises(OperatorError, match="price"):
        cloud.volume(10, node=SOUTH)
    assert cloud.consumption().record == []


# Kinds and units


def test_an_instance_costs_by_its_units_together(cloud: SmallCloud) -> None:
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
def test_ram_is_rounded_for_each_instance_not_for_their_sum(cloud: SmallCloud, until: int | None) -> None:
    cloud.price("instance", "ram_gb", ONE)
    for _ in range(4):
        cloud.instance(ram_mb=512, until=until)
    assert cloud.hourly() == {"instance": 4}


def test_ram_that_starts_later_is_taken_off_rounded_the_same_way(cloud: SmallCloud) -> None:
    cloud.price("instance", "ram_gb", ONE)
    cloud.instance(ram_mb=1500)
    for _ in range(3):
        cloud.instance(ram_mb=1500, since=at("12:40"))
    assert cloud.hourly() == {"instance": 2}


def test_an_image_costs_by_its_gb(cloud: SmallCloud) -> None:
    cloud.price("image", "gb", ONE)
    cloud.record("image", size_gb=7)
    assert cloud.hourly() == {"image": 7}


def test_a_load_balancer_costs_by_its_number(cloud: SmallCloud) -> None:
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


def test_all_four_kinds_come_in_their_order(cloud: SmallCloud) -> None:
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


def test_amounts_are_exact_however_small_and_large(cloud: SmallCloud) -> None:
    cloud.price("volume", "gb", 1)
    cloud.price("image", "gb", 9_000_000_000 * ONE + 1)
    cloud.volume(1)
    cloud.record("image", size_gb=2**31 - 1)
    image, volume = cloud.consumption().record
    assert (volume.hour, volume.year) == ("0.000000001", "0.00000876")
    assert image.hour == "19327352823000000002.147483647"


# The hour


def test_the_hour_is_the_operators_zones(priced: SmallCloud) -> None:
    # At +05:45, 12:20 UTC is 18:05 and its hour began at 12:15 UTC.
    priced.use_zone(timezone(timedelta(hours=5, minutes=45)))
    priced.volume(1, until=at("12:10"))
    priced.volume(10, until=at("12:15"))
    priced.volume(100, until=at("12:16"))
    assert priced.volume_cost() == 110


def test_the_same_moment_has_another_hour_in_another_zone(priced: SmallCloud) -> None:
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
def test_an_answer_holds_until_the_hour_turns(priced: SmallCloud, now: str, until: str) -> None:
    priced.volume(10)
    priced.clock.moment = at(now)
    assert priced.consumption().expires_at == at(until)


def test_an_answer_holds_only_until_something_starts_ends_or_changes_its_price(priced: SmallCloud) -> None:
    assert priced.consumption().expires_at == at("13:00")
    priced.price("volume", "gb", 2 * ONE, since=at("12:50"))
    assert priced.consumption().expires_at == at("12:50")
    priced.volume(1, since=at("12:45"))
    assert priced.consumption().expires_at == at("12:45")
    priced.volume(1, since=at("12:40"), until=at("12:55"))
    assert priced.consumption().expires_at == at("12:40")


# The hour's turn through the real action, whose payloads are kept


@pytest.fixture
def over_http(served: tuple[SmallCloud, Caller]) -> tuple[SmallCloud, Caller]:
    """The small cloud served, a GB of volume at 1 an hour; it is 12:59:59."""
    cloud, _caller = served
    cloud.price("volume", "gb", ONE)
    cloud.clock.moment = at("12:59:59")
    return served


def _hour(caller: Caller) -> str:
    items = caller.call("GetConsumptionsEstimated").data
    return items[0]["hour"] if items else "nothing"


def test_when_the_hour_turns_what_ended_in_the_last_one_is_gone(over_http: tuple[SmallCloud, Caller]) -> None:
    cloud, caller = over_http
    cloud.volume(10)
    cloud.volume(5, until=at("12:30"))
    before = _hour(caller), _hour(caller)
    cloud.clock.moment = at("13:00")
    assert (before, _hour(caller)) == (("15.00", "15.00"), "10.00")


def test_what_ends_just_as_the_hour_turns_counts_in_both(over_http: tuple[SmallCloud, Caller]) -> None:
    cloud, caller = over_http
    cloud.volume(10, until=at("13:00"))
    seen = [_hour(caller)]
    for moment in ("13:00", "13:59:59", "14:00"):
        cloud.clock.moment = at(moment)
        seen.append(_hour(caller))
    assert seen == ["10.00", "10.00", "10.00", "nothing"]


def test_what_starts_just_as_the_hour_turns_counts_from_then(over_http: tuple[SmallCloud, Caller]) -> None:
    cloud, caller = over_http
    cloud.volume(10, since=at("13:00"))
    before = _hour(caller)
    cloud.clock.moment = at("13:00")
    assert (before, _hour(caller)) == ("nothing", "10.00")


def test_a_price_that_changes_as_the_hour_turns(over_http: tuple[SmallCloud, Caller]) -> None:
    cloud, caller = over_http
    cloud.price("volume", "gb", 2 * ONE, since=at("13:00"))
    cloud.volume(10)
    before = _hour(caller)
    cloud.clock.moment = at("13:00")
    assert (before, _hour(caller)) == ("10.00", "20.00")


def test_a_deletion_is_seen_at_once_and_changes_nothing_in_its_hour(over_http: tuple[SmallCloud, Caller]) -> None:
    cloud, caller = over_http
    volume = cloud.volume(10)
    before = _hour(caller)
    cloud.end(volume, at("12:59:59"))
    assert (before, _hour(caller)) == ("10.00", "10.00")
    cloud.clock.moment = at("13:00")
    assert _hour(caller) == "nothing"


def test_a_resize_is_seen_at_once(over_http: tuple[SmallCloud, Caller]) -> None:
    cloud, caller = over_http
    volume = cloud.volume(10)
    before = _hour(caller)
    cloud.resize(volume, size_gb=12)
    assert (before, _hour(caller)) == ("10.00", "12.00")


# Against a count of every single resource


@dataclass(frozen=True)
class Thing:
    """One resource, as a person with a list of all of them would see it."""

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
class Tag:
    kind: str
    unit: str
    node: int | None
    since: int
    price: Decimal


def counted(things: list[Thing], tags: list[Tag], tenant: int, now: float, hour_start: float) -> dict[str, Decimal]:
    """The hour's cost by kind, one resource after the other."""
    costs: dict[str, Decimal] = {}
    in_force = cache(partial(tag_in_force, tags))
    for thing in things:
        if thing.tenant != tenant or thing.kind not in ("instance", "image", "loadbalance", "volume"):
            continue
        if thing.started > now or (thing.ended is not None and thing.ended < hour_start):
            continue
        moment = now if thing.ended is None else min(now, thing.ended)
        quantity = {
            "each": Decimal(1),
            "vcpu": Decimal(thing.vcpus),
            "ram_gb": Decimal(thing.ram_mb // 1024 + (1 if thing.ram_mb % 1024 else 0)),
            "gb": Decimal(thing.size_gb),
        }
        for unit, number in quantity.items():
            price = in_force(thing.kind, thing.node, unit, moment)
            if price is not None:
                costs[thing.kind] = costs.get(thing.kind, Decimal(0)) + price * number
    return {kind: cost for kind, cost in costs.items() if cost}


def tag_in_force(tags: list[Tag], kind: str, node: int | None, unit: str, moment: float) -> Decimal | None:
    fitting = [tag for tag in tags if (tag.kind, tag.unit) == (kind, unit) and tag.since <= moment]
    own = [tag for tag in fitting if tag.node == node]
    general = [tag for tag in fitting if tag.node is None]
    best = max(own or general, key=lambda tag: tag.since, default=None)
    return None if best is None else best.price


UNITS = [("instance", "each"), ("instance", "vcpu"), ("instance", "ram_gb")]
UNITS += [("image", "gb"), ("loadbalance", "each"), ("volume", "gb")]
NODES = range(1, 9)
NODE_NAMES: dict[int | None, str] = {NORTH: "north", SOUTH: "south", **{node: f"node{node}" for node in range(3, 9)}}
TENANT_NAMES = {ACME.id: "acme", RIVAL.id: "rival"}


def random_tags(chance: random.Random) -> list[Tag]:
    """A general price of everything from long ago on, and others by node and from around noon on."""
    tags = {(kind, unit, None, LONG_AGO): chance.randrange(10**7) for kind, unit in UNITS}
    for _ in range(60):
        kind, unit = chance.choice(UNITS)
        node = chance.choice([None, *NODES])
        since = chance.choice([LONG_AGO, at("11:30") + 60 * chance.randrange(120)])
        tags[kind, unit, node, since] = chance.randrange(10**10)
    return [Tag(*place, Decimal(price) / ONE) for place, price in tags.items()]


def random_thing(chance: random.Random, number: int) -> Thing:
    kinds = ["instance", "image", "loadbalance", "volume", "snapshot", "floating_ip", "security_group", "keypair"]
    kind = chance.choice(kinds)
    started = chance.choice([LONG_AGO + chance.randrange(86_400), at("11:30") + chance.randrange(7200), at("12:00")])
    ended = chance.choice([None, None, started + chance.randrange(7200), max(started, at("12:00")), at("18:00")])
    return Thing(
        id=f"t{number}",
        tenant=chance.choice([ACME.id, ACME.id, RIVAL.id]),
        kind=kind,
        node=None if kind in ("security_group", "keypair") else chance.choice(NODES),
        vcpus=chance.randint(1, 64) if kind == "instance" else 0,
        ram_mb=chance.randint(1, 70_000) if kind == "instance" else 0,
        size_gb=chance.randint(1, 5000) if kind in ("image", "volume", "snapshot") else 0,
        started=started,
        ended=ended,
    )


def columns(thing: Thing) -> dict[str, Any]:
    return {
        "id": thing.id,
        "tenant_id": thing.tenant,
        "kind": thing.kind,
        "name": thing.id,
        "node_id": thing.node,
        "vcpus": thing.vcpus,
        "ram_mb": thing.ram_mb,
        "disk_gb": 0,
        "size_gb": thing.size_gb,
        "started_at": thing.started,
        "ended_at": thing.ended,
    }


def record_of(thing: Thing) -> dict[str, Any]:
    """As an operator would give it."""
    what = {"id": thing.id, "kind": thing.kind, "name": thing.id, "node": NODE_NAMES.get(thing.node)}
    sizes = {"vcpus": thing.vcpus, "ram": thing.ram_mb, "size": thing.size_gb}
    return {"tenant": TENANT_NAMES[thing.tenant], **what, **sizes, "started": format_utc(thing.started)}


@pytest.fixture
def tagged(cloud: SmallCloud) -> tuple[SmallCloud, random.Random, list[Tag]]:
    """A cloud of eight nodes with many prices."""
    chance = random.Random(20261115)
    tags = random_tags(chance)
    cloud.insert(nodes, *({"id": node, "name": NODE_NAMES[node]} for node in NODES if node not in (NORTH, SOUTH)))
    rows = [
        {
            "kind": tag.kind,
            "unit": tag.unit,
            "node_id": tag.node,
            "start": tag.since,
            "billionths": int(tag.price * ONE),
        }
        for tag in tags
    ]
    cloud.insert(prices, *rows)
    return cloud, chance, tags


MOMENTS = [at("11:59:59"), at("12:00"), at("12:20") + 0.5, at("12:59:59"), at("13:00"), at("13:10"), at("18:00")]


def start_of_hour(now: float, minutes_ahead: int) -> float:
    local = datetime.fromtimestamp(now, UTC).replace(tzinfo=None) + timedelta(minutes=minutes_ahead)
    whole = local.replace(minute=0, second=0, microsecond=0) - timedelta(minutes=minutes_ahead)
    return whole.replace(tzinfo=UTC).timestamp()


def test_ten_thousand_resources_cost_what_each_of_them_costs(
    tagged: tuple[SmallCloud, random.Random, list[Tag]],
) -> None:
    cloud, chance, tags = tagged
    things = [random_thing(chance, number) for number in range(10_000)]
    with cloud.engine.begin() as connection:
        insert_rows(connection, resources, [columns(thing) for thing in things])
        counters.recount_all(connection)
    for now in MOMENTS:
        cloud.clock.moment = now
        for minutes_ahead in (0, 345):
            cloud.use_zone(timezone(timedelta(minutes=minutes_ahead)))
            start = start_of_hour(now, minutes_ahead)
            for tenant in (ACME, RIVAL):
                expected = counted(things, tags, tenant.id, now, start)
                assert cloud.hourly(tenant) == expected, (now, minutes_ahead, tenant)
                assert len(expected) == 4


def test_after_any_changes_the_cost_is_that_of_what_is_there(
    tagged: tuple[SmallCloud, random.Random, list[Tag]],
) -> None:
    cloud, chance, tags = tagged
    things: dict[str, Thing] = {}
    with cloud.desk() as desk:
        for number in range(400):
            thing = replace(random_thing(chance, number), ended=None)
            RESOURCES.add(desk, record_of(thing))
            things[thing.id] = thing
            changed = things[chance.choice(list(things))]
            if changed.ended is not None:
                continue
            change = chance.randrange(6)
            if change == 0:
                RESOURCES.remove(desk, changed.id)
                del things[changed.id]
            elif change in (1, 2):
                ended = changed.started + chance.randrange(7200)
                RESOURCES.end(desk, changed.id, format_utc(ended))
                things[changed.id] = replace(changed, ended=ended)
            elif change == 3 and changed.kind == "instance":
                RESOURCES.change(desk, changed.id, {"vcpus": 3, "ram": 3333})
                things[changed.id] = replace(changed, vcpus=3, ram_mb=3333)
            elif change == 4 and changed.node is not None:
                RESOURCES.change(desk, changed.id, {"node": "node5"})
                things[changed.id] = replace(changed, node=5)
    for now in MOMENTS:
        cloud.clock.moment = now
        expected = counted(list(things.values()), tags, ACME.id, now, start_of_hour(now, 0))
        assert cloud.hourly() == expected, now


def test_recounting_changes_no_total(tagged: tuple[SmallCloud, random.Random, list[Tag]]) -> None:
    cloud, chance, _ = tagged
    for number in range(60):
        thing = random_thing(chance, number)
        sizes = {"vcpus": thing.vcpus, "ram_mb": thing.ram_mb, "size_gb": thing.size_gb}
        cloud.record(thing.kind, since=thing.started, until=thing.ended, node=thing.node, **sizes)  # type: ignore[arg-type]
    query = text("SELECT * FROM totals WHERE items <> 0 ORDER BY tenant_id, kind, node_id")
    with cloud.engine.begin() as connection:
        before = connection.execute(query).all()
        counters.recount_all(connection)
        assert connection.execute(query).all() == before


def test_a_change_counts_when_it_is_complete_and_not_before(priced: SmallCloud) -> None:
    priced.volume(10)
    with priced.engine.begin() as connection:
        connection.execute(text("UPDATE prices SET billionths = 2 * billionths"))
        assert priced.volume_cost() == 10
    assert priced.volume_cost() == 20
