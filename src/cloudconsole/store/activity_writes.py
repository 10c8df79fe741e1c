"""Writes by logins and requests: sessions, failed logins, the access audit log; one transaction each."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Engine, and_, delete, insert, select, text, update
from sqlalchemy.exc import SQLAlchemyError

from cloudconsole.core import login_throttle
from cloudconsole.core.ports import Account, ClientInfo, CloudCredentials, FederatedUser
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.login_throttle import COUNT_FAILURES, FailureCounts, failure_parameters
from cloudconsole.store.session_lookup import federated_session_row
from cloudconsole.store.sql import delete_batch, lock_name, retry_deadlocks
from cloudconsole.store.tables import (
    NO_ACCOUNT,
    access_audit,
    federated_sessions,
    login_failures,
    secrets,
    sessions,
    undeclared_proxies,
)
from cloudconsole.store.tables.activity import LOGIN, LOGIN_REJECTED, LOGOUT

Result = TypeVar("Result")

UNDECLARED_SECONDS: Final = 24 * 3600
"""How long an undeclared proxy is remembered: a client that sends forwarded headers without being configured."""

MAX_REMOVED: Final = 100
"""Expired rows removed per login: more than a login adds, so that they do not accumulate."""

TOUCH_SECONDS: Final = 60
"""Resolution of the idle time, which is written at most this often."""

SESSIONS_PER_STATEMENT: Final = 10_000
"""Below the databases' limits on parameters per statement."""


class LoginAttempt(Struct, frozen=True):
    counted_as: str
    """The key for counting failures of the user."""
    network: str
    """The key for counting failures: the client's address, or the network it can choose addresses from."""
    client: ClientInfo
    event: str = LOGIN
    """The event in the access audit log on success."""

    @property
    def user_hash(self) -> bytes:
        return hash_username(self.counted_as)


def hash_username(username: str) -> bytes:
    # Users sometimes type a password into the username field, so it is stored only as a hash.
    return hashlib.sha256(username.encode()).digest()


class NewSession(Struct, frozen=True):
    id_hash: bytes
    csrf_seed: str
    expires_at: int
    replaces: tuple[bytes, ...]
    """Hashes of the client's previous sessions, which end."""


class ActivityStore:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def secret(self, name: str, fresh: bytes) -> bytes:
        """Return the secret of this name, storing `fresh` if there is none."""

        def work(connection: Connection) -> bytes:
            lock_name(connection, f"secret {name}")
            stored: bytes | None = connection.scalar(select(secrets.c.value).where(secrets.c.name == name))
            if stored is None:
                connection.execute(insert(secrets).values(name=name, value=fresh))
            return fresh if stored is None else stored

        return self._transact(work)

    def open_session(
        self, attempt: LoginAttempt, proven: Account | FederatedUser, session: NewSession, now: int
    ) -> list[CloudCredentials]:
        """Open a session for an authenticated user, unless the failure limit was reached during the password check.

        Return the credentials of the replaced sessions, whose tokens must be revoked.
        """
        account_id, version = (proven.id, proven.version) if isinstance(proven, Account) else (NO_ACCOUNT, 0)

        def work(connection: Connection) -> list[CloudCredentials]:
            lock_name(connection, login_throttle.widest(attempt.network))
            _check_throttle(connection, attempt, now)
            connection.execute(delete(login_failures).where(_same_user(attempt)))
            delete_batch(connection, sessions, sessions.c.expires_at <= now, MAX_REMOVED)
            replaced = _take_federated_sessions(connection, session.replaces)
            _end_sessions(connection, session.replaces)
            connection.execute(
                insert(sessions).values(
                    id_hash=session.id_hash,
                    account_id=account_id,
                    account_version=version,
                    csrf_seed=session.csrf_seed,
                    seen_at=now,
                    expires_at=session.expires_at,
                )
            )
            if isinstance(proven, FederatedUser):
                connection.execute(
                    insert(federated_sessions).values(federated_session_row(session.id_hash, proven, now))
                )
            _audit(connection, attempt.event, proven.log_name, attempt.client, now)
            return replaced

        return self._transact(work)

    def record_failure(self, attempt: LoginAttempt, knows_username: str | None, now: int) -> None:
        """Count a failed login; beyond the limit raise `TooManyRequests` instead, as for a correct password."""

        def work(connection: Connection) -> None:
            lock_name(connection, login_throttle.widest(attempt.network))
            _check_throttle(connection, attempt, now)
            is_expired = login_failures.c.at <= now - login_throttle.WINDOW_SECONDS
            delete_batch(connection, login_failures, is_expired, MAX_REMOVED)
            row = {"network": attempt.network, "user_hash": attempt.user_hash, "at": now}
            connection.execute(insert(login_failures).values(row))
            _audit(connection, attempt.event + LOGIN_REJECTED, knows_username, attempt.client, now)

        self._transact(work)

    def end_session(self, id_hash: bytes, username: str, client: ClientInfo, now: int, event: str = LOGOUT) -> None:
        def work(connection: Connection) -> None:
            _end_sessions(connection, (id_hash,))
            _audit(connection, event, username, client, now)

        self._transact(work)

    def take_federated_sessions(self, id_hashes: Sequence[bytes]) -> list[CloudCredentials]:
        """Remove these sessions and return their credentials, skipping those that another worker is removing."""
        return self._transact(lambda connection: _take_federated_sessions(connection, id_hashes, skip_locked=True))

    def touch_sessions(self, moments: Mapping[bytes, int]) -> None:
        """Record the last use of sessions."""
        # Usually one or two moments, since sessions are written shortly after use.
        by_moment: dict[int, list[bytes]] = {}
        for id_hash, moment in moments.items():
            by_moment.setdefault(moment, []).append(id_hash)
        for moment, id_hashes in by_moment.items():
            for start in range(0, len(id_hashes), SESSIONS_PER_STATEMENT):
                self._touch(id_hashes[start : start + SESSIONS_PER_STATEMENT], moment)

    def _touch(self, id_hashes: Sequence[bytes], moment: int) -> None:
        # A much later time stems from a clock since set back; a slightly later one from another worker.
        differs = (sessions.c.seen_at < moment) | (sessions.c.seen_at >= moment + TOUCH_SECONDS)
        touch = update(sessions).where(sessions.c.id_hash.in_(id_hashes)).where(differs).values(seen_at=moment)
        self._transact(lambda connection: connection.execute(touch))

    def record_undeclared_proxy(self, address: str, now: int) -> None:
        """Record a client whose forwarded headers are ignored, for a day; `cloudconsole doctor` reports it."""

        def work(connection: Connection) -> None:
            lock_name(connection, "undeclared proxies")
            columns = undeclared_proxies.c
            out_of_date = (columns.seen_at <= now - UNDECLARED_SECONDS) | (columns.address == address)
            connection.execute(delete(undeclared_proxies).where(out_of_date))
            connection.execute(insert(undeclared_proxies).values(address=address, seen_at=now))

        self._transact(work)

    def _transact(self, work: Callable[[Connection], Result]) -> Result:
        try:
            return retry_deadlocks(self._engine, work)
        except SQLAlchemyError as problem:
            raise Unavailable from problem


def _same_user(attempt: LoginAttempt) -> ColumnElement[bool]:
    return and_(login_failures.c.network == attempt.network, login_failures.c.user_hash == attempt.user_hash)


def _check_throttle(connection: Connection, attempt: LoginAttempt, now: int) -> None:
    row = connection.execute(text(COUNT_FAILURES), failure_parameters(attempt.network, attempt.user_hash, now)).one()
    FailureCounts(*row).check(now)


def _end_sessions(connection: Connection, id_hashes: Iterable[bytes]) -> None:
    connection.execute(delete(sessions).where(sessions.c.id_hash.in_(tuple(id_hashes))))


def _take_federated_sessions(
    connection: Connection, id_hashes: Sequence[bytes], *, skip_locked: bool = False
) -> list[CloudCredentials]:
    """Remove these sessions and return their credentials, to revoke their tokens."""
    if not id_hashes:
        return []
    columns = federated_sessions.c
    query = (
        select(columns.id_hash, columns.endpoint, columns.user_id, columns.project_id, columns.sealed_token)
        .join(sessions, sessions.c.id_hash == columns.id_hash)
        .where(columns.id_hash.in_(id_hashes))
        .order_by(columns.id_hash)
        # Lock `sessions`, which all other transactions lock first too.
        .with_for_update(of=sessions, skip_locked=skip_locked)
    )
    rows = connection.execute(query).all()
    _end_sessions(connection, [row.id_hash for row in rows])
    return [CloudCredentials(row.endpoint, row.user_id, row.project_id, {}, row.sealed_token) for row in rows]


def _audit(connection: Connection, event: str, username: str | None, client: ClientInfo, now: int) -> None:
    row = {"event": event, "username": username, "address": client.address, "request_id": client.request_id}
    connection.execute(insert(access_audit).values(at=now, **row))
