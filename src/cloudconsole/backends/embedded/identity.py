"""Accounts of our own store."""

import asyncio
import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from cloudconsole.core.ports import Account, Caller
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.passwords import decoy, password_matches
from cloudconsole.store.reader import Reader

_FIND = """
    SELECT accounts.id, username, version, role, accounts.disabled OR tenants.disabled, password_hash
    FROM accounts JOIN tenants ON tenants.id = accounts.tenant_id
    WHERE username = ?
"""

_SOME_HASH = """
    SELECT password_hash FROM accounts
    WHERE id > (SELECT ? % MAX(id) FROM accounts) ORDER BY id LIMIT 1
"""

QUEUE_LIMIT: Final = 100
"""So many logins wait for their turn at the most; at some 30 ms each the last of them waits about 3 s."""
QUEUE_SECONDS: Final = 3


class EmbeddedIdentity:
    """Checks passwords one at a time, off the event loop, so that a flood of logins leaves action calls alone."""

    def __init__(self, reader: Reader, hashing: ThreadPoolExecutor) -> None:
        self._reader = reader
        self._hashing = hashing
        self.waiting = 0

    async def authenticate(self, username: str, password: str, caller: Caller) -> Account | None:
        del caller  # nobody else is asked
        row = await self._reader.one(_FIND, (username,))
        matches = await self._matches(await self._decoy(username) if row is None else row[5], password)
        if row is None or not matches or row[4]:
            return None
        return Account(*row[:4])

    async def recognises(self, username: str) -> bool:
        return await self._reader.one(_FIND, (username,)) is not None

    async def _decoy(self, username: str) -> str:
        """A hash to check for an unknown user: some account's, always the same one.

        Hashes made elsewhere may cost more or less than ours; so an unknown user takes as long as a known one does.
        """
        choice = int.from_bytes(hashlib.sha256(username.encode()).digest()[:7])
        row = await self._reader.one(_SOME_HASH, (choice,))
        return decoy() if row is None else str(row[0])

    async def _matches(self, password_hash: str, password: str) -> bool:
        if self.waiting >= QUEUE_LIMIT:
            raise Unavailable(retry_after=QUEUE_SECONDS)
        self.waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._hashing, password_matches, password_hash, password)
        finally:
            self.waiting -= 1
