"""Purge of old change-log rows; a worker that has not polled for half the retention treats everything as changed."""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.postgres.change_log_reader import HISTORY, RETENTION_SECONDS, LogPosition
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.pool import ReadConnection, connect, translated_errors, within

log = logging.getLogger(__name__)

PURGE_BATCH: Final = 10_000
_PURGE: Final = f"""
    DELETE FROM signals WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM signals WHERE xact < %(floor)s::text::xid8 AND {HISTORY} = %(server)s
        LIMIT {PURGE_BATCH} FOR UPDATE SKIP LOCKED
    ))
"""


async def purge(connection: ReadConnection, floor: int, server: str) -> int:
    """Remove a batch of rows below a floor, only on the server where it was read; return their number."""
    return (await connection.execute(_PURGE, {"floor": str(floor), "server": server})).rowcount


CHECKPOINT_SECONDS: Final = 60
PURGE_SECONDS: Final = 30
"""A later purge removes what is left by then."""


class Checkpoint(NamedTuple):
    at: float
    """When the poll was over."""
    floor: int
    server: str


class LogPurger:
    def __init__(self, address: Dsn, seconds: Callable[[], float]) -> None:
        self._address = address
        self._seconds = seconds
        self._checkpoints = deque[Checkpoint]()
        self._next_checkpoint = seconds() + random.uniform(0, CHECKPOINT_SECONDS)  # noqa: S311 - spreads the workers over time
        self._purging: asyncio.Task[None] | None = None

    def observe(self, position: LogPosition) -> None:
        """Take a checkpoint if due, and start a purge in the background; called after each poll."""
        now = self._seconds()
        if now < self._next_checkpoint:
            return
        self._next_checkpoint = now + CHECKPOINT_SECONDS
        self._checkpoints.append(Checkpoint(now, position.floor, position.server))
        due = None
        while self._checkpoints[0].at <= now - RETENTION_SECONDS:
            due = self._checkpoints.popleft()
        if due is not None and (self._purging is None or self._purging.done()):
            self._purging = asyncio.create_task(self._purge(due))

    async def _purge(self, checkpoint: Checkpoint) -> None:
        try:
            with translated_errors():
                await within(PURGE_SECONDS, self._remove(checkpoint))
        except Unavailable as problem:
            log.warning("cannot purge the change log: %s", problem.__cause__)

    async def _remove(self, checkpoint: Checkpoint) -> None:
        """Purge over a separate connection, so that no poll waits; `server` guards against reaching another one."""
        connection = await connect(self._address)
        try:
            while await purge(connection, checkpoint.floor, checkpoint.server) == PURGE_BATCH:
                pass
        finally:
            # This does not wait for the server, which may be hanging.
            await connection.close()

    async def leave(self) -> None:
        if self._purging is not None:
            self._purging.cancel()
            await asyncio.wait({self._purging})
