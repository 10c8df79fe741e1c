"""Names of tenants, nodes and flavors that contain a text, to choose from."""

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Table, select

from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.store.tables import flavors, nodes, tenants

SUGGESTED: Final[Mapping[str, Table]] = {"tenant": tenants, "node": nodes, "flavor": flavors}
_SIZES: Final[Mapping[str, str]] = {"vcpus": "vcpus", "ram_mb": "ram", "disk_gb": "disk"}
"""Columns of a flavor and its fields."""


def suggestions(
    tx: OperatorTransaction, entity: str, text: str = "", *, is_enabled: bool = False, limit: int
) -> list[Record]:
    """Return names that contain the text in any case, those that begin with it first; flavors with their sizes."""
    table = SUGGESTED[entity]
    columns: Any = table.c
    sizes = {column: name for column, name in _SIZES.items() if entity == "flavor"}
    query = select(columns.name, *(columns[column].label(name) for column, name in sizes.items()))
    if text:
        query = query.where(columns.name.icontains(text, autoescape=True))
        query = query.order_by(~columns.name.istartswith(text, autoescape=True))
    if is_enabled:
        query = query.where(~columns.disabled)
    return [dict(row) for row in tx.connection.execute(query.order_by(columns.name).limit(limit)).mappings()]
