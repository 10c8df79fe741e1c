"""Limits and what is in use, field by field and against a count of every single resource."""

import asyncio
import random
from typing import Any

import msgspec
import pytest
from sqlalchemy import delete

from cloudconsole.backends.embedded.cloud import _ENDED_INTERVALS
from cloudconsole.core.resources import Kind
from cloudconsole.spec.records import UsageLimits
from cloudconsole.store import counters
from cloudconsole.store.sql import insert_rows
from cloudconsole.store.tables import quotas, resources
from tests.backends.embedded.small_cloud import ACME, LONG_AGO, NORTH, ONE, RIVAL, SOUTH, SmallCloud, at

LIMITS = {
    "maxTotalInstances": "instances",
    "maxTotalCores": "cores",
    "maxTotalRAMSize": "ram",
    "maxTotalVolumes": "volumes",
    "maxTotalVolumeGigabytes": "gigabytes",
    "maxTotalSnapshots": "snapshots",
    "maxTotalFloatingIps": "floating_ips",
    "maxSecurityGroups": "security_groups",
    "maxSecurityGroupRules": "security_group_rules",
    "maxTotalKeypairs": "keypairs",
    "maxPersonality": "personality",
    "maxPersonalitySize": "personality_size",
    "maxImageMeta": "image_meta",
    "maxServerMeta": "server_meta",
}
USED = [
    "totalInstancesUsed",
    "totalCoresUsed",
    "totalRAMUsed",
    "totalVolumesUsed",
    "totalGigabytesUsed",
    "totalSnapshotsUsed",
    "totalFloatingIpsUsed",
    "totalSecurityGroupsUsed",
]


@pytest.fixture
def free(cloud: SmallCloud) -> SmallCloud:
    """A cloud in which every billable kind has a price, so that anything can be recorded; it is 12:20."""
    for kind, unit in (("instance", "each"), ("image", "gb"), ("loadbalance", "each"), ("volume", "gb")):
        cloud.price(kind, unit, ONE)
    return cloud


def on_the_wire(record: UsageLimits) -> dict[str, int]:
    return msgspec.json.decode(msgspec.json.encode(record), type=dict[str, int], strict=True)


def used(cloud: SmallCloud) -> dict[str, int]:
    """What is in use, without the zeros."""
    return {name: number for name, number in on_the_wire(cloud.usage()).items() if name in USED and number}


def test_there_are_exactly_the_22_fields(free: SmallCloud) -> None:
    assert set(on_the_wire(free.usage())) == {*LIMITS, *USED}
    assert len(on_the_wire(free.usage())) == 22


def test_each_limit_stands_in_its_own_field(free: SmallCloud) -> None:
    values = {column: 1000 + place for place, column in enumerate(LIMITS.values())}
    free.insert(quotas, {"tenant_id": ACME.id, **values})
    shown = on_the_wire(free.usage())
    assert {name: shown[name] for name in LIMITS} == {name: values[column] for name, column in LIMITS.items()}


def test_unlimited_is_minus_one(free: SmallCloud) -> None:
    free.insert(quotas, {"tenant_id": ACME.id, **dict.fromkeys(LIMITS.values(), -1)})
    shown = on_the_wire(free.usage())
    assert {shown[name] for name in LIMITS} == {-1}


def test_without_quotas_of_its_own_a_tenant_has_the_usual_ones(free: SmallCloud) -> None:
    shown = on_the_wire(free.usage())
    assert [shown[name] for name in LIMITS] == [
        *(10, 20, 51_200, 10, 1000, 10, 10),
        *(10, 100, 100, 5, 10_240, 128, 128),
    ]


def test_each_tenant_has_its_own_limits(free: SmallCloud) -> None:
    for tenant, limit in ((ACME, 3), (RIVAL, 4)):
        free.insert(quotas, {"tenant_id": tenant.id, **dict.fromkeys(LIMITS.values(), limit)})
    assert (free.usage(ACME).max_total_cores, free.usage(RIVAL).max_total_cores) == (3, 4)


def test_a_changed_limit_is_seen_at_once(free: SmallCloud) -> None:
    free.insert(quotas, {"tenant_id": ACME.id, **dict.fromkeys(LIMITS.values(), 3)})
    assert free.usage().max_total_keypairs == 3
    with free.engine.begin() as connection:
        connection.execute(delete(quotas))
    assert free.usage().max_total_keypairs == 100


def test_with_nothing_nothing_is_in_use(free: SmallCloud) -> None:
    assert used(free) == {}


def test_an_instance_uses_cores_and_ram_in_mb(free: SmallCloud) -> None:
    free.instance(vcpus=4, ram_mb=1536, disk_gb=80)
    assert used(free) == {"totalInstancesUsed": 1, "totalCoresUsed": 4, "totalRAMUsed": 1536}


def test_a_volume_uses_gigabytes(free: SmallCloud) -> None:
    free.volume(30)
    assert used(free) == {"totalVolumesUsed": 1, "totalGigabytesUsed": 30}


def test_a_snapshot_uses_gigabytes_too(free: SmallCloud) -> None:
    free.record("snapshot", size_gb=20)
    assert used(free) == {"totalSnapshotsUsed": 1, "totalGigabytesUsed": 20}


@pytest.mark.parametrize(
    ("kind", "field"), [("floating_ip", "totalFloatingIpsUsed"), ("security_group", "totalSecurityGroupsUsed")]
)
def test_those_without_a_size_are_counted(free: SmallCloud, kind: Kind, field: str) -> None:
    for _ in range(3):
        free.record(kind)
    assert used(free) == {field: 3}


@pytest.mark.parametrize(("kind", "sizes"), [("image", {"size_gb": 9}), ("loadbalance", {}), ("keypair", {})])
def test_those_without_a_counter_are_in_none(free: SmallCloud, kind: Kind, sizes: dict[str, Any]) -> None:
    free.record(kind, **sizes)
    assert used(free) == {}


def test_nodes_add_up(free: SmallCloud) -> None:
    free.volume(1, node=NORTH)
    free.volume(2, node=SOUTH)
    assert used(free) == {"totalVolumesUsed": 2, "totalGigabytesUsed": 3}


def test_another_tenants_are_not_in_use(free: SmallCloud) -> None:
    free.volume(1, tenant=RIVAL)
    assert used(free) == {}


def test_a_resized_one_is_used_at_its_new_size(free: SmallCloud) -> None:
    instance = free.instance(vcpus=2, ram_mb=2048)
    free.resize(instance, vcpus=8, ram_mb=512)
    assert used(free) == {"totalInstancesUsed": 1, "totalCoresUsed": 8, "totalRAMUsed": 512}


def test_one_deleted_this_hour_is_not_in_use(free: SmallCloud) -> None:
    free.volume(10, until=at("12:10"))
    assert used(free) == {}


@pytest.mark.parametrize(
    ("now", "number"),
    [
        (at("12:29:59"), 0),
        (at("12:30") - 0.001, 0),
        (at("12:30"), 1),
        (at("13:59:59"), 1),
        (at("14:00") - 0.001, 1),
        (at("14:00"), 0),
        (at("14:00:01"), 0),
    ],
)
def test_one_with_a_life_to_come_is_in_use_while_it_lasts(free: SmallCloud, now: float, number: int) -> None:
    free.volume(10, since=at("12:30"), until=at("14:00"))
    free.clock.moment = now
    assert free.usage().total_volumes_used == number


@pytest.mark.parametrize(("now", "number"), [("12:29:59", 0), ("12:30", 1), ("23:00", 1)])
def test_one_that_starts_later_is_in_use_from_then(free: SmallCloud, now: str, number: int) -> None:
    free.volume(10, since=at("12:30"))
    free.clock.moment = at(now)
    assert (free.usage().total_volumes_used, free.usage().total_gigabytes_used) == (number, 10 * number)


def _counted(rows: list[dict[str, Any]], tenant: int, now: float) -> dict[str, int]:
    """What is in use, one resource after the other."""
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


def test_of_thousands_as_many_are_in_use_as_can_be_counted(free: SmallCloud) -> None:
    chance = random.Random(1115)
    kinds = ["instance", "image", "loadbalance", "volume", "snapshot", "floating_ip", "security_group", "keypair"]
    rows = []
    for place in range(5000):
        kind = chance.choice(kinds)
        started = chance.choice([LONG_AGO, at("11:00") + chance.randrange(10_800), at("12:20")])
        rows.append(
            {
                "id": f"r{place}",
                "tenant_id": chance.choice([ACME.id, RIVAL.id]),
                "kind": kind,
                "name": "r",
                "node_id": None if kind in ("security_group", "keypair") else chance.choice([NORTH, SOUTH]),
                "vcpus": chance.randint(1, 64) if kind == "instance" else 0,
                "ram_mb": chance.randint(1, 99_999) if kind == "instance" else 0,
                "disk_gb": chance.randint(0, 99) if kind == "instance" else 0,
                "size_gb": chance.randint(1, 99) if kind in ("image", "volume", "snapshot") else 0,
                "started_at": started,
                "ended_at": chance.choice([None, started + chance.randrange(10_800), max(started, at("12:20"))]),
            }
        )
    with free.engine.begin() as connection:
        insert_rows(connection, resources, rows)
        counters.recount_all(connection)
    for now in (at("11:00"), at("12:19:59"), at("12:20"), at("12:20") + 0.5, at("13:00"), at("20:00")):
        free.clock.moment = now
        for tenant in (ACME, RIVAL):
            shown = on_the_wire(free.usage(tenant))
            assert {name: shown[name] for name in USED} == _counted(rows, tenant.id, now), now


@pytest.mark.embedded_only
def test_single_resources_are_read_by_time_and_not_all_of_a_tenants(cloud: SmallCloud) -> None:
    parameters = {"tenant": ACME.id, "now": 0, "ended_since": 0}
    steps = asyncio.run(cloud.reader.all(f"EXPLAIN QUERY PLAN {_ENDED_INTERVALS}", parameters))
    plan = [step[3] for step in steps]
    assert [step for step in plan if "resources" in step] == [
        f"SEARCH resources USING INDEX ix_resources_tenant_id_{moment} (tenant_id=? AND {moment}>?)"
        for moment in ("started_at", "ended_at")
    ]
