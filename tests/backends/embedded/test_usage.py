"""Limits and usage, field by field and against a per-resource count."""

import asyncio
import math
import random
from typing import Any

import msgspec
import pytest

from cloudconsole.backends.embedded.cloud import _ENDED_INTERVALS
from cloudconsole.spec.records import UsageLimits
from cloudconsole.store import counters
from cloudconsole.store.sql import insert_rows
from cloudconsole.store.tables import quotas, resources
from tests.backends.embedded.small_cloud import ACME, ONE, RIVAL, SmallCloud, at, random_resource

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
    rng = random.Random(1115)
    rows = [random_resource(rng, number) for number in range(1000)]
    with cloud.engine.begin() as connection:
        insert_rows(connection, resources, rows)
        counters.recount_all(connection)
    for now in (at("11:00"), at("11:59:59"), at("12:00"), at("12:20") + 0.5, at("13:00"), at("20:00")):
        cloud.clock.moment = now
        for tenant in (ACME, RIVAL):
            assert fields(cloud.usage(tenant), "total") == _expected_usage(rows, tenant.id, now), now


@pytest.mark.embedded_only
def test_ended_intervals_are_read_by_index(cloud: SmallCloud) -> None:
    parameters = {"tenant": ACME.id, "now": 0, "ended_since": 0}
    steps = asyncio.run(cloud.reader.all(f"EXPLAIN QUERY PLAN {_ENDED_INTERVALS}", parameters))
    plan = [step[3] for step in steps]
    assert [step for step in plan if "resources" in step] == [
        f"SEARCH resources USING INDEX ix_resources_tenant_id_{moment} (tenant_id=? AND {moment}>?)"
        for moment in ("started_at", "ended_at")
    ]
