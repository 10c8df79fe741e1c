"""Writes of the running server, one at a time in a thread of their own: the event loop never waits for a lock."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

from cloudconsole.core.ports import Account
from cloudconsole.spec.errors import ApiError, InvalidCredentials, TooManyRequests, Unavailable
from cloudconsole.store.activity import Activity, Attempt, Caller, NewSession

log = logging.getLogger(__name__)

MOST_WAITING: Final = 500
"""Far more than the logins that can be under way; beyond it, something holds the store up."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Writer:
    def __init__(self, activity: Activity, thread: ThreadPoolExecutor) -> None:
        self._activity = activity
        self._thread = thread
        self._waiting = 0

    async def check_throttle(self, attempt: Attempt, now: int) -> None:
        await self._write(self._activity.check_throttle, attempt, now)

    async def open_session(self, attempt: Attempt, account: Account, session: NewSession, now: int) -> None:
        await self._write(self._activity.open_session, attempt, account, session, now)

    async def refuse_login(
        self, attempt: Attempt, known_username: str | None, now: int
    ) -> TooManyRequests | InvalidCredentials:
        return await self._write(self._activity.refuse_login, attempt, known_username, now)

    async def end_session(self, id_hash: bytes, username: str, caller: Caller, now: int) -> None:
        await self._write(self._activity.end_session, id_hash, username, caller, now)

    async def touch_session(self, id_hash: bytes, now: int) -> None:
        try:
            await self._write(self._activity.touch_session, id_hash, now)
        except ApiError as problem:
            log.warning("A session's last use could not be written: %s", problem.__cause__)

    async def _write(
        self, work: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        if self._waiting >= MOST_WAITING:
            raise Unavailable
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, lambda: work(*args, **kwargs))
        finally:
            self._waiting -= 1
