"""Estimated costs: what counts in an hour and at which price; also checked against a per-resource sum."""

import random
from datetime import timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from cloudconsole.core.ports import PriceMissing
from cloudconsole.store import counters
from cloudconsole.store.sql import insert_rows
from cloudconsole.store.tables import prices, resources, totals
from tests.backends.embedded.small_cloud import (
    ACME,
    LONG_AGO,
    NORTH,
    ONE,
    RIVAL,
    SOUTH,
    SmallCloud,
    at,
    random_resource,
)


@pytest.fixture
def priced(cloud: SmallCloud) -> SmallCloud:
    """Price a GB of volume at 1 per hour on every node; it is 12:20."""
    cloud.price("volume", "gb", ONE)
    return cloud


# Resources that count in the hour


@pytest.mark.parametrize(
    ("since", "until", "cost"),
    [
        ("00:00", None, 10),
        ("12:20", None, 10),
        ("12:20:01", None, 0),
        ("00:00", "12:00", 10),
        ("00:00", "11:59:59", 0),
        ("12:00", "12:00", 10),
        ("12:20", "12:20", 10),
        ("12:20", "13:00", 10),
        ("12:20:01", "12:30", 0),
        ("13:00", "18:00", 0),
    ],
)
def test_resource_counts_by_its_interval(priced: SmallCloud, since: str, until: str | None, cost: int) -> None:
    priced.volume(10, since=at(since), until=None if until is None else at(until))
    assert priced.volume_cost() == cost


@pytest.mark.parametrize(("before", "cost"), [(0.001, 0), (0, 10)])
def test_resource_counts_from_exactly_its_start(priced: SmallCloud, before: float, cost: int) -> None:
    priced.volume(10, since=at("12:30"))
    priced.clock.moment = at("12:30") - before
    assert priced.volume_cost() == cost


# Prices


def test_typed_price_affects_neither_cost_nor_expiry(priced: SmallCloud) -> None:
    priced.volume(10)
    until = priced.consumption().expires_at
    priced.price("volume", "gb", 7 * ONE, node=NORTH, of="ssd")
    priced.price("volume", "gb", 8 * ONE, of="ssd", since=at("12:31"))
    assert priced.volume_cost() == 10
    assert priced.consumption().expires_at == until


@pytest.mark.parametrize(
    ("until", "changed", "cost"),
    [
        (None, "12:20", 20),
        (None, "12:20:01", 10),
        ("12:05", "12:05", 20),
        ("12:05", "12:05:01", 10),
        ("12:30", "12:20", 20),
        ("12:30", "12:25", 10),
    ],
)
def test_price_is_the_current_one_or_that_of_an_earlier_end(
    priced: SmallCloud, until: str | None, changed: str, cost: int
) -> None:
    priced.price("volume", "gb", 2 * ONE, since=at(changed))
    priced.volume(10, until=None if until is None else at(until))
    assert priced.volume_cost() == cost


def test_future_resource_on_a_not_yet_priced_node_is_ignored(cloud: SmallCloud) -> None:
    cloud.price("volume", "gb", ONE, node=NORTH)
    cloud.price("volume", "gb", 5 * ONE, node=SOUTH, since=at("15:00"))
    cloud.volume(10, node=NORTH)
    cloud.volume(10, node=SOUTH, since=at("16:00"))
    cloud.volume(10, node=SOUTH, since=at("16:00"), until=at("17:00"))
    assert cloud.volume_cost() == 10


def test_resource_without_a_price_is_an_error(cloud: SmallCloud) -> None:
    """Operators cannot record such a resource, but a price must never be guessed."""
    amounts = {"items": 1, "vcpus": 0, "ram_mb": 0, "ram_gb": 0, "size_gb": 5}
    cloud.insert(totals, {"tenant_id": ACME.id, "kind": "volume", "node_id": NORTH, **amounts})
    with pytest.raises(PriceMissing, match="a volume on node 1 has no price"):
        cloud.consumption()


# Kinds and units


def test_kinds_cost_by_their_units_and_have_a_fixed_order(priced: SmallCloud) -> None:
    for kind, unit, price in (("loadbalance", "each", 3), ("image", "gb", 5), ("instance", "each", 100)):
        priced.price(kind, unit, price * ONE)
    priced.price("instance", "vcpu", 10 * ONE)
    priced.price("instance", "ram_gb", ONE)
    priced.volume(1)
    priced.record("loadbalance")
    priced.record("image", size=7)
    priced.instance(vcpus=4, ram=8192, disk=500)
    costs = [("instance", "148.00"), ("image", "35.00"), ("loadbalance", "3.00"), ("volume", "1.00")]
    assert [(item.res_type, item.hour) for item in priced.consumption().record] == costs


@pytest.mark.parametrize(("ram_mb", "gb"), [(1, 1), (1024, 1), (1025, 2), (2**31 - 1, 2**21)])
@pytest.mark.parametrize("until", [None, at("12:10")])
def test_ram_is_rounded_up_to_whole_gb(cloud: SmallCloud, until: int | None, ram_mb: int, gb: int) -> None:
    cloud.price("instance", "ram_gb", ONE)
    cloud.instance(ram=ram_mb, until=until)
    assert cloud.hourly() == {"instance": gb}


# The hour


def test_hour_is_in_the_operators_time_zone(priced: SmallCloud) -> None:
    # At +05:45, 12:20 UTC is 18:05 and its hour began at 12:15 UTC.
    priced.use_zone(timezone(timedelta(hours=5, minutes=45)))
    priced.volume(1, until=at("12:10"))
    priced.volume(10, until=at("12:15"))
    priced.volume(100, until=at("12:16"))
    assert priced.volume_cost() == 110
    assert priced.consumption().expires_at == at("13:15")


def test_result_expires_at_the_next_start_end_or_price_change(priced: SmallCloud) -> None:
    assert priced.consumption().expires_at == at("13:00")
    priced.price("volume", "gb", 2 * ONE, since=at("12:50"))
    assert priced.consumption().expires_at == at("12:50")
    priced.volume(1, since=at("12:45"))
    assert priced.consumption().expires_at == at("12:45")
    priced.volume(1, until=at("12:40"))
    assert priced.consumption().expires_at == at("12:40")
    priced.clock.moment = at("12:40")
    assert priced.consumption().expires_at == at("12:45")


# Comparison with a per-resource sum

Row = dict[str, Any]
UNITS = [("instance", "each"), ("instance", "vcpu"), ("instance", "ram_gb")]
UNITS += [("image", "gb"), ("loadbalance", "each"), ("volume", "gb")]
MOMENTS = [at("11:59:59"), at("12:00"), at("12:20") + 0.5, at("12:59:59"), at("13:00"), at("13:10"), at("18:00")]


def expected_costs(rows: list[Row], price_rows: list[Row], now: float, hour_start: float) -> dict[str, Decimal]:
    """Return the hour's cost by kind, added up resource by resource."""
    costs: dict[str, Decimal] = {}
    for row in rows:
        if row["started_at"] > now or (row["ended_at"] is not None and row["ended_at"] < hour_start):
            continue
        moment = now if row["ended_at"] is None else min(now, row["ended_at"])
        ram_gb = row["ram_mb"] // 1024 + (1 if row["ram_mb"] % 1024 else 0)
        amounts = {"each": 1, "vcpu": row["vcpus"], "ram_gb": ram_gb, "gb": row["size_gb"]}
        for unit, amount in amounts.items():
            price = price_in_force(price_rows, row["kind"], unit, row["node_id"], moment)
            if price * amount:
                costs[row["kind"]] = costs.get(row["kind"], Decimal(0)) + Decimal(price * amount) / ONE
    return costs


def price_in_force(price_rows: list[Row], kind: str, unit: str, node: int | None, moment: float) -> int:
    applicable = [row for row in price_rows if (row["kind"], row["unit"]) == (kind, unit) and row["start"] <= moment]
    own = [row for row in applicable if row["node_id"] == node]
    general = [row for row in applicable if row["node_id"] is None]
    latest: Row = max(own or general, key=lambda row: row["start"], default={"billionths": 0})
    return int(latest["billionths"])


def random_prices(rng: random.Random) -> list[Row]:
    """Return an old general price for each unit, plus random prices by node that start around noon."""
    found: dict[tuple[str, str, int | None, int], int] = {
        (kind, unit, None, LONG_AGO): rng.randrange(10**7) for kind, unit in UNITS
    }
    for _ in range(40):
        start = rng.choice([LONG_AGO, at("11:30") + 60 * rng.randrange(120)])
        found[*rng.choice(UNITS), rng.choice([None, NORTH, SOUTH]), start] = rng.randrange(10**10)
    return [
        {"kind": kind, "unit": unit, "node_id": node, "start": start, "billionths": price}
        for (kind, unit, node, start), price in found.items()
    ]


def test_cost_of_many_resources_matches_a_per_resource_sum(cloud: SmallCloud) -> None:
    rng = random.Random(20261115)
    price_rows = random_prices(rng)
    rows = [random_resource(rng, number) for number in range(400)]
    cloud.insert(prices, *price_rows)
    with cloud.engine.begin() as connection:
        insert_rows(connection, resources, rows)
        counters.recount_all(connection)
    for now in MOMENTS:
        cloud.clock.moment = now
        for tenant in (ACME, RIVAL):
            own = [row for row in rows if row["tenant_id"] == tenant.id]
            expected = expected_costs(own, price_rows, now, hour_start=now // 3600 * 3600)
            assert cloud.hourly(tenant) == expected, now
            assert len(expected) == 4
