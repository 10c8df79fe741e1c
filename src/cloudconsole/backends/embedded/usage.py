"""What a tenant may use and uses at a moment, from our own store."""

from typing import Final

from cloudconsole.backends.embedded.lives import SET_APART, Life, lives_set_apart, next_change
from cloudconsole.core.kinds import QUOTA_DEFAULTS, QUOTA_USES, QuotaUse
from cloudconsole.core.ports import Fresh
from cloudconsole.spec.records import UsageLimits
from cloudconsole.store.reader import Reader, Row

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


FIGURES: Final = {
    "total_instances_used": QUOTA_USES["instances"],
    "total_cores_used": QUOTA_USES["cores"],
    "total_ram_used": QUOTA_USES["ram"],
    "total_volumes_used": QUOTA_USES["volumes"],
    "total_gigabytes_used": QUOTA_USES["gigabytes"],
    "total_snapshots_used": QUOTA_USES["snapshots"],
    "total_floating_ips_used": QUOTA_USES["floating_ips"],
    "total_security_groups_used": QUOTA_USES["security_groups"],
}
"""What each figure of use adds up."""


def _sum(use: QuotaUse) -> str:
    kinds = ", ".join(f"'{kind}'" for kind in use.kinds)
    return f"COALESCE(SUM(CASE WHEN kind IN ({kinds}) THEN {use.amount} END), 0)"


_LIMITS: Final = ", ".join(f"COALESCE(quotas.{quota}, {QUOTA_DEFAULTS[quota]})" for quota in LIMITS.values())
_SUMS: Final = ", ".join(map(_sum, FIGURES.values()))
_USAGE: Final = f"""
    SELECT EXISTS ({SET_APART}), {_LIMITS}, {_SUMS}
    FROM (SELECT :tenant AS tenant_id) LEFT JOIN quotas USING (tenant_id) LEFT JOIN totals USING (tenant_id)
"""


def usage_limits(reader: Reader, tenant_id: int, now: float) -> Fresh[UsageLimits]:
    """What the totals tell, corrected where time sets resources apart from them."""
    has_set_apart, *numbers = _usage(reader, tenant_id, now)
    if not has_set_apart:
        return Fresh(_record(numbers))
    # Seldom, so only now in two statements, which must see the same moment.
    with reader.snapshot():
        _, *numbers = _usage(reader, tenant_id, now)
        set_apart = lives_set_apart(reader, tenant_id, now, ended_since=now)
    for life in set_apart:
        _correct(numbers, life, now)
    return Fresh(_record(numbers), next_change(set_apart, now))


def _usage(reader: Reader, tenant_id: int, now: float) -> Row:
    (row,) = reader.all(_USAGE, {"tenant": tenant_id, "now": now, "ended_since": now})
    return row


def _record(numbers: list[int]) -> UsageLimits:
    return UsageLimits(**dict(zip((*LIMITS, *FIGURES), numbers, strict=True)))


def _correct(numbers: list[int], life: Life, now: float) -> None:
    times = -1 if life.ended_at is None else int(life.started_at <= now < life.ended_at)
    for place, use in enumerate(FIGURES.values(), len(LIMITS)):
        if life.kind in use.kinds:
            numbers[place] += times * getattr(life.amounts, use.amount)
