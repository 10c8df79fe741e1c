"""Write and query the audit log."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from msgspec import Struct, structs
from sqlalchemy import ColumnElement, Connection, Table, and_, func, select
from sqlalchemy.exc import DBAPIError

from cloudconsole.core.clock import format_utc
from cloudconsole.operator.rows_and_records import Record, json_text, parse_json
from cloudconsole.operator.transaction import OperatorTransaction, operator_transaction
from cloudconsole.spec.text_escaping import format_cell
from cloudconsole.store.base import Store, StoreError
from cloudconsole.store.migrations import is_usable
from cloudconsole.store.sql import in_values, insert_rows, ordered_search, starts_with
from cloudconsole.store.tables import access_audit, operator_audit

BACKUP: Final = "backup"
"""The change that a backup is recorded as."""
RESTORE: Final = "restore"
"""The change that a restore is recorded as."""


class AuditEntry(NamedTuple):
    """A change such as `flavor.change`. Neither record may contain a password or its hash."""

    change: str
    subject: str | None
    before: Record | None
    after: Record | None


def record_change(
    tx: OperatorTransaction, change: str, subject: str | None, before: Record | None, after: Record | None
) -> None:
    record_changes(tx, [AuditEntry(change, subject, before, after)])


def record_changes(tx: OperatorTransaction, entries: Iterable[AuditEntry]) -> None:
    forced = " (forced)" if tx.is_forced else ""
    common = {"at": tx.now, "actor": tx.actor}
    rows = (
        {**common, "change": change + forced, "subject": subject, "before": _text(before), "after": _text(after)}
        for change, subject, before, after in entries
    )
    insert_rows(tx.connection, operator_audit, rows)


def newest_entry(connection: Connection) -> int:
    """Return the id of the newest entry in the audit log of changes, or 0 if it is empty."""
    return connection.scalar(select(func.max(operator_audit.c.id))) or 0


def restored_since(connection: Connection, entry_id: int) -> bool:
    """Return whether the store was restored after this entry: a restore keeps all entries and appends one."""
    columns = operator_audit.c
    query = select(columns.id).where(columns.id > entry_id, columns.change == RESTORE).limit(1)
    return connection.scalar(query) is not None


class AuditQuery(Struct, frozen=True, kw_only=True):
    """A search of an audit log. Times are seconds since the epoch; `until` is exclusive."""

    actor: str | None = None
    accounts: tuple[str, ...] | None = None
    """Only entries of these."""
    change: str | None = None
    """Prefix of the change or event."""
    events: tuple[str, ...] | None = None
    """Only entries with exactly these changes or events."""
    subject: str | None = None
    address: str | None = None
    """Prefix of the client's address; of logins only."""
    since: int | None = None
    until: int | None = None
    after: int | None = None
    """The id of the last entry on the previous page."""
    before: int | None = None
    """The id of the first entry on the next page; used without `after`."""
    limit: int = 100


CHANGE_COLUMNS: Final = ("id", "at", "actor", "change", "subject", "what")
ACCESS_COLUMNS: Final = ("id", "at", "event", "username", "address", "request_id")
"""What commands and downloads print of each entry; `what` is the description of a change."""


def find_changes(connection: Connection, search: AuditQuery) -> list[Record]:
    """Return operators' changes, newest first."""
    return [_change(row) for row in _entries(connection, operator_audit, search)]


def find_accesses(connection: Connection, search: AuditQuery) -> list[Record]:
    """Return logins, logouts and rejected logins, newest first; `connection` is to the activity database."""
    return [{**row, "at": format_utc(row["at"])} for row in _entries(connection, access_audit, search)]


def all_entries(
    read: Callable[[Connection, AuditQuery], list[Record]], connection: Connection, search: AuditQuery
) -> Iterator[Record]:
    """Yield all entries from a search on; `read` finds a page of them."""
    while page := read(connection, search):
        yield from page
        search = structs.replace(search, after=page[-1]["id"], before=None)


def count_changes(connection: Connection, search: AuditQuery) -> int:
    """Count operators' changes on all pages, up to the limit."""
    return _count(connection, operator_audit, search)


def count_accesses(connection: Connection, search: AuditQuery) -> int:
    """Count logins, logouts and rejected logins on all pages, up to the limit."""
    return _count(connection, access_audit, search)


def describe_change(before: Record | None, after: Record | None, nothing: str = "nothing") -> str:
    """Describe a change in one line: the fields that differ, or all fields of an addition or removal.

    `nothing` stands for a value that is missing.
    """
    if before is None or after is None:
        return ", ".join(f"{name}: {format_cell(value)}" for name, value in (before or after or {}).items())
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    sides = ((name, *(format_cell(record.get(name)) or nothing for record in (before, after))) for name in names)
    return ", ".join(f"{name}: {was} -> {now}" for name, was, now in sides)


def _entries(connection: Connection, table: Table, search: AuditQuery) -> list[Record]:
    is_backward = search.after is None and search.before is not None
    query = select(table).order_by(table.c.id.asc() if is_backward else table.c.id.desc()).limit(search.limit)
    if search.after is not None:
        query = query.where(table.c.id < search.after)
    elif search.before is not None:
        query = query.where(table.c.id > search.before)
    rows = connection.execute(query.where(*_conditions(connection, table, search))).mappings()
    entries = [dict(row) for row in rows]
    return entries[::-1] if is_backward else entries


def _count(connection: Connection, table: Table, search: AuditQuery) -> int:
    found = select(table.c.id).where(*_conditions(connection, table, search)).limit(search.limit).subquery()
    return connection.scalar(select(func.count()).select_from(found)) or 0


_ACTOR_AND_CHANGE: Final = {"operator_audit": ("actor", "change"), "access_audit": ("username", "event")}
"""The columns of the actor and the change in each log."""


def _conditions(connection: Connection, table: Table, search: AuditQuery) -> list[ColumnElement[bool]]:
    actor, change = (table.c[name] for name in _ACTOR_AND_CHANGE[table.name])
    conditions: list[ColumnElement[bool]] = []
    if search.actor is not None:
        conditions.append(actor == search.actor)
    if search.accounts is not None:
        those = partial(in_values, connection, values=search.accounts)
        conditions.append(ordered_search(connection, actor, those))
    if search.events is not None:
        those = partial(in_values, connection, values=search.events)
        conditions.append(ordered_search(connection, change, those))
    if search.subject is not None:
        conditions.append(table.c.subject == search.subject)
    if search.address is not None:
        conditions.append(starts_with(table.c.address, search.address))
    if search.change is not None:
        conditions.append(ordered_search(connection, change, partial(starts_with, prefix=search.change)))
    if search.since is not None or search.until is not None:
        conditions.append(ordered_search(connection, table.c.at, partial(_within, search)))
    return conditions


def _within(search: AuditQuery, at: ColumnElement[Any]) -> ColumnElement[bool]:
    bounds = [] if search.since is None else [at >= search.since]
    return and_(*bounds, *([] if search.until is None else [at < search.until]))


def _change(row: Record) -> Record:
    before, after = (None if row[name] is None else parse_json(row[name]) for name in ("before", "after"))
    return {**row, "at": format_utc(row["at"]), "before": before, "after": after}


def _text(record: Record | None) -> str | None:
    return None if record is None else json_text(record)


def record_copy(store: Store, change: str, subject: str, after: Record | None, *, actor: str, now: int) -> str | None:
    """Record who took a copy. Return the reason on failure instead of raising, because the copy itself is good."""
    try:
        with store.opened("cloud") as engine:
            if not is_usable(engine):
                return "the store was created by an older Cloud Console"
            with operator_transaction(engine, actor=actor, now=now) as tx:
                record_change(tx, change, subject, None, after)
    except (StoreError, DBAPIError, sqlite3.Error) as problem:
        return str(problem.orig if isinstance(problem, DBAPIError) else problem)
    return None
