"""The running totals behind costs: what a tenant's resources without an end amount to, by kind and node."""

from collections.abc import Mapping

from sqlalchemy import Connection, text

from cloudconsole.core.resources import Amounts
from cloudconsole.store.many import insert_rows
from cloudconsole.store.tables import NO_NODE, totals

# Not (ram_mb + 1023) / 1024: the largest RAM would leave the range of PostgreSQL's INTEGER.
_RAM_GB = "ram_mb / 1024 + (ram_mb % 1024 + 1023) / 1024"

AMOUNTS_SQL = f"1, vcpus, ram_mb, {_RAM_GB}, size_gb"
"""One row of `resources` as `Amounts`."""

Place = tuple[int, str, int | None]
"""Tenant, kind and node that a total is of."""

_COLUMNS = "tenant_id, kind, node_id, items, vcpus, ram_mb, ram_gb, size_gb"

_ADD = f"""
    ON CONFLICT (tenant_id, kind, node_id) DO UPDATE SET
        {", ".join(f"{name} = totals.{name} + excluded.{name}" for name in Amounts._fields)}
"""

_COUNTED = f"""
    SELECT tenant_id, kind, COALESCE(node_id, {NO_NODE}) AS node_id, COUNT(*), SUM(vcpus), SUM(ram_mb),
        SUM({_RAM_GB}), SUM(size_gb)
    FROM resources WHERE ended_at IS NULL GROUP BY tenant_id, kind, node_id
"""
_KEPT = f"SELECT {_COLUMNS} FROM totals WHERE (items, vcpus, ram_mb, ram_gb, size_gb) <> (0, 0, 0, 0, 0)"

_RECOUNT = text(f"INSERT INTO totals ({_COLUMNS}) {_COUNTED}")
_WRONG = text(f"""
    SELECT tenant_id, kind, node_id FROM ({_KEPT} EXCEPT {_COUNTED}) AS needless
    UNION
    SELECT tenant_id, kind, node_id FROM ({_COUNTED} EXCEPT {_KEPT}) AS missing
    ORDER BY tenant_id, kind, node_id
""")


def add(connection: Connection, sums: Mapping[Place, Amounts]) -> None:
    rows = (
        {"tenant_id": tenant_id, "kind": kind, "node_id": node_id or NO_NODE, **amounts._asdict()}
        for (tenant_id, kind, node_id), amounts in sums.items()
    )
    insert_rows(connection, totals, rows, _ADD)


def recount(connection: Connection) -> None:
    connection.execute(text("DELETE FROM totals"))
    connection.execute(_RECOUNT)


def wrong(connection: Connection) -> list[tuple[int, str, int]]:
    """Tenant, kind and node of every total that is not what the resources add up to."""
    return [(tenant_id, kind, node_id) for tenant_id, kind, node_id in connection.execute(_WRONG)]
