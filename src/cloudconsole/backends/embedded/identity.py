"""Authentication of the store's accounts."""

import asyncio
import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from cloudconsole.core.ports import Account, ClientInfo, Credentials
from cloudconsole.store.base import Reader
from cloudconsole.store.passwords import decoy_hash, needs_rehash, password_matches

_DECOY_ID: Final = 0

# One statement, so that unknown and known users take the same round trips.
_FIND: Final = f"""
    SELECT accounts.id, username, version, role, accounts.disabled OR tenants.disabled, password_hash
    FROM accounts JOIN tenants ON tenants.id = accounts.tenant_id
    WHERE username = :username
    UNION ALL
    SELECT * FROM (
        SELECT {_DECOY_ID}, username, version, role, disabled, password_hash FROM accounts
        WHERE id > (SELECT :choice % MAX(id) FROM accounts) ORDER BY id LIMIT 1
    ) AS decoy
"""
"""The account, if any, and another account's hash to check for an unknown user, always the same for a name.

Imported hashes differ in cost; with one of the stored hashes an unknown user takes as long as a known one.
"""

_IS_KNOWN: Final = "SELECT 1 FROM accounts WHERE username = ?"

QUEUE_LIMIT: Final = 100
"""Maximum number of waiting logins; at some 30 ms each the last one waits about 3 s."""
QUEUE_SECONDS: Final = 3
AT_ONCE: Final = 1
"""Concurrent attempts: more would only wait for the hashing thread, in the order of arrival."""


class EmbeddedIdentity:
    """Checks passwords one at a time, off the event loop, so that a flood of logins does not delay requests."""

    def __init__(self, reader: Reader, hashing: ThreadPoolExecutor) -> None:
        self._reader = reader
        self._hashing = hashing

    async def authenticate(self, credentials: Credentials, client: ClientInfo) -> Account | None:
        del client  # only needed for upstream requests
        username = credentials.username
        choice = int.from_bytes(hashlib.sha256(username.encode()).digest()[:7])
        rows = await self._reader.all(_FIND, {"username": username, "choice": choice})
        account = next((row for row in rows if row[0] != _DECOY_ID), None)
        checked = account or next(iter(rows), None)
        password_hash = decoy_hash() if checked is None else str(checked[5])
        loop = asyncio.get_running_loop()
        matches = await loop.run_in_executor(self._hashing, password_matches, password_hash, credentials.password)
        if account is None or not matches or account[4]:
            return None
        account_id, known_name, version, role, *_ = account
        outdated = password_hash if needs_rehash(password_hash) else None
        return Account(account_id, known_name, version, role, outdated)

    def counted_as(self, credentials: Credentials) -> str:
        return credentials.username

    async def knows_username(self, username: str) -> bool:
        return await self._reader.seek(_IS_KNOWN, (username,)) is not None
