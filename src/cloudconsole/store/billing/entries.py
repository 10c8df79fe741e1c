"""Entries of the billing record.

An entry for a closed month counts from the open one on; the cost of the closed hours is a correction.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from cloudconsole.core.billing import CostKey, Entry, total_cost
from cloudconsole.core.billing_hours import Calendar
from cloudconsole.core.pricing import PriceBook
from cloudconsole.core.resources import Amounts
from cloudconsole.store.billing.monthly_sums import add_sums, begin_sums, rebuild_sums, sum_values, summed_tenants
from cloudconsole.store.billing.state import BillingState, store_time_zone, update_state
from cloudconsole.store.sql import insert_rows
from cloudconsole.store.tables import (
    BILLED_AMOUNTS,
    billing_entries,
    monthly_sums,
    price_entries,
    project_resources,
    record_names,
)

Row = Mapping[str, Any]

EntryRow = dict[str, Any]
"""A row of `billing_entries`."""


def entry_row(
    tenant_id: int,
    event: str,
    key: CostKey,
    amounts: Iterable[int],
    at: int,
    recorded_at: int,
    *,
    resource: tuple[str, str] = ("", ""),
    is_end: bool = False,
) -> EntryRow:
    """Return an entry with signed amounts, in the order of `BILLED_AMOUNTS`; `resource` is its id and name."""
    resource_id, name = resource
    return {
        "tenant_id": tenant_id,
        "resource_id": resource_id,
        "name": name,
        "event": event,
        "at": at,
        "counts_from": at,
        "correction": "0",
        "recorded_at": recorded_at,
        "is_end": int(is_end),
        "skips_hour": int(is_end),
        **key._asdict(),
        **dict(zip(BILLED_AMOUNTS, amounts, strict=True)),
    }


def open_record(connection: Connection, now: int, zone: tzinfo) -> tuple[BillingState, Calendar]:
    """Return the state for writing, with past months closed and the sums of open ones in the present time zone."""
    state = update_state(connection, now, zone)
    if state.time_zone != str(zone):
        rebuild_sums(connection, state.closed_until, state.calendar(zone))
        store_time_zone(connection, zone)
        state = update_state(connection, now, zone)
    return state, state.calendar(zone)


def write_entries(
    connection: Connection, rows: Sequence[EntryRow], state: BillingState, calendar: Calendar, book: PriceBook
) -> None:
    """Add entries; those for closed months count from the open one on."""
    for row in rows:
        if row["at"] < state.open_from:
            if state.closed_until > state.complete_since and has_amounts(row):
                row["correction"] = str(_closed_cost(row, state, calendar, book))
            row["counts_from"], row["skips_hour"] = state.open_from, 0
    add_entries(connection, rows, calendar)


def add_entries(connection: Connection, rows: Sequence[EntryRow], calendar: Calendar) -> None:
    """Add entries with their sums as they are, also in closed months."""
    insert_rows(connection, billing_entries, rows)
    counts = Counter(row["tenant_id"] for row in rows)
    summed = summed_tenants(connection, counts)
    add_sums(connection, (sum_values(row) for row in rows if row["tenant_id"] in summed), calendar)
    begin_sums(connection, counts, summed, calendar)


def has_amounts(row: Row) -> bool:
    return any(row[name] for name in BILLED_AMOUNTS)


def _closed_cost(row: Row, state: BillingState, calendar: Calendar, book: PriceBook) -> int:
    """Return what an entry would have cost in the closed hours, at the prices known now."""
    entry = closed_entry(row, state)
    return total_cost([entry], calendar.divide(entry.at, state.closed_until, book.starts), book)


def closed_entry(row: Row, state: BillingState) -> Entry:
    begin = max(row["at"], state.complete_since)
    return Entry(cost_key(row), _signed(row), begin, bool(row["is_end"]) and begin == row["at"])


def cost_key(row: Row) -> CostKey:
    return CostKey(row["kind"], row["node_id"], row["type"])


def _signed(row: Row) -> Amounts:
    return Amounts(row["items"], row["vcpus"], 0, row["ram_gb"], row["size_gb"])


# Names


def add_name(connection: Connection, thing: str, name: str) -> int:
    """Store a name and return its negative id."""
    row_id = (connection.scalar(select(func.min(record_names.c.id))) or 0) - 1
    connection.execute(insert(record_names).values(id=row_id, thing=thing, name=name))
    return row_id


def detach_entries(connection: Connection, thing: str, row_id: int, name: str) -> None:
    """Give the entries of a removed tenant or node a negative id of their own, since its id may be reused."""
    column, tables = (
        ("tenant_id", (billing_entries, monthly_sums))
        if thing == "tenant"
        else ("node_id", (billing_entries, monthly_sums, price_entries, project_resources))
    )
    queries = {table: select(table.c[column]).where(table.c[column] == row_id).limit(1) for table in tables}
    found = [table for table, query in queries.items() if connection.scalar(query) is not None]
    if not found:
        return
    new_id = add_name(connection, thing, name)
    for table in found:
        connection.execute(update(table).where(table.c[column] == row_id).values({column: new_id}))
