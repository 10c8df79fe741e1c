"""What operators should know of: reads of the store for their start page, bounded or kept for a while."""

from collections import Counter
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, select

from cloudconsole.core.clock import format_utc
from cloudconsole.operator.audit import BACKUP
from cloudconsole.operator.entities import PRICES
from cloudconsole.operator.near_quotas import TenantNearQuota, tenants_near_quota
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.operator.unpriced_resources import UnpricedResources, unpriced_resources
from cloudconsole.store.tables import (
    access_audit,
    operator_audit,
    project_resources,
    resources,
    usage,
)

DAY: Final = 86_400
PRICE_CHANGE_SECONDS: Final = 30 * DAY
FAILED_LOGIN_SECONDS: Final = DAY
BACKUP_SECONDS: Final = 7 * DAY
"""Age from which a backup is too old; `deploy` has a nightly one."""

MAX_TENANTS: Final = 5
MAX_FAILED_LOGINS: Final = 10_000
_LARGE: Final = 10_000
_KEEP_SECONDS: Final = 60


class Scans(NamedTuple):
    """Results that need all rows of a table."""

    at: int
    near_quota: list[TenantNearQuota]
    """One more than `MAX_TENANTS` if there are more."""
    unpriced: list[UnpricedResources]
    is_kept: bool = False
    """Whether they were read for an earlier page."""


class StoreScanner:
    """Scans the store; scans of a large one are kept for a minute."""

    def __init__(self, large: int = _LARGE) -> None:
        """Set the number of rows of a table from which on scans are kept."""
        self._large = large
        self._last: Scans | None = None

    def scan(self, tx: OperatorTransaction) -> Scans:
        last = self._last
        if last is not None and 0 <= tx.now - last.at < _KEEP_SECONDS and self._is_large(tx):
            return last._replace(is_kept=True)
        self._last = Scans(tx.now, tenants_near_quota(tx, MAX_TENANTS + 1), list(unpriced_resources(tx)))
        return self._last

    def _is_large(self, tx: OperatorTransaction) -> bool:
        # The first columns of primary keys or indexes.
        queries = (
            select(usage.c.tenant_id),
            select(project_resources.c.project_id),
            select(resources.c.ended_at).where(resources.c.ended_at > tx.now),
        )
        return any(tx.connection.execute(query.offset(self._large).limit(1)).first() is not None for query in queries)


class PriceChange(NamedTuple):
    record: Record
    before: str | None
    """The price that it replaces, of the same kind, unit, type and node."""

    @property
    def key(self) -> str:
        return PRICES.key_of(self.record)


def upcoming_price_changes(tx: OperatorTransaction) -> list[PriceChange]:
    """Return the prices that take effect soon, the next first."""
    soonest, latest = format_utc(tx.now), format_utc(tx.now + PRICE_CHANGE_SECONDS)
    records = PRICES.list(tx, limit=None)
    changes = [
        PriceChange(record, before["price"] if _is_same(before, record) else None)
        for before, record in zip([{}, *records], records, strict=False)
        if soonest < record["from"] <= latest
    ]
    return sorted(changes, key=lambda change: change.record["from"])


def _is_same(record: Record, other: Record) -> bool:
    return all(record.get(name) == other.get(name) for name in ("kind", "unit", "type", "node"))


def last_backup(tx: OperatorTransaction) -> int | None:
    """Return when the last backup was recorded. Those of PostgreSQL are not: other programs make them."""
    columns = operator_audit.c
    query = select(columns.at).where(columns.change == BACKUP).order_by(columns.id.desc()).limit(1)
    return tx.connection.scalar(query)


class FailedLogins(NamedTuple):
    event: str
    failures: int
    """At most `MAX_FAILED_LOGINS`."""
    accounts: int
    addresses: int
    most_frequent: tuple[str, int]
    """An account or address with the most of them."""


def failed_logins(connection: Connection, event: str, since: int) -> FailedLogins | None:
    """Count the newest failed logins of an event since then; `connection` is to the activity database."""
    columns = access_audit.c
    newest = (
        select(columns.at, columns.username, columns.address)
        .where(columns.event == event)
        .order_by(columns.id.desc())
        .limit(MAX_FAILED_LOGINS)
    )
    rows: list[Any] = [row for row in connection.execute(newest) if row.at >= since]
    if not rows:
        return None
    # The name of an unknown account is not logged.
    accounts = Counter(row.username for row in rows if row.username is not None)
    addresses = Counter(row.address for row in rows)
    most_frequent = max([*accounts.most_common(1), *addresses.most_common(1)], key=lambda each: each[1])
    return FailedLogins(event, len(rows), len(accounts), len(addresses), most_frequent)
