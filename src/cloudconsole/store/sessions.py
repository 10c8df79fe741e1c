"""Sessions as they are read on every call: one row, joined with the account it hangs on."""

import hashlib

from msgspec import Struct

from cloudconsole.store.reader import Reader

# A session is live only while its account is enabled and of the version it was opened under: disabling an account or
# changing its password ends its sessions in the very transaction that does so.
_FIND = """
    SELECT accounts.tenant_id, accounts.username, sessions.csrf_seed, sessions.seen_at
    FROM sessions
    JOIN accounts ON accounts.id = sessions.account_id AND accounts.version = sessions.account_version
    WHERE sessions.id_hash = ? AND NOT accounts.disabled AND sessions.expires_at > ? AND sessions.seen_at > ?
"""


class Session(Struct, frozen=True):
    id_hash: bytes
    tenant_id: int
    username: str
    csrf_seed: str
    seen_at: int


def hash_session_id(session_id: str) -> bytes:
    """Only this is stored: who reads the store cannot take over a session."""
    return hashlib.sha256(session_id.encode()).digest()


class SessionReader:
    def __init__(self, reader: Reader, idle_seconds: int) -> None:
        self._reader = reader
        self._idle_seconds = idle_seconds

    def find(self, session_id: str, now: float) -> Session | None:
        """The live session with this id."""
        id_hash = hash_session_id(session_id)
        row = self._reader.one(_FIND, (id_hash, now, now - self._idle_seconds))
        return None if row is None else Session(id_hash, *row)
