"""Removal of ended resources, old audit entries and expired sessions.

Rows are removed in short transactions, so that other writers do not wait long; an interrupted run continues the next
time. Counters cover only resources without an end and do not change.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, Engine, Table, and_, func, or_, select

from cloudconsole.core.clock import format_utc
from cloudconsole.core.login_throttle import WINDOW_SECONDS
from cloudconsole.operator.audit import record_change
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.store.activity_writes import UNDECLARED_SECONDS
from cloudconsole.store.base import DATABASE_NAMES, DatabaseName, Store, read_only_engine
from cloudconsole.store.sql import delete_batch, retry_deadlocks
from cloudconsole.store.tables import (
    access_audit,
    login_failures,
    observed_resources,
    operator_audit,
    resources,
    sessions,
    undeclared_proxies,
)

PRUNE: Final = "prune"
"""The change in the audit log, where these entries are never removed."""
DAY: Final = 86_400
MIN_DAYS: Final = 7
"""Billing needs nothing that ended before the current hour; the rest is a margin for clocks and for review."""
ROWS_PER_TRANSACTION: Final = 1000
"""With more tenants or sessions per transaction, the change log would only report that everything changed."""


class RetentionAges(NamedTuple):
    """Retention in days; None keeps rows forever."""

    ended_resources: int | None = None
    audit: int | None = None
    access_audit: int | None = None


class Rule(NamedTuple):
    table: Table
    outdated: ColumnElement[bool]
    before: int
    """The cutoff time."""


def rules(ages: RetentionAges, *, now: int, session_idle: int) -> list[Rule]:
    """Return the rules for these ages; reject ages that are too short."""
    for name, days in ages._asdict().items():
        if days is not None and days < MIN_DAYS:
            raise OperatorError(f"{name}: must be at least {MIN_DAYS} days")
    return [*_configured(ages, now), *_expired(now, session_idle)]


def _configured(ages: RetentionAges, now: int) -> Iterator[Rule]:
    if ages.ended_resources is not None:
        before = now - ages.ended_resources * DAY
        yield Rule(resources, resources.c.ended_at < before, before)
    if ages.audit is not None:
        before = now - ages.audit * DAY
        yield Rule(operator_audit, and_(operator_audit.c.at < before, operator_audit.c.change != PRUNE), before)
    if ages.access_audit is not None:
        before = now - ages.access_audit * DAY
        yield Rule(access_audit, access_audit.c.at < before, before)


def _expired(now: int, session_idle: int) -> Iterator[Rule]:
    """Yield rules for rows without effect, a day late to tolerate differing clocks and settings."""
    yesterday = now - DAY
    is_expired = or_(sessions.c.expires_at < yesterday, sessions.c.seen_at < yesterday - session_idle)
    yield Rule(sessions, is_expired, yesterday)
    yield Rule(login_failures, login_failures.c.at < yesterday - WINDOW_SECONDS, yesterday - WINDOW_SECONDS)
    yield Rule(observed_resources, observed_resources.c.seen_at < yesterday, yesterday)
    undeclared = yesterday - UNDECLARED_SECONDS
    yield Rule(undeclared_proxies, undeclared_proxies.c.seen_at < undeclared, undeclared)


def count(store: Store, chosen: Iterable[Rule]) -> dict[str, int]:
    """Return the number of rows to remove by table."""
    counts: dict[str, int] = {}
    for part, some in _by_part(chosen).items():
        with store.opened(part) as engine, read_only_engine(engine).begin() as connection:
            for rule in some:
                query = select(func.count()).select_from(rule.table).where(rule.outdated)
                counts[rule.table.name] = connection.scalar(query) or 0
    return counts


def prune(store: Store, chosen: Iterable[Rule], *, actor: str, now: int) -> dict[str, int]:
    """Remove the rows; return their number by table.

    The audit entry is written first: after an interruption it lists too much, never too little.
    """
    chosen = list(chosen)
    counts = count(store, chosen)
    if any(counts.values()):
        with store.opened("cloud") as engine, operator_transaction(engine, actor=actor, now=now) as tx:
            going = {rule.table.name: rule for rule in chosen if counts[rule.table.name]}
            after = {name: {"rows": counts[name], "before": format_utc(rule.before)} for name, rule in going.items()}
            record_change(tx, PRUNE, None, None, after)
    removed: dict[str, int] = {}
    for part, some in _by_part(chosen).items():
        with store.opened(part) as engine:
            for rule in some:
                removed[rule.table.name] = sum(in_batches(engine, rule))
    return removed


def _by_part(chosen: Iterable[Rule]) -> dict[DatabaseName, list[Rule]]:
    chosen = list(chosen)
    return {part: [rule for rule in chosen if _part_of(rule.table) == part] for part in DATABASE_NAMES}


def _part_of(table: Table) -> DatabaseName:
    return "cloud" if table.metadata is resources.metadata else "activity"


def in_batches(engine: Engine, rule: Rule) -> Iterator[int]:
    """Remove a batch per transaction until only rows locked by others are left; yield the batch sizes."""

    def remove(connection: Connection) -> int:
        return delete_batch(connection, rule.table, rule.outdated, ROWS_PER_TRANSACTION)

    while (removed := retry_deadlocks(engine, remove)) > 0:
        yield removed
