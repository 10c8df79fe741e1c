"""Sessions as the store knows them: lookup with a cache, and the rows of federated sessions."""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from cloudconsole.core.ports import CloudCredentials, FederatedUser, Services
from cloudconsole.core.resources import Role
from cloudconsole.store.base import Reader

# They belong to no account; an operator ends them by disabling the tenant or changing its project.
LIVE_FEDERATED_SESSIONS: Final = """
    sessions
    JOIN guest_sessions AS guest ON guest.id_hash = sessions.id_hash
    JOIN tenants ON tenants.id = guest.tenant_id AND tenants.guests_ended_at < guest.opened_at
        AND tenants.project = guest.project_id || '@' || guest.endpoint
    WHERE NOT tenants.disabled
"""

# A cross join, because SQLite then starts from the tenants, of which few meet the first condition.
ENDED_FEDERATED_SESSIONS: Final = """
    SELECT guest.id_hash FROM tenants CROSS JOIN guest_sessions AS guest
    WHERE (tenants.disabled OR tenants.guests_ended_at > :since) AND guest.tenant_id = tenants.id
        AND (tenants.disabled OR tenants.guests_ended_at >= guest.opened_at) AND guest.endpoint = :endpoint
    LIMIT :limit
"""
"""Sessions that an operator has ended since then; their rows stay until the tokens are revoked or expire."""

_IN_USE: Final = f"{LIVE_FEDERATED_SESSIONS} AND sessions.seen_at > :idle_since AND sessions.expires_at > :now"

UNREAD_TENANTS: Final = f"""
    SELECT DISTINCT guest.tenant_id, guest.endpoint FROM {_IN_USE} AND tenants.project NOT IN (
        SELECT record_names.name FROM reading_periods
        JOIN record_names ON record_names.id = reading_periods.project_id
        WHERE reading_periods.last_reading >= :since
    )
"""
"""Tenants with a live session whose OpenStack project has not been read since then."""

SESSIONS_OF_TENANT: Final = f"""
    SELECT sessions.id_hash, guest.username, guest.endpoint, guest.user_id, guest.project_id, guest.services,
           guest.sealed_token
    FROM {_IN_USE} AND guest.tenant_id = :tenant_id ORDER BY sessions.seen_at DESC LIMIT :limit
"""

FIND_FEDERATED_SESSION: Final = f"""
    SELECT guest.tenant_id, guest.username, sessions.csrf_seed, sessions.seen_at, sessions.expires_at, 'tenant', 0,
           guest.endpoint, guest.user_id, guest.project_id, guest.services, guest.sealed_token
    FROM {LIVE_FEDERATED_SESSIONS} AND sessions.id_hash = :id_hash
"""


def credentials_from_row(columns: Sequence[Any]) -> CloudCredentials:
    """Build credentials from the last five columns of `FIND_FEDERATED_SESSION`."""
    endpoint, user_id, project_id, services, sealed_token = columns
    return CloudCredentials(endpoint, user_id, project_id, msgspec.json.decode(services, type=Services), sealed_token)


def federated_session_row(id_hash: bytes, user: FederatedUser, now: int) -> dict[str, Any]:
    credentials = user.credentials
    return {
        "id_hash": id_hash,
        "tenant_id": user.tenant_id,
        "username": user.username,
        "opened_at": now,
        "endpoint": credentials.endpoint,
        "user_id": credentials.user_id,
        "project_id": credentials.project_id,
        "services": msgspec.json.encode(credentials.services).decode(),
        "sealed_token": credentials.encrypted_token,
    }


# A session is live only while its account is enabled and of the version it was opened under: disabling an account or
# changing its password ends its sessions in the very transaction that does so.
LIVE: Final = """
    sessions
    JOIN accounts ON accounts.id = sessions.account_id AND accounts.version = sessions.account_version
    WHERE NOT accounts.disabled
"""

# One statement, to keep lookups of invented ids cheap.
_FIND: Final = f"""
    SELECT accounts.tenant_id, accounts.username, sessions.csrf_seed, sessions.seen_at, sessions.expires_at,
           accounts.role, sessions.account_version, NULL, NULL, NULL, NULL, NULL
    FROM {LIVE} AND sessions.id_hash = :id_hash
    UNION ALL
    {FIND_FEDERATED_SESSION}
"""

COUNT: Final = f"""
    SELECT CAST(SUM(number) AS BIGINT) FROM (
        SELECT COUNT(*) AS number FROM {LIVE} AND sessions.expires_at > :now AND sessions.seen_at > :idle_since
        UNION ALL
        SELECT COUNT(*) FROM {LIVE_FEDERATED_SESSIONS} AND sessions.expires_at > :now AND sessions.seen_at > :idle_since
    ) AS numbers
"""
"""Counts live sessions."""

MAX_CACHED: Final = 16_384


class Session(Struct, frozen=True, gc=False):
    id_hash: bytes
    tenant_id: int
    username: str
    csrf_seed: str
    seen_at: int
    expires_at: int
    role: Role
    account_version: int
    credentials: CloudCredentials | None = None
    """Credentials of a federated session in its cloud."""

    @property
    def log_name(self) -> str:
        """The name in logs; for a federated user with the endpoint, since a local account may have the same name."""
        return self.username if self.credentials is None else f"{self.username}@{self.credentials.endpoint}"


def hash_session_id(session_id: str) -> bytes:
    """Hash a session id. Only the hash is stored, so that the store does not reveal valid ids."""
    return hashlib.sha256(session_id.encode()).digest()


class SessionCache:
    """Lookup of live sessions; a row is read again only after something that it depends on has changed."""

    def __init__(self, reader: Reader, idle_seconds: int) -> None:
        self._reader = reader
        self._changes = reader.changes
        self._idle_seconds = idle_seconds
        self._cached: OrderedDict[bytes, tuple[int, Session]] = OrderedDict()

    def cached(self, id_hash: bytes, now: float) -> Session | None:
        """Return the live session whose id has this hash, if its row need not be read."""
        since, session = self._cached.get(id_hash, (0, None))
        changes = self._changes
        if session is None or changes.session_version(id_hash) > since:
            return None
        if changes.tenant_version(session.tenant_id) > since:
            return None
        return session if self._is_live(session, now) else None

    async def read(self, id_hash: bytes, now: float) -> Session | None:
        """Read and cache the live session whose id has this hash; it is as current as the last poll for changes."""
        # Noted before the row is read: a change in between makes it stale, never wrongly live.
        latest = self._changes.latest
        session = await self._read(id_hash)
        if session is None:
            self._cached.pop(id_hash, None)
            return None
        self._cache(latest, session)
        return session if self._is_live(session, now) else None

    def record_seen(self, moments: Mapping[bytes, int]) -> None:
        """Update cached sessions after this process has written their last use."""
        for id_hash, moment in moments.items():
            if id_hash in self._cached:
                since, session = self._cached[id_hash]
                self._cached[id_hash] = since, replace(session, seen_at=moment)

    def _is_live(self, session: Session, now: float) -> bool:
        return session.expires_at > now and session.seen_at > now - self._idle_seconds

    def _cache(self, since: int, session: Session) -> None:
        if len(self._cached) >= MAX_CACHED:
            self._cached.popitem(last=False)
        self._cached[session.id_hash] = since, session

    async def _read(self, id_hash: bytes) -> Session | None:
        # A cached id is known to be real.
        find = self._reader.one if id_hash in self._cached else self._reader.seek
        row = await find(_FIND, {"id_hash": id_hash})
        if row is None:
            return None
        tenant_id, username, csrf_seed, seen_at, expires_at, role, version, *columns = row
        credentials = None if columns[0] is None else credentials_from_row(columns)
        return Session(id_hash, tenant_id, username, csrf_seed, seen_at, expires_at, role, version, credentials)
