"""The running totals behind usage and consumption: what a tenant's resources without an end amount to.

They change in the transaction that changes a resource, by adding, never by reading and writing back.
"""

from collections.abc import Mapping

from sqlalchemy import Connection, text

from cloudconsole.core.kinds import Amounts
from cloudconsole.store.tables import NO_NODE

# Not (ram_mb + 1023) / 1024: the largest RAM would leave the range of PostgreSQL's INTEGER.
_RAM_GB = "ram_mb / 1024 + (ram_mb % 1024 + 1023) / 1024"

AMOUNTS_SQL = f"1, vcpus, ram_mb, {_RAM_GB}, size_gb"
"""One row of `resources` as `Amounts`."""

Place = tuple[int, str, int | None]
"""Tenant, kind and node that a total is of."""

_COLUMNS = "tenant_id, kind, node_id, items, vcpus, ram_mb, ram_gb, size_gb"

_ADD = text(f"""
    INSERT INTO totals ({_COLUMNS})
    VALUES (:tenant_id, :kind, :node_id, :items, :vcpus, :ram_mb, :ram_gb, :size_gb)
    ON CONFLICT (tenant_id, kind, node_id) DO UPDATE SET
        items = totals.items + excluded.items, vcpus = totals.vcpus + excluded.vcpus,
        ram_mb = totals.ram_mb + excluded.ram_mb, ram_gb = totals.ram_gb + excluded.ram_gb,
        size_gb = totals.size_gb + excluded.size_gb
""")

_COUNTED = f"""
    SELECT tenant_id, kind, COALESCE(node_id, {NO_NODE}) AS node_id, COUNT(*), SUM(vcpus), SUM(ram_mb),
        SUM({_RAM_GB}), SUM(size_gb)
    FROM resources WHERE ended_at IS NULL GROUP BY tenant_id, kind, node_id
"""

_RECOUNT = text(f"INSERT INTO totals ({_COLUMNS}) {_COUNTED}")

_KEPT = f"SELECT {_COLUMNS} FROM totals WHERE (items, vcpus, ram_mb, ram_gb, size_gb) <> (0, 0, 0, 0, 0)"


def amounts_of(*, vcpus: int, ram_mb: int, size_gb: int) -> Amounts:
    """One resource's amounts; the same sum as `AMOUNTS_SQL`."""
    return Amounts(1, vcpus, ram_mb, -(-ram_mb // 1024), size_gb)


def add(connection: Connection, tenant_id: int, kind: str, node_id: int | None, amounts: Amounts) -> None:
    add_all(connection, {(tenant_id, kind, node_id): amounts})


def add_all(connection: Connection, sums: Mapping[Place, Amounts]) -> None:
    """Add many sums at once."""
    rows = [
        {"tenant_id": tenant_id, "kind": kind, "node_id": node_id or NO_NODE, **amounts._asdict()}
        for (tenant_id, kind, node_id), amounts in sums.items()
    ]
    if rows:
        connection.execute(_ADD, rows)


def subtract(connection: Connection, tenant_id: int, kind: str, node_id: int | None, amounts: Amounts) -> None:
    add(connection, tenant_id, kind, node_id, Amounts().minus(amounts))


def recount(connection: Connection) -> None:
    """Set every total anew from the resources, in two statements however many there are."""
    connection.execute(text("DELETE FROM totals"))
    connection.execute(_RECOUNT)


def wrong(connection: Connection) -> list[tuple[int, str, int]]:
    """Tenant, kind and node of every total that is not what the resources add up to; to be called in a transaction."""
    kept, counted = (set(map(tuple, connection.execute(text(sql)))) for sql in (_KEPT, _COUNTED))
    return sorted({row[:3] for row in kept ^ counted})
