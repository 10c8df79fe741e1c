"""What a tenant has in use of its quotas, and whether more fits in.

Counted as in GetUsageLimits, and besides what has been recorded to start later: it will need its place, too.
"""

from collections.abc import Mapping
from typing import Final

from sqlalchemy import func, select, text

from cloudconsole.core.kinds import QUOTA_DEFAULTS, UNLIMITED, Amounts
from cloudconsole.operator.desk import Desk
from cloudconsole.operator.errors import Overridable
from cloudconsole.operator.records import Row
from cloudconsole.store import totals
from cloudconsole.store.tables import quotas
from cloudconsole.store.tables import totals as totals_table

QUOTAS: Final[Mapping[str, Mapping[str, str]]] = {
    "instance": {"instances": "items", "cores": "vcpus", "ram": "ram_mb"},
    "volume": {"volumes": "items", "gigabytes": "size_gb"},
    # As in Cinder: snapshots take gigabytes, too.
    "snapshot": {"snapshots": "items", "gigabytes": "size_gb"},
    "floating_ip": {"floating_ips": "items"},
    "security_group": {"security_groups": "items"},
    "keypair": {"keypairs": "items"},
}
"""What a resource of each kind takes from which quotas; a kind that is missing takes from none."""

_WITH_END: Final = text(
    f"SELECT kind, {totals.AMOUNTS_SQL} FROM resources WHERE tenant_id = :tenant AND ended_at > :now"
)


def check_quotas(desk: Desk, tenant_id: int, before: Row | None, after: Row) -> None:
    """Refuse a resource, new or grown, that would take more than a quota leaves."""
    if desk.force:
        return
    had, wants = _taken(desk, before), _taken(desk, after)
    asked = {name: amount - had.get(name, 0) for name, amount in wants.items() if amount > had.get(name, 0)}
    if not asked:
        return
    limits, used = limits_of(desk, tenant_id), in_use(desk, tenant_id)
    over = [
        f"{name}: {used.get(name, 0)} of {limits[name]} in use, {more} more asked for"
        for name, more in asked.items()
        if limits[name] != UNLIMITED and used.get(name, 0) + more > limits[name]
    ]
    if over:
        raise Overridable(f"over quota ({'; '.join(over)})")


def limits_of(desk: Desk, tenant_id: int) -> dict[str, int]:
    row = desk.connection.execute(select(quotas).where(quotas.c.tenant_id == tenant_id)).mappings().one_or_none()
    return {name: default if row is None else int(row[name]) for name, default in QUOTA_DEFAULTS.items()}


def in_use(desk: Desk, tenant_id: int) -> dict[str, int]:
    """What of each quota is in use or spoken for."""
    columns = [func.sum(totals_table.c[name]) for name in Amounts._fields]
    running = select(totals_table.c.kind, *columns).where(totals_table.c.tenant_id == tenant_id)
    used: dict[str, int] = {}
    found = [*desk.connection.execute(running.group_by(totals_table.c.kind))]
    found += desk.connection.execute(_WITH_END, {"tenant": tenant_id, "now": desk.now})
    for kind, *amounts in found:
        for name, taken in _of_quotas(kind, Amounts(*map(int, amounts))).items():
            used[name] = used.get(name, 0) + taken
    return used


def _taken(desk: Desk, resource: Row | None) -> dict[str, int]:
    """What a resource takes now or later: nothing once it has ended."""
    if resource is None or (resource["ended_at"] is not None and resource["ended_at"] <= desk.now):
        return {}
    return _of_quotas(resource["kind"], amounts_of(resource))


def amounts_of(resource: Row) -> Amounts:
    return totals.amounts_of(vcpus=resource["vcpus"], ram_mb=resource["ram_mb"], size_gb=resource["size_gb"])


def _of_quotas(kind: str, amounts: Amounts) -> dict[str, int]:
    return {name: getattr(amounts, unit) for name, unit in QUOTAS.get(kind, {}).items()}
