"""Password hashes of other parameters than ours are replaced at login, the only moment when the password is known."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from sqlalchemy import update
from sqlalchemy.exc import SQLAlchemyError

from cloudconsole.core.ports import Account
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import Store
from cloudconsole.store.passwords import hash_password
from cloudconsole.store.tables import accounts

log = logging.getLogger(__name__)

WRITE_SECONDS: Final = 2
"""An operator's change may hold the lock for longer; the next login tries again."""


@dataclass(frozen=True)
class Rehasher:
    store: Store
    hashing: ThreadPoolExecutor
    writer: Writer
    """Not the one of logins: a change of the cloud may have to wait for an operator's."""

    async def rehash(self, account: Account, password: str) -> None:
        """Replace the hash that this password was checked against; a login succeeds also where that fails."""
        loop = asyncio.get_running_loop()
        fresh = await loop.run_in_executor(self.hashing, hash_password, password)
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                await self.writer.run(self._replace, account, fresh)
        except (TimeoutError, Unavailable, SQLAlchemyError) as problem:
            log.warning("the password hash of an account could not be replaced: %s", problem.__cause__ or problem)

    def _replace(self, account: Account, fresh: str) -> None:
        # In a transaction of its own: sessions are in another database than accounts. The account's version stays, and
        # with it its sessions. An engine for the moment, because each account needs it once.
        is_unchanged = (accounts.c.id == account.id) & (accounts.c.password_hash == account.outdated_hash)
        with self.store.opened("cloud") as engine, engine.begin() as connection:
            connection.execute(update(accounts).where(is_unchanged).values(password_hash=fresh))
