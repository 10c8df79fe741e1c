"""Recent failed logins of accounts, and which accounts are locked by them."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, func, select

from cloudconsole.core.login_throttle import SKEW_SECONDS, USER_FAILURES, WINDOW_SECONDS
from cloudconsole.store.activity_writes import hash_username
from cloudconsole.store.tables import access_audit, login_failures


class LoginFailures(NamedTuple):
    """Those of the last five minutes."""

    number: int = 0
    is_locked: bool = False
    """Whether logins from at least one network have to wait."""


def login_failures_of(connection: Connection, usernames: Collection[str], now: int) -> dict[str, LoginFailures]:
    """Return the accounts that have any; `connection` is to the activity database."""
    columns, names = login_failures.c, {hash_username(username): username for username in usernames}
    counts = select(columns.user_hash, func.count()).where(_is_recent(now), columns.user_hash.in_(names))
    found: dict[str, LoginFailures] = {}
    for user_hash, count in connection.execute(counts.group_by(columns.user_hash, columns.network)):
        before = found.get(names[user_hash], LoginFailures())
        is_locked = before.is_locked or count >= USER_FAILURES
        found[names[user_hash]] = LoginFailures(before.number + count, is_locked)
    return found


def locked_usernames(connection: Connection, now: int) -> list[str]:
    """Return all locked users with a known name; `connection` is to the activity database."""
    columns, logged = login_failures.c, access_audit.c
    locked = select(columns.user_hash).where(_is_recent(now)).group_by(columns.user_hash, columns.network)
    hashes = set(connection.scalars(locked.having(func.count() >= USER_FAILURES)))
    if not hashes:
        return []
    # Failures have only hashes; the audit log has the names of the same attempts.
    named = select(logged.username).where(logged.at > now - WINDOW_SECONDS, logged.username.is_not(None)).distinct()
    return sorted(name for name in connection.scalars(named) if hash_username(name) in hashes)


def _is_recent(now: int) -> ColumnElement[bool]:
    return login_failures.c.at.between(now - WINDOW_SECONDS + 1, now + SKEW_SECONDS)
