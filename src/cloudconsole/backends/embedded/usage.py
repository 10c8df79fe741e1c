"""What a tenant may use and uses at a moment, from our own store."""

from typing import Final, NamedTuple

from cloudconsole.backends.embedded.lives import Life, lives_set_apart, next_change
from cloudconsole.core.kinds import QUOTA_DEFAULTS, Kind
from cloudconsole.core.ports import Fresh
from cloudconsole.spec.records import UsageLimits
from cloudconsole.store.reader import Reader

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


_LIMITS: Final = f"SELECT {', '.join(LIMITS.values())} FROM quotas WHERE tenant_id = ?"
_TOTALS: Final = f"SELECT {', '.join(map(_sum, FIGURES.values()))} FROM totals WHERE tenant_id = ?"


def usage_limits(reader: Reader, tenant_id: int, now: float) -> Fresh[UsageLimits]:
    with reader.snapshot():
        limits = reader.one(_LIMITS, (tenant_id,)) or tuple(QUOTA_DEFAULTS[quota] for quota in LIMITS.values())
        used = reader.one(_TOTALS, (tenant_id,)) or ()
        set_apart = lives_set_apart(reader, tenant_id, now, ended_since=now)
    figures = dict(zip(FIGURES, used, strict=True))
    for life in set_apart:
        _correct(figures, life, now)
    record = UsageLimits(**dict(zip(LIMITS, limits, strict=True)), **figures)
    return Fresh(record, next_change(set_apart, now))


def _correct(figures: dict[str, int], life: Life, now: float) -> None:
    times = -1 if life.ended_at is None else int(life.started_at <= now < life.ended_at)
    for name, figure in FIGURES.items():
        if life.kind in figure.kinds:
            figures[name] += times * getattr(life.amounts, figure.column)
