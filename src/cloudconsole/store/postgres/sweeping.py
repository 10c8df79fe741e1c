"""Removing signals that everyone has seen, or is too late for: each worker does so by what it saw itself, in turns.

It notes a floor every minute, and sweeps what is below one that it noted `KEPT_SECONDS` ago (why that is right is told
in `signals`). So the first sweep comes that long after a worker has begun.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.postgres import signals
from cloudconsole.store.postgres.address import DatabaseAddress
from cloudconsole.store.postgres.connections import connect, translated, within
from cloudconsole.store.postgres.signals import KEPT_SECONDS, SWEPT_AT_ONCE, Sight

log = logging.getLogger(__name__)

NOTE_EVERY_SECONDS: Final = 60
SWEEP_SECONDS: Final = 30
"""What is left by then, a later sweep takes."""


class Note(NamedTuple):
    at: float
    """When the look was over."""
    floor: int
    server: str


class Sweeper:
    def __init__(self, address: DatabaseAddress, seconds: Callable[[], float]) -> None:
        self._address = address
        self._seconds = seconds
        self._notes = deque[Note]()
        self._note_at = seconds() + random.uniform(0, NOTE_EVERY_SECONDS)  # noqa: S311 - so that workers take turns
        self._sweeping: asyncio.Task[None] | None = None

    def saw(self, sight: Sight) -> None:
        """After each look; a sweep that is due goes on by itself."""
        now = self._seconds()
        if now < self._note_at:
            return
        self._note_at = now + NOTE_EVERY_SECONDS
        self._notes.append(Note(now, sight.floor, sight.server))
        due = None
        while self._notes[0].at <= now - KEPT_SECONDS:
            due = self._notes.popleft()
        if due is not None and (self._sweeping is None or self._sweeping.done()):
            self._sweeping = asyncio.create_task(self._sweep(due))

    async def _sweep(self, note: Note) -> None:
        try:
            with translated():
                await within(SWEEP_SECONDS, self._remove(note))
        except Unavailable as problem:
            log.warning("signals of changes cannot be swept: %s", problem.__cause__)

    async def _remove(self, note: Note) -> None:
        """By a connection of its own, so that no look has to wait; it may lead to another server, which says so."""
        connection = await connect(self._address)
        try:
            while await signals.sweep(connection, note.floor, note.server) == SWEPT_AT_ONCE:
                pass
        finally:
            # This does not wait for the server, which may be what does not answer.
            await connection.close()

    async def leave(self) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.wait({self._sweeping})
