"""Limits and usage, field by field and against a per-resource count."""

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
def priced(cloud: SmallCloud) -> SmallCloud:
    """Price every billable kind, so that any resource can be recorded; it is 12:20."""
    for kind, unit in (("instance", "each"), ("image", "gb"), ("loadbalance", "each"), ("volume", "gb")):
        cloud.price(kind, unit, ONE)
    return cloud


def as_json(record: UsageLimits) -> dict[str, int]:
    return msgspec.json.decode(msgspec.json.encode(record), type=dict[str, int], strict=True)


def used(cloud: SmallCloud) -> dict[str, int]:
    """Return the usage fields that are not zero."""
    return {name: number for name, number in as_json(cloud.usage()).items() if name in USED and number}


def test_response_has_exactly_22_fields(priced: SmallCloud) -> None:
    assert set(as_json(priced.usage())) == {*LIMITS, *USED}
    assert len(as_json(priced.usage())) == 22


def test_each_quota_maps_to_its_own_field(priced: SmallCloud) -> None:
    values = {column: 1000 + index for index, column in enumerate(LIMITS.values())}
    priced.insert(quotas, {"tenant_id": ACME.id, **values})
    fields = as_json(priced.usage())
    assert {name: fields[name] for name in LIMITS} == {name: values[column] for name, column in LIMITS.items()}


def test_unlimited_is_minus_one(priced: SmallCloud) -> None:
    priced.insert(quotas, {"tenant_id": ACME.id, **dict.fromkeys(LIMITS.values(), -1)})
    fields = as_json(priced.usage())
    assert {fields[name] for name in LIMITS} == {-1}


def test_tenant_without_quotas_has_the_defaults(priced: SmallCloud) -> None:
    fields = as_json(priced.usage())
    assert [fields[name] for name in LIMITS] == [
        *(10, 20, 51_200, 10, 1000, 10, 10),
        *(10, 100, 100, 5, 10_240, 128, 128),
    ]


def test_each_tenant_has_its_own_limits(priced: SmallCloud) -> None:
    for tenant, limit in ((ACME, 3), (RIVAL, 4)):
        priced.insert(quotas, {"tenant_id": tenant.id, **dict.fromkeys(LIMITS.values(), limit)})
    assert (priced.usage(ACME).max_total_cores, priced.usage(RIVAL).max_total_cores) == (3, 4)


def test_limit_change_is_visible_immediately(priced: SmallCloud) -> None:
    priced.insert(quotas, {"tenant_id": ACME.id, **dict.fromkeys(LIMITS.values(), 3)})
    assert priced.usage().max_total_keypairs == 3
    with priced.engine.begin() as connection:
        connection.execute(delete(quotas))
    assert priced.usage().max_total_keypairs == 100


def test_usage_is_zero_without_resources(priced: SmallCloud) -> None:
    assert used(priced) == {}


def test_an_instance_uses_cores_and_ram_in_mb(priced: SmallCloud) -> None:
    priced.instance(vcpus=4, ram_mb=1536, disk_gb=80)
    assert used(priced) == {"totalInstancesUsed": 1, "totalCoresUsed": 4, "totalRAMUsed": 1536}


def test_a_volume_uses_gigabytes(priced: SmallCloud) -> None:
    priced.volume(30)
    assert used(priced) == {"totalVolumesUsed": 1, "totalGigabytesUsed": 30}


def test_a_snapshot_uses_gigabytes(priced: SmallCloud) -> None:
    priced.record("snapshot", size_gb=20)
    assert used(priced) == {"totalSnapshotsUsed": 1, "totalGigabytesUsed": 20}


@pytest.mark.parametrize(
    ("kind", "field"), [("floating_ip", "totalFloatingIpsUsed"), ("security_group", "totalSecurityGroupsUsed")]
)
def test_kinds_without_a_size_are_counted(priced: SmallCloud, kind: Kind, field: str) -> None:
    for _ in range(3):
        priced.record(kind)
    assert used(priced) == {field: 3}


@pytest.mark.parametrize(("kind", "sizes"), [("image", {"size_gb": 9}), ("loadbalance", {}), ("keypair", {})])
def test_kinds_without_a_counter_are_not_counted(priced: SmallCloud, kind: Kind, sizes: dict[str, Any]) -> None:
    priced.record(kind, **sizes)
    assert used(priced) == {}


def test_usage_is_summed_over_nodes(priced: SmallCloud) -> None:
    priced.volume(1, node=NORTH)
    priced.volume(2, node=SOUTH)
    assert used(priced) == {"totalVolumesUsed": 2, "totalGigabytesUsed": 3}


def test_resources_of_other_tenants_are_not_counted(priced: SmallCloud) -> None:
    priced.volume(1, tenant=RIVAL)
    assert used(priced) == {}


def test_resized_resource_is_counted_at_its_new_size(priced: SmallCloud) -> None:
    instance = priced.instance(vcpus=2, ram_mb=2048)
    priced.resize(instance, vcpus=8, ram_mb=512)
    assert used(priced) == {"totalInstancesUsed": 1, "totalCoresUsed": 8, "totalRAMUsed": 512}


def test_resource_deleted_this_hour_is_not_in_use(priced: SmallCloud) -> None:
    priced.volume(10, until=at("12:10"))
    assert used(priced) == {}


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
def test_scheduled_resource_is_in_use_from_start_to_end(priced: SmallCloud, now: float, number: int) -> None:
    priced.volume(10, since=at("12:30"), until=at("14:00"))
    priced.clock.moment = now
    assert priced.usage().total_volumes_used == number


@pytest.mark.parametrize(("now", "number"), [("12:29:59", 0), ("12:30", 1), ("23:00", 1)])
def test_future_resource_is_in_use_from_its_start(priced: SmallCloud, now: str, number: int) -> None:
    priced.volume(10, since=at("12:30"))
    priced.clock.moment = at(now)
    assert (priced.usage().total_volumes_used, priced.usage().total_gigabytes_used) == (number, 10 * number)


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


def test_usage_matches_a_count_of_5000_resources(priced: SmallCloud) -> None:
    rng = random.Random(1115)
    kinds = ["instance", "image", "loadbalance", "volume", "snapshot", "floating_ip", "security_group", "keypair"]
    rows = []
    for index in range(5000):
        kind = rng.choice(kinds)
        started = rng.choice([LONG_AGO, at("11:00") + rng.randrange(10_800), at("12:20")])
        rows.append(
            {
                "id": f"r{index}",
                "tenant_id": rng.choice([ACME.id, RIVAL.id]),
                "kind": kind,
                "name": "r",
                "node_id": None if kind in ("security_group", "keypair") else rng.choice([NORTH, SOUTH]),
                "vcpus": rng.randint(1, 64) if kind == "instance" else 0,
                "ram_mb": rng.randint(1, 99_999) if kind == "instance" else 0,
                "disk_gb": rng.randint(0, 99) if kind == "instance" else 0,
                "size_gb": rng.randint(1, 99) if kind in ("image", "volume", "snapshot") else 0,
                "started_at": started,
                "ended_at": rng.choice([None, started + rng.randrange(10_800), max(started, at("12:20"))]),
            }
        )
    with priced.engine.begin() as connection:
        insert_rows(connection, resources, rows)
        counters.recount_all(connection)
    for now in (at("11:00"), at("12:19:59"), at("12:20"), at("12:20") + 0.5, at("13:00"), at("20:00")):
        priced.clock.moment = now
        for tenant in (ACME, RIVAL):
            fields = as_json(priced.usage(tenant))
            assert {name: fields[name] for name in USED} == _expected_usage(rows, tenant.id, now), now


@pytest.mark.embedded_only
def test_ended_intervals_are_read_by_index(cloud: SmallCloud) -> None:
    parameters = {"tenant": ACME.id, "now": 0, "ended_since": 0}
    steps = asyncio.run(cloud.reader.all(f"EXPLAIN QUERY PLAN {_ENDED_INTERVALS}", parameters))
    plan = [step[3] for step in steps]
    assert [step for step in plan if "resources" in step] == [
        f"SEARCH resources USING INDEX ix_resources_tenant_id_{moment} (tenant_id=? AND {moment}>?)"
        for moment in ("started_at", "ended_at")
    ]
