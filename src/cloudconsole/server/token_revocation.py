"""Background revocation of Keystone tokens that no session uses any more, one at a time."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import ClientInfo, CloudCredentials, TokenVerifier
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import ApiError
from cloudconsole.store.activity_writes import ActivityStore
from cloudconsole.store.base import Reader
from cloudconsole.store.session_lookup import ENDED_FEDERATED_SESSIONS

log = logging.getLogger(__name__)

MAX_PENDING: Final = 1000
MAX_ATTEMPTS: Final = 10
MIN_INTERVAL: Final = 1.0
"""Seconds between two revocations; each is a write in Keystone, and every later validation looks it up."""
LOAD_FACTOR: Final = 10
"""After a revocation the pause is this many times its duration: a busy Keystone is asked less often."""
RETRY_SECONDS: Final = 60
"""The pause after a revocation that failed."""
SWEEP_SECONDS: Final = 15
SWEEP_SIZE: Final = 10
"""Small, because sessions that are still in the store survive a restart."""
CLOSE_SECONDS: Final = 2
SWEEPER: Final = ClientInfo("127.0.0.1", "cloudconsole-revocation")


class _Pending(Struct):
    access: CloudCredentials
    client: ClientInfo
    attempts: int = 0


class TokenRevoker:
    """Revokes tokens of one identity endpoint: those given to `add`, and those of sessions ended with their tenant.

    A token that cannot be revoked expires by itself, so this is best effort: bounded in memory and in attempts.
    """

    def __init__(
        self,
        endpoint: str,
        verifier: TokenVerifier,
        reader: Reader,
        activity: ActivityStore,
        writer: Writer,
        clock: Clock,
        session_lifetime: int,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._endpoint = endpoint
        self._verifier = verifier
        self._reader = reader
        self._activity = activity
        self._writer = writer
        self._clock = clock
        self._session_lifetime = session_lifetime
        self._monotonic = monotonic
        self._pending: deque[_Pending] = deque()
        self._next_revocation = 0.0
        self._next_sweep = 0.0
        self._is_closed = False
        self.task: asyncio.Task[None] | None = None
        """The current task, or the last one."""

    def add(self, access: CloudCredentials, client: ClientInfo) -> None:
        if len(self._pending) >= MAX_PENDING:
            log.warning("too many pending token revocations: leaving one token to expire")
        else:
            self._pending.append(_Pending(access, client))

    def tick(self) -> None:
        """Start due work in the running event loop; call this a few times a second."""
        if self._is_closed or (self.task is not None and not self.task.done()):
            return
        now = self._monotonic()
        if now < self._next_revocation:
            return
        if now >= self._next_sweep:
            # Before pending revocations: many logins must not keep the tokens of a disabled tenant alive.
            self._next_sweep = now + SWEEP_SECONDS
            self.task = asyncio.create_task(self._sweep())
        elif self._pending:
            self.task = asyncio.create_task(self._revoke(self._pending.popleft()))

    async def close(self) -> None:
        """Stop; call this before the connections to Keystone close."""
        self._is_closed = True
        if self.task is not None:
            await asyncio.wait({self.task}, timeout=CLOSE_SECONDS)
            self.task.cancel()
            await asyncio.wait({self.task})
        if self._pending:
            log.info("stopping with %d tokens not revoked, which are left to expire", len(self._pending))

    async def _revoke(self, pending: _Pending) -> None:
        started, pause = self._monotonic(), float(RETRY_SECONDS)
        try:
            await self._verifier.revoke(pending.access, pending.client)
            pause = max(MIN_INTERVAL, LOAD_FACTOR * (self._monotonic() - started))
        except ApiError as problem:
            self._retry(pending, problem)
        except asyncio.CancelledError:
            self._pending.append(pending)
            raise
        except Exception:
            log.exception("could not revoke a token; leaving it to expire")
        finally:
            self._next_revocation = self._monotonic() + pause

    def _retry(self, pending: _Pending, problem: ApiError) -> None:
        pending.attempts += 1
        if pending.attempts < MAX_ATTEMPTS:
            self._pending.append(pending)
        else:
            log.warning("could not revoke a token; leaving it to expire: %s", problem.error)

    async def _sweep(self) -> None:
        """Claim sessions that ended with their tenant; each goes to one worker only."""
        since = int(self._clock.now()) - self._session_lifetime
        query = {"endpoint": self._endpoint, "since": since, "limit": SWEEP_SIZE}
        try:
            rows = await self._reader.all(ENDED_FEDERATED_SESSIONS, query)
            if rows:
                id_hashes = [id_hash for (id_hash,) in rows]
                claimed = await self._writer.write(self._activity.take_federated_sessions, id_hashes)
                self._pending.extendleft(_Pending(access, SWEEPER) for access in claimed)
        except ApiError as problem:
            log.warning("could not read ended sessions: %r", problem.__cause__ or problem)
        except Exception:
            log.exception("could not read ended sessions")
