"""Session lookup by request. Anonymous clients get a meaningless id that needs no storage."""

import asyncio
import logging
import re
from contextlib import suppress
from typing import Final

from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import RandomSource
from cloudconsole.server.http.csrf import CsrfTokens
from cloudconsole.server.http.request import Request, RequestSequence
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import ApiError, LoginRequired
from cloudconsole.store.activity_writes import TOUCH_SECONDS, ActivityStore
from cloudconsole.store.base import ChangeFeed
from cloudconsole.store.session_lookup import Session, SessionCache

log = logging.getLogger(__name__)

TENANTS: Final = "s"
OPERATORS: Final = "o"
"""Prefixes of session ids, which separate the two kinds."""

_ANONYMOUS: Final = re.compile(r"a[0-9a-f]{48}")
_ID_BYTES: Final = 24

TOUCH_BATCH_SECONDS: Final = 0.25
"""Uses of sessions are collected for this time and written together."""

FoundSession = tuple[str, Session]
"""Session id and session."""


class SessionFinder:
    def __init__(
        self,
        tokens: CsrfTokens,
        cache: SessionCache,
        changes: ChangeFeed,
        sequence: RequestSequence,
        activity: ActivityStore,
        writer: Writer,
        clock: Clock,
        randomness: RandomSource,
    ) -> None:
        self._tokens = tokens
        self._cache = cache
        self._changes = changes
        self._sequence = sequence
        self._polled_until = -1
        self._activity = activity
        self._writer = writer
        self._clock = clock
        self._randomness = randomness
        self._touched: dict[bytes, int] = {}
        self._being_written: dict[bytes, int] = {}
        self._touching: asyncio.Task[None] | None = None
        self._gathered = asyncio.Event()

    def new_id(self, prefix: str = TENANTS) -> str:
        return prefix + self._randomness.token_bytes(_ID_BYTES).hex()

    def id_to_keep(self, request: Request, current: FoundSession | None) -> str:
        """Return the id for `GET /api/` to set: the live session, else a well-formed anonymous id, else a new one."""
        if current is not None:
            return current[0]
        anonymous = (session_id for session_id in request.head.cookies.sessions if _ANONYMOUS.fullmatch(session_id))
        return next(anonymous, None) or "a" + self._randomness.token_bytes(_ID_BYTES).hex()

    async def find(self, request: Request) -> FoundSession | None:
        """Return the live session among the cookies, if any; of several, the one whose CSRF token was sent."""
        now = self._clock.now()
        live: list[FoundSession] = []
        for session_id, id_hash in request.head.sessions:
            session = await self.lookup(id_hash, request.arrival, now)
            if session is not None:
                live.append((session_id, session))
        if not live:
            return None
        if len(live) > 1:
            # A session that another host of the domain has planted must not replace the client's own.
            live.sort(key=lambda each: not self._tokens.came_along(each[1], request))
        session = live[0][1]
        request.user = session.log_name
        self.touch(session, now)
        return live[0]

    async def lookup(self, id_hash: bytes, arrival: int | None, now: float) -> Session | None:
        """Return the live session, as of no earlier than the arrival of the request with this number."""
        if arrival is None or arrival > self._polled_until:
            await self._poll()
        return self._cache.cached(id_hash, now) or await self._cache.read(id_hash, now)

    async def _poll(self) -> None:
        latest = self._sequence.latest
        await self._changes.poll()
        self._polled_until = max(latest, self._polled_until)

    async def require(self, request: Request) -> Session:
        current = await self.find(request)
        if current is None:
            raise LoginRequired
        return current[1]

    async def flush_touches(self) -> None:
        """Wait until every use so far is written."""
        if self._touching is not None:
            self._gathered.set()
            await asyncio.wait([self._touching])

    def touch(self, session: Session, now: float) -> None:
        """Record the use of a session in the background, if it is due."""
        # `abs`, because the clock may have been set back.
        if abs(now - session.seen_at) < TOUCH_SECONDS or session.id_hash in self._being_written:
            return
        self._touched[session.id_hash] = int(now)
        if self._touching is None:
            self._gathered = asyncio.Event()
            self._touching = asyncio.create_task(self._write_touches())

    async def _write_touches(self) -> None:
        """Write one batch at a time; uses in the meantime go into the next."""
        try:
            while self._touched:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._gathered.wait(), TOUCH_BATCH_SECONDS)
                self._being_written, self._touched = self._touched, {}
                await self._writer.write(self._activity.touch_sessions, self._being_written)
                self._cache.record_seen(self._being_written)
        except ApiError as problem:
            log.warning("could not write the last use of %d sessions: %s", len(self._being_written), problem.__cause__)
        finally:
            self._being_written, self._touching = {}, None
