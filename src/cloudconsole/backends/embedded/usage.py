"""What a tenant may use and uses at a moment, from our own store."""

from typing import Final

from cloudconsole.backends.embedded.lives import Life, lives_set_apart, next_change
from cloudconsole.core.ports import Fresh
from cloudconsole.core.resources import QUOTA_DEFAULTS, quota_use
from cloudconsole.spec.records import UsageLimits
from cloudconsole.store.reader import Reader, Reading, Row

LIMITS: Final = {
    "max_total_instances": "instances",
    "max_total_cores": "cores",
    "max_total_ram_size": "ram",
    "max_total_volumes": "volumes",
    "max_total_volume_gigabytes": "gigabytes",
    "max_total_snapshots": "snapshots",
    "max_total_floating_ips": "floating_ips",
    "max_security_groups": "security_groups",
    "max_security_group_rules": "security_group_rules",
    "max_total_keypairs": "keypairs",
    "max_personality": "personality",
    "max_personality_size": "personality_size",
    "max_image_meta": "image_meta",
    "max_server_meta": "server_meta",
}
"""The quota that each limit of the record is."""

USES: Final = {
    "total_instances_used": "instances",
    "total_cores_used": "cores",
    "total_ram_used": "ram",
    "total_volumes_used": "volumes",
    "total_gigabytes_used": "gigabytes",
    "total_snapshots_used": "snapshots",
    "total_floating_ips_used": "floating_ips",
    "total_security_groups_used": "security_groups",
}
"""The quota from which each figure of use takes."""


def _column(field: str) -> str:
    if field in USES:
        return f"COALESCE(usage.{USES[field]}, 0)"
    quota = LIMITS[field]
    return f"COALESCE(quotas.{quota}, {QUOTA_DEFAULTS[quota]})"


_USAGE: Final = f"""
    SELECT {", ".join(map(_column, UsageLimits.__struct_fields__))}, COALESCE(usage.settled_at, 0)
    FROM (SELECT ? AS tenant_id) AS asked LEFT JOIN quotas USING (tenant_id) LEFT JOIN usage USING (tenant_id)
"""


async def usage_limits(reader: Reader, tenant_id: int, now: float) -> Fresh[UsageLimits]:
    """What is kept of the tenant's use, corrected where time sets resources apart from it."""
    *numbers, settled_at = await _usage(reader, tenant_id)
    if settled_at < now:
        return Fresh(UsageLimits(*numbers))
    # Seldom, so only now in two statements, which must see the same moment.
    async with reader.snapshot() as moment:
        *numbers, _ = await _usage(moment, tenant_id)
        set_apart = await lives_set_apart(moment, tenant_id, now, ended_since=now)
    for life in set_apart:
        _correct(numbers, life, now)
    return Fresh(UsageLimits(*numbers), next_change(set_apart, now))


async def _usage(reader: Reading, tenant_id: int) -> Row:
    (row,) = await reader.all(_USAGE, (tenant_id,))
    return row


def _correct(numbers: list[int], life: Life, now: float) -> None:
    times = -1 if life.ended_at is None else int(life.started_at <= now < life.ended_at)
    uses = quota_use(life.kind, life.amounts)
    for place, field in enumerate(UsageLimits.__struct_fields__):
        if field in USES:
            numbers[place] += times * uses.get(USES[field], 0)
