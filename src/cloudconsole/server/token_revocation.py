"""Revocation of Keystone tokens that no session uses any more: in the background, one at a time."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from msgspec import Struct

from cloudconsole.core.ports import Access, Caller, Warden
from cloudconsole.server.writing import Writer
from cloudconsole.spec.errors import ApiError
from cloudconsole.store.activity import Activity
from cloudconsole.store.guests import ENDED_GUESTS
from cloudconsole.store.reader import Reader

log = logging.getLogger(__name__)

MAX_PENDING: Final = 1000
MAX_ATTEMPTS: Final = 3
MIN_INTERVAL: Final = 1.0
"""Seconds between two revocations; each is a write in Keystone, and every later validation looks it up."""
LOAD_FACTOR: Final = 10
"""After a revocation the pause is this many times its duration: a busy Keystone is asked less often."""
SWEEP_SECONDS: Final = 15
SWEEP_SIZE: Final = 10
"""Few at a time: until they are taken, they outlive a restart in the store."""
SWEEPER: Final = Caller("127.0.0.1", "cloudconsole-revocation")


class _Pending(Struct):
    access: Access
    caller: Caller
    attempts: int = 0


class TokenRevoker:
    """Revokes what `add` is given, and the tokens of sessions that an operator ended by a change of their tenant.

    A token that cannot be revoked expires by itself, so this is best effort: bounded in memory and in attempts.
    """

    def __init__(
        self,
        verifiers: Mapping[str, Warden],
        reader: Reader,
        activity: Activity,
        writer: Writer,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`verifiers` are those of the identity endpoints, by address; more may be added later."""
        self._monotonic = monotonic
        self._verifiers = verifiers
        self._reader = reader
        self._activity = activity
        self._writer = writer
        self._pending: deque[_Pending] = deque()
        self.task: asyncio.Task[None] | None = None
        """What is under way, or was last."""
        self._next_revocation = 0.0
        self._next_sweep = 0.0

    def add(self, access: Access, caller: Caller) -> None:
        if len(self._pending) >= MAX_PENDING:
            log.warning("too many tokens wait for their revocation: one is left to expire")
            return
        self._pending.append(_Pending(access, caller))

    def tick(self) -> None:
        """Start what is due, in the running event loop; to be called a few times a second."""
        if self.task is not None and not self.task.done():
            return
        now = self._monotonic()
        if self._pending and now >= self._next_revocation:
            self.task = asyncio.create_task(self._revoke(self._pending.popleft()))
        elif not self._pending and now >= self._next_sweep:
            self._next_sweep = now + SWEEP_SECONDS
            self.task = asyncio.create_task(self._sweep())

    async def close(self) -> None:
        """Stop; call this before the connections to Keystone close."""
        if self.task is not None:
            self.task.cancel()
            with suppress(asyncio.CancelledError):
                await self.task
        if self._pending:
            log.info("tokens that were not revoked before the stop, and expire by themselves: %d", len(self._pending))

    async def _revoke(self, pending: _Pending) -> None:
        verifier = self._verifiers.get(pending.access.endpoint)
        if verifier is None:
            return  # the endpoint is no longer configured
        started = self._monotonic()
        try:
            await verifier.revoke(pending.access, pending.caller)
        except ApiError as problem:
            self._retry(pending, problem)
        finally:
            ended = self._monotonic()
            self._next_revocation = ended + max(MIN_INTERVAL, LOAD_FACTOR * (ended - started))

    def _retry(self, pending: _Pending, problem: ApiError) -> None:
        pending.attempts += 1
        if pending.attempts < MAX_ATTEMPTS:
            self._pending.append(pending)
        else:
            log.warning("a token could not be revoked, and is left to expire: %s", problem.error)

    async def _sweep(self) -> None:
        """Take over the sessions that ended with their tenant; of several workers, one gets each."""
        try:
            found = await self._reader.all(ENDED_GUESTS, {"limit": SWEEP_SIZE})
            if found:
                id_hashes = [id_hash for (id_hash,) in found]
                for access in await self._writer.run(self._activity.take_guest_sessions, id_hashes):
                    self.add(access, SWEEPER)
        except ApiError as problem:
            log.warning("ended sessions could not be looked for: %s", problem.__cause__ or problem.error)
