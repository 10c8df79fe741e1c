"""Usage, limits and estimated costs: what counts, at which price, and until when; also checked resource by resource."""

import math
import random
from datetime import timedelta, timezone
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from cloudconsole.backends.embedded.cloud import _ENDED_INTERVALS
from cloudconsole.backends.prices import CachedPrices
from cloudconsole.core.ports import PriceList, PriceMissing
from cloudconsole.core.resources import Amounts
from cloudconsole.spec.records import UsageLimits
from cloudconsole.store.tables import nodes, prices, quotas, totals
from tests.backends.small_cloud import ACME, LONG_AGO, NORTH, ONE, RIVAL, SOUTH, SmallCloud, at
from tests.stores import run

TEN_GB = Amounts(items=1, size_gb=10)


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


@pytest.mark.embedded_only
def test_price_list_is_cached_until_an_operator_changes_something(cloud: SmallCloud) -> None:
    cached_prices = CachedPrices(of_types=True)

    async def read_prices() -> PriceList:
        async with cloud.reader.snapshot() as snapshot:
            return await cached_prices.read(snapshot)

    first = run(read_prices())
    assert (first.book.hourly("volume", NORTH, TEN_GB, 5), first.nodes) == (None, {"north": NORTH, "south": SOUTH})
    assert run(read_prices()) is first
    cloud.insert(nodes, {"id": 7, "name": "east"})
    cloud.price("volume", "gb", 3, node=7)
    second = run(read_prices())
    assert (second.book.hourly("volume", 7, TEN_GB, 5), second.nodes["east"]) == (30, 7)


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
    rows = cloud.insert_random_resources(rng, 400)
    cloud.insert(prices, *price_rows)
    for now in MOMENTS:
        cloud.clock.moment = now
        for tenant in (ACME, RIVAL):
            own = [row for row in rows if row["tenant_id"] == tenant.id]
            expected = expected_costs(own, price_rows, now, hour_start=now // 3600 * 3600)
            assert cloud.hourly(tenant) == expected, now
            assert len(expected) == 4


# Usage and limits


LIMITS = {
    "maxTotalInstances": ("instances", 10),
    "maxTotalCores": ("cores", 20),
    "maxTotalRAMSize": ("ram", 51_200),
    "maxTotalVolumes": ("volumes", 10),
    "maxTotalVolumeGigabytes": ("gigabytes", 1000),
    "maxTotalSnapshots": ("snapshots", 10),
    "maxTotalFloatingIps": ("floating_ips", 10),
    "maxSecurityGroups": ("security_groups", 10),
    "maxSecurityGroupRules": ("security_group_rules", 100),
    "maxTotalKeypairs": ("keypairs", 100),
    "maxPersonality": ("personality", 5),
    "maxPersonalitySize": ("personality_size", 10_240),
    "maxImageMeta": ("image_meta", 128),
    "maxServerMeta": ("server_meta", 128),
}
"""The quota and the default of each limit."""


def fields(record: UsageLimits, prefix: str) -> dict[str, int]:
    every = msgspec.json.decode(msgspec.json.encode(record), type=dict[str, int], strict=True)
    return {name: number for name, number in every.items() if name.startswith(prefix)}


def test_limits_are_the_tenants_quotas_or_the_defaults(cloud: SmallCloud) -> None:
    assert fields(cloud.usage(), "max") == {name: default for name, (_, default) in LIMITS.items()}
    values = {quota: 1000 + index for index, (quota, _) in enumerate(LIMITS.values())}
    cloud.insert(quotas, {"tenant_id": ACME.id, **values})
    assert fields(cloud.usage(), "max") == {name: values[quota] for name, (quota, _) in LIMITS.items()}


@pytest.mark.parametrize(
    ("now", "number", "next_change"),
    [
        (at("12:30") - 0.001, 0, at("12:30")),
        (at("12:30"), 1, at("14:00")),
        (at("14:00") - 0.001, 1, at("14:00")),
        (at("14:00"), 0, math.inf),
        (at("14:00:01"), 0, math.inf),
    ],
)
def test_scheduled_resource_is_in_use_from_start_to_end(
    cloud: SmallCloud, now: float, number: int, next_change: float
) -> None:
    cloud.price("volume", "gb", ONE)
    cloud.volume(10, since=at("12:30"), until=at("14:00"))
    cloud.clock.moment = now
    result = cloud.usage_limits()
    assert (result.record.total_volumes_used, result.expires_at) == (number, next_change)


def _expected_usage(rows: list[dict[str, Any]], tenant: int, now: float) -> dict[str, int]:
    """Return the usage, counted resource by resource."""
    live = [
        row
        for row in rows
        if row["tenant_id"] == tenant
        and row["started_at"] <= now
        and (row["ended_at"] is None or now < row["ended_at"])
    ]

    def number(*kinds: str, of: str | None = None) -> int:
        return sum(1 if of is None else row[of] for row in live if row["kind"] in kinds)

    return {
        "totalInstancesUsed": number("instance"),
        "totalCoresUsed": number("instance", of="vcpus"),
        "totalRAMUsed": number("instance", of="ram_mb"),
        "totalVolumesUsed": number("volume"),
        "totalGigabytesUsed": number("volume", "snapshot", of="size_gb"),
        "totalSnapshotsUsed": number("snapshot"),
        "totalFloatingIpsUsed": number("floating_ip"),
        "totalSecurityGroupsUsed": number("security_group"),
    }


def test_usage_of_many_resources_matches_a_per_resource_count(cloud: SmallCloud) -> None:
    rows = cloud.insert_random_resources(random.Random(1115), 1000)
    for now in (at("11:00"), at("11:59:59"), at("12:00"), at("12:20") + 0.5, at("13:00"), at("20:00")):
        cloud.clock.moment = now
        for tenant in (ACME, RIVAL):
            assert fields(cloud.usage(tenant), "total") == _expected_usage(rows, tenant.id, now), now


@pytest.mark.embedded_only
def test_ended_intervals_are_read_by_index(cloud: SmallCloud) -> None:
    parameters = {"tenant": ACME.id, "now": 0, "ended_since": 0}
    steps = run(cloud.reader.all(f"EXPLAIN QUERY PLAN {_ENDED_INTERVALS}", parameters))
    plan = [step[3] for step in steps]
    assert [step for step in plan if "resources" in step] == [
        f"SEARCH resources USING INDEX ix_resources_tenant_id_{moment} (tenant_id=? AND {moment}>?)"
        for moment in ("started_at", "ended_at")
    ]
