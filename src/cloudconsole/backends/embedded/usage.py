"""What a tenant may use and uses at a moment, from our own store."""

from typing import Final, NamedTuple

from cloudconsole.backends.embedded.lives import SET_APART, Life, lives_set_apart, next_change
from cloudconsole.core.kinds import QUOTA_DEFAULTS, Kind
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


class Figure(NamedTuple):
    """What a figure of use adds up: a column of the totals, of resources of these kinds."""

    kinds: tuple[Kind, ...]
    column: str


FIGURES: Final = {
    "total_instances_used": Figure(("instance",), "items"),
    "total_cores_used": Figure(("instance",), "vcpus"),
    "total_ram_used": Figure(("instance",), "ram_mb"),
    "total_volumes_used": Figure(("volume",), "items"),
    # As in Cinder: snapshots take gigabytes, too.
    "total_gigabytes_used": Figure(("volume", "snapshot"), "size_gb"),
    "total_snapshots_used": Figure(("snapshot",), "items"),
    "total_floating_ips_used": Figure(("floating_ip",), "items"),
    "total_security_groups_used": Figure(("security_group",), "items"),
}


def _sum(figure: Figure) -> str:
    kinds = ", ".join(f"'{kind}'" for kind in figure.kinds)
    return f"COALESCE(SUM(CASE WHEN kind IN ({kinds}) THEN {figure.column} END), 0)"


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
    for place, figure in enumerate(FIGURES.values(), len(LIMITS)):
        if life.kind in figure.kinds:
            numbers[place] += times * getattr(life.amounts, figure.column)
