"""Write and query the audit log."""

import sqlite3
from collections.abc import Iterable
from functools import partial
from typing import Any, Final, NamedTuple

from msgspec import Struct
from sqlalchemy import Column, ColumnElement, Connection, and_, func, select
from sqlalchemy.exc import DBAPIError

from cloudconsole.core.clock import format_utc
from cloudconsole.operator.serializers import Record, json_text, parse_json
from cloudconsole.operator.transaction import OperatorTransaction, operator_transaction
from cloudconsole.spec.text import format_cell
from cloudconsole.store.base import Store, StoreError
from cloudconsole.store.migrations import is_usable
from cloudconsole.store.sql import insert_rows, ordered_search, starts_with
from cloudconsole.store.tables import access_audit, operator_audit

RESTORE: Final = "restore"
"""What a restore is called in the trail."""


class AuditEntry(NamedTuple):
    """A change, such as `flavor.change`; neither record may hold a password or its hash."""

    change: str
    subject: str | None
    before: Record | None
    after: Record | None


def record_change(
    tx: OperatorTransaction, change: str, subject: str | None, before: Record | None, after: Record | None
) -> None:
    record_changes(tx, [AuditEntry(change, subject, before, after)])


def record_changes(tx: OperatorTransaction, lines: Iterable[AuditEntry]) -> None:
    """Note changes that are made together."""
    forced = " (forced)" if tx.force else ""
    made = {"at": tx.now, "actor": tx.actor}
    rows = (
        {**made, "change": change + forced, "subject": subject, "before": _text(before), "after": _text(after)}
        for change, subject, before, after in lines
    )
    insert_rows(tx.connection, operator_audit, rows)


def newest_entry(connection: Connection) -> int:
    """The id of the newest line of operators' changes; 0 where there is none."""
    return connection.scalar(select(func.max(operator_audit.c.id))) or 0


def restored_since(connection: Connection, line: int) -> bool:
    """Whether the store was restored after a line: a restore keeps all lines, and its own follows on them."""
    columns = operator_audit.c
    found = select(columns.id).where(columns.id > line, columns.change == RESTORE).limit(1)
    return connection.scalar(found) is not None


class AuditQuery(Struct, frozen=True, kw_only=True):
    """Which lines of a trail are wanted; times are seconds, `until` itself is left out."""

    actor: str | None = None
    change: str | None = None
    """How the change, or the event, begins."""
    subject: str | None = None
    since: int | None = None
    until: int | None = None
    after: int | None = None
    """The id of the last line seen."""
    limit: int = 100


def find_changes(connection: Connection, search: AuditQuery) -> list[Record]:
    """What operators changed, newest first."""
    columns = operator_audit.c
    found = _lines(connection, operator_audit, search, {"actor": columns.actor, "change": columns.change})
    return [_change(row) for row in found]


def find_accesses(connection: Connection, search: AuditQuery) -> list[Record]:
    """Logins, logouts and refused logins, newest first; from the database of activity."""
    columns = access_audit.c
    found = _lines(connection, access_audit, search, {"actor": columns.username, "change": columns.event})
    return [{**row, "at": format_utc(row["at"])} for row in found]


def describe_change(before: Record | None, after: Record | None, longest: int | None = None) -> str:
    """A change in one line: the fields that differ, or all of them where there is only one side.

    Values are cut behind so many characters, where that is asked for.
    """
    if before is None or after is None:
        return ", ".join(f"{name}: {_side(value, longest)}" for name, value in (before or after or {}).items())
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    sides = ((name, *(_side(record.get(name), longest) or "nothing" for record in (before, after))) for name in names)
    return ", ".join(f"{name}: {was} -> {now}" for name, was, now in sides)


def _side(value: Any, longest: int | None) -> str:
    text = format_cell(value)
    return text if longest is None or len(text) <= longest else f"{text[:longest]}…"


def _lines(connection: Connection, table: Any, search: AuditQuery, columns: dict[str, Column[Any]]) -> list[Record]:
    query = select(table).order_by(table.c.id.desc()).limit(search.limit)
    wanted: list[ColumnElement[bool]] = []
    if search.actor is not None:
        wanted.append(columns["actor"] == search.actor)
    if search.subject is not None:
        wanted.append(table.c.subject == search.subject)
    if search.after is not None:
        wanted.append(table.c.id < search.after)
    if search.change is not None:
        wanted.append(ordered_search(connection, columns["change"], partial(starts_with, prefix=search.change)))
    if search.since is not None or search.until is not None:
        wanted.append(ordered_search(connection, table.c.at, partial(_within, search)))
    return [dict(row) for row in connection.execute(query.where(*wanted)).mappings()]


def _within(search: AuditQuery, at: ColumnElement[Any]) -> ColumnElement[bool]:
    bounds = [] if search.since is None else [at >= search.since]
    return and_(*bounds, *([] if search.until is None else [at < search.until]))


def _change(row: Record) -> Record:
    before, after = (None if row[name] is None else parse_json(row[name]) for name in ("before", "after"))
    return {**row, "at": format_utc(row["at"]), "before": before, "after": after}


def _text(record: Record | None) -> str | None:
    return None if record is None else json_text(record)


def record_copy(store: Store, change: str, subject: str, after: Record | None, *, actor: str, now: int) -> str | None:
    """Note who took a copy; gives why that could not be, which makes the copy no worse."""
    try:
        with store.opened("cloud") as engine:
            if not is_usable(engine):
                return "the store is of an older Cloud Console"
            with operator_transaction(engine, actor=actor, now=now) as tx:
                record_change(tx, change, subject, None, after)
    except (StoreError, DBAPIError, sqlite3.Error) as problem:
        return str(problem.orig if isinstance(problem, DBAPIError) else problem)
    return None
