"""What a load notes of each thing that it adds, changes or removes: what the single commands would."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator.audit import Line, note_all
from cloudconsole.operator.cloudfile.sync import Changes, rows_of
from cloudconsole.operator.desk import Desk
from cloudconsole.operator.nouns import ACCOUNTS, NOUNS, QUOTAS
from cloudconsole.operator.nouns.accounts import PASSWORD_CHANGED
from cloudconsole.operator.records import Record, Row
from cloudconsole.store import tables

MOST_RESOURCES: Final = 10_000
"""Where a load touches more, only its own line says how many."""

_NOUNS: Final = {noun.table: noun for noun in NOUNS}


def note_each(desk: Desk, parts: Sequence[Changes]) -> None:
    """Note what was written and what will go, while the tenants and nodes of both are there to be named.

    Nothing where the store was empty: all is new then.
    """
    if all(part.was_empty for part in parts):
        return
    tenants, nodes = (
        {row["id"]: row["name"] for row in rows_of(desk.connection, table)} for table in (tables.tenants, tables.nodes)
    )

    def named(row: Row) -> Row:
        return {**row, "tenant": tenants.get(row.get("tenant_id")), "node": nodes.get(row.get("node_id"))}

    note_all(desk, (line for part in parts if not _are_too_many(part) for line in _lines(part, named)))


def _are_too_many(part: Changes) -> bool:
    return part.table is tables.resources and sum(part.counts) > MOST_RESOURCES


def _lines(part: Changes, named: Callable[[Row], Row]) -> Iterator[Line]:
    noun = _NOUNS[part.table]
    part = _from_defaults(part) if noun is QUOTAS else part
    for row in part.added:
        record = noun.record_of(named(row))
        yield Line(f"{noun.name}.add", noun.key_of(record), None, record)
    for before, after in zip(part.replaced, part.changed, strict=True):
        was, now = (noun.record_of(named(row)) for row in (before, after))
        if noun is ACCOUNTS:
            yield from _account_lines(before, after, was, now)
        else:
            yield Line(f"{noun.name}.change", noun.key_of(now), was, now)
    for row in part.removed:
        record = noun.record_of(named(row))
        yield Line(f"{noun.name}.remove", noun.key_of(record), record, None)


def _from_defaults(quotas: Changes) -> Changes:
    """Quotas come with their tenant, at their defaults, and go with it."""
    since = Changes(quotas.table)
    for before, after in quotas.written():
        known = {"tenant_id": after["tenant_id"], **QUOTA_DEFAULTS} if before is None else before
        if known != after:
            since.replaced.append(known)
            since.changed.append(after)
    return since


def _account_lines(before: Row, after: Row, was: Record, now: Record) -> Iterator[Line]:
    """Neither where only its sessions end, since its tenant is disabled."""
    key = ACCOUNTS.key_of(now)
    if was != now:
        yield Line("account.change", key, was, now)
    if before["password_hash"] != after["password_hash"]:
        yield Line("account.password", key, None, PASSWORD_CHANGED)
