"""What is kept beside the resources so that no call counts them: totals for costs, usage for quotas.

Both change in the transaction that changes a resource, by adding, never by reading and writing back.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, select

from cloudconsole.core.resources import Amounts
from cloudconsole.store import totals, usage
from cloudconsole.store.tables import tenants

Resource = Mapping[str, Any]
"""A row of `resources`."""


def amounts_of(resource: Resource) -> Amounts:
    """One resource's amounts; the same sum as `AMOUNTS_SQL`."""
    ram_mb = resource["ram_mb"]
    return Amounts(1, resource["vcpus"], ram_mb, -(-ram_mb // 1024), resource["size_gb"])


def follow(connection: Connection, before: Iterable[Resource], after: Iterable[Resource]) -> None:
    """Count that the resources `before` were replaced by those `after`."""
    sums: dict[totals.Place, Amounts] = {}
    moments: dict[int, int] = {}
    for resource in before:
        if resource["ended_at"] is None:
            place = _place(resource)
            sums[place] = sums.get(place, Amounts()).minus(amounts_of(resource))
    for resource in after:
        tenant_id, moment = resource["tenant_id"], resource["ended_at"]
        if moment is None:
            place = _place(resource)
            sums[place] = sums.get(place, Amounts()).plus(amounts_of(resource))
            moment = resource["started_at"]
        moments[tenant_id] = max(moment, moments.get(tenant_id, moment))
    totals.add(connection, sums)
    usage.add(connection, sums, moments)


def recount(connection: Connection) -> None:
    """Set everything anew from the resources, in a few statements however many there are."""
    totals.recount(connection)
    usage.recount(connection)


def wrong(connection: Connection) -> list[str]:
    """What is not as the resources say, one line each; to be called in a transaction."""
    wrong_totals, wrong_usage = totals.wrong(connection), usage.wrong(connection)
    if not wrong_totals and not wrong_usage:
        return []
    names = {row.id: row.name for row in connection.execute(select(tenants.c.id, tenants.c.name))}
    return [
        *(f"{kind} of tenant {names.get(tenant_id, tenant_id)}" for tenant_id, kind, _ in wrong_totals),
        *(f"quotas of tenant {names.get(tenant_id, tenant_id)}" for tenant_id in wrong_usage),
    ]


def _place(resource: Resource) -> totals.Place:
    return resource["tenant_id"], resource["kind"], resource["node_id"]
