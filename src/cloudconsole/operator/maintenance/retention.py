"""Forgetting what nothing needs any more: ended resources, old lines of the trails, sessions that are over.

It goes in short transactions, so that nobody who works with the store meanwhile waits for long, and what is left when
it is interrupted goes the next time. Totals and usage are of resources without an end: they stay as they are.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, Engine, Table, and_, func, or_, select

from cloudconsole.core.clock import format_utc
from cloudconsole.core.login_throttle import WINDOW_SECONDS
from cloudconsole.operator.audit import record_change
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.store.activity import UNDECLARED_SECONDS
from cloudconsole.store.base import DATABASE_NAMES, DatabaseName, Store, read_only
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
"""What it is called in the trail, where its own lines stay for ever."""
DAY: Final = 86_400
LEAST_DAYS: Final = 7
"""No figure needs what ended before the present hour; the rest is for clocks, and for people who look back."""
ROWS_PER_TRANSACTION: Final = 1000
"""Of more tenants or sessions at once, PostgreSQL's signals would only say that everything has changed."""


class RetentionAges(NamedTuple):
    """How many days each is kept; None: for ever."""

    ended_resources: int | None = None
    audit: int | None = None
    access_audit: int | None = None


class Rule(NamedTuple):
    table: Table
    outdated: ColumnElement[bool]
    before: int
    """The moment that it goes by."""


def rules(ages: RetentionAges, *, now: int, session_idle: int) -> list[Rule]:
    """What may go; the ages are refused where they are too short."""
    for name, days in ages._asdict().items():
        if days is not None and days < LEAST_DAYS:
            raise OperatorError(f"{name}: nothing is removed before {LEAST_DAYS} days have passed")
    return [*_asked_for(ages, now), *_over(now, session_idle)]


def _asked_for(ages: RetentionAges, now: int) -> Iterator[Rule]:
    if ages.ended_resources is not None:
        before = now - ages.ended_resources * DAY
        yield Rule(resources, resources.c.ended_at < before, before)
    if ages.audit is not None:
        before = now - ages.audit * DAY
        yield Rule(operator_audit, and_(operator_audit.c.at < before, operator_audit.c.change != PRUNE), before)
    if ages.access_audit is not None:
        before = now - ages.access_audit * DAY
        yield Rule(access_audit, access_audit.c.at < before, before)


def _over(now: int, session_idle: int) -> Iterator[Rule]:
    """What has no effect any more; for a day longer, so that neither clocks nor settings that differ end a session."""
    yesterday = now - DAY
    is_over = or_(sessions.c.expires_at < yesterday, sessions.c.seen_at < yesterday - session_idle)
    yield Rule(sessions, is_over, yesterday)
    yield Rule(login_failures, login_failures.c.at < yesterday - WINDOW_SECONDS, yesterday - WINDOW_SECONDS)
    yield Rule(observed_resources, observed_resources.c.seen_at < yesterday, yesterday)
    undeclared = yesterday - UNDECLARED_SECONDS
    yield Rule(undeclared_proxies, undeclared_proxies.c.seen_at < undeclared, undeclared)


def count(store: Store, chosen: Iterable[Rule]) -> dict[str, int]:
    """How many rows of each table would go."""
    found: dict[str, int] = {}
    for part, some in _by_part(chosen).items():
        with store.opened(part) as engine, read_only(engine).begin() as connection:
            for rule in some:
                query = select(func.count()).select_from(rule.table).where(rule.outdated)
                found[rule.table.name] = connection.scalar(query) or 0
    return found


def prune(store: Store, chosen: Iterable[Rule], *, actor: str, now: int) -> dict[str, int]:
    """Remove them; gives how many of each table went.

    What there is to remove is noted first: should it be interrupted, the trail says too much, and never too little.
    """
    chosen = list(chosen)
    found = count(store, chosen)
    if any(found.values()):
        with store.opened("cloud") as engine, operator_transaction(engine, actor=actor, now=now) as tx:
            going = {rule.table.name: rule for rule in chosen if found[rule.table.name]}
            after = {name: {"rows": found[name], "before": format_utc(rule.before)} for name, rule in going.items()}
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
    """Removes some in each transaction until there are none, but for those that someone else has just taken hold of."""

    def remove(connection: Connection) -> int:
        return delete_batch(connection, rule.table, rule.outdated, ROWS_PER_TRANSACTION)

    while (removed := retry_deadlocks(engine, remove)) > 0:
        yield removed
