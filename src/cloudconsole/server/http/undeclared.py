"""Remembering who sends forwarded headers without being among the proxies: a mistake that shows nowhere else."""

import asyncio
import logging
from typing import Final

from cloudconsole.core.clock import Clock
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import ApiError
from cloudconsole.store.activity import Activity

log = logging.getLogger(__name__)

AGAIN_SECONDS: Final = 3600
"""An address is noted at most this often."""
MOST_ADDRESSES: Final = 50
"""In one worker and one such time; whoever invents addresses fills neither the log nor the store."""


class UndeclaredProxies:
    def __init__(self, activity: Activity, writer: Writer, clock: Clock) -> None:
        self._activity = activity
        self._writer = writer
        self._clock = clock
        self._noted: dict[str, float] = {}
        self._writing: set[asyncio.Task[None]] = set()

    def note(self, address: str) -> None:
        """Note an address, without making its call wait for it."""
        now = self._clock.now()
        noted_at = self._noted.get(address)
        if noted_at is not None and now - noted_at < AGAIN_SECONDS:
            return
        if len(self._noted) >= MOST_ADDRESSES:
            self._noted = {known: at for known, at in self._noted.items() if now - at < AGAIN_SECONDS}
            if len(self._noted) >= MOST_ADDRESSES:
                return
        self._noted[address] = now
        log.warning("%s sends forwarded headers and is not among the proxies: they are not believed", address)
        task = asyncio.create_task(self._write(address, int(now)))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _write(self, address: str, now: int) -> None:
        try:
            await self._writer.run(self._activity.note_undeclared_proxy, address, now)
        except ApiError as problem:
            log.warning("an undeclared proxy could not be noted: %s", problem.__cause__)
