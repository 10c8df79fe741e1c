"""The held connections of the event loop: each read has one to itself, and is over within a deadline."""

import asyncio
import select
from collections.abc import AsyncIterator, Coroutine
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any, Final, TypeVar

import psycopg
from psycopg import AsyncConnection

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.engine import StoreError
from cloudconsole.store.postgres.address import DatabaseAddress
from cloudconsole.store.reader import Parameters, Row

READ_SECONDS: Final = 5
"""What is not read by then will not be: the caller is told to come again."""
MOST_HELD: Final = 4
"""Connections of one worker for its reads."""
MOST_WAITING: Final = 500

Result = TypeVar("Result")
Held = AsyncConnection[Row]


async def within(seconds: float, work: Coroutine[Any, Any, Result]) -> Result:
    """The work's result, or `TimeoutError` at the deadline: the work is left behind, and given up when it can be.

    Cancelling a statement asks the server, which may be what does not answer: nobody waits for that.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(_look_away)
    if not task.done():
        raise TimeoutError(f"no answer from the database within {seconds:g} s")
    return task.result()


def _look_away(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()


async def connect(address: DatabaseAddress) -> Held:
    return await AsyncConnection.connect(address.conninfo(), autocommit=True)


async def rows(connection: Held, sql: str, parameters: Parameters = ()) -> list[Row]:
    cursor = await connection.execute(sql, parameters)
    return await cursor.fetchall()


class Connections:
    """A few of them, opened when they are needed first; those that the server closed since are replaced."""

    def __init__(self, address: DatabaseAddress) -> None:
        self._address = address
        self._idle: list[Held] = []
        self._places = asyncio.Semaphore(MOST_HELD)
        self._waiting = 0

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[Held]:
        """One of them; after any error it is not used again. Raises `Unavailable` for all that can go wrong."""
        if self._waiting >= MOST_WAITING:
            raise Unavailable
        self._waiting += 1
        try:
            async with asyncio.timeout(READ_SECONDS):
                await self._places.acquire()
        except TimeoutError as problem:
            raise Unavailable from problem
        finally:
            self._waiting -= 1
        try:
            with translated():
                async with self._used() as connection:
                    yield connection
        finally:
            self._places.release()

    @asynccontextmanager
    async def _used(self) -> AsyncIterator[Held]:
        connection = self._newest_alive()
        if connection is None:
            connection = await within(READ_SECONDS, connect(self._address))
        try:
            yield connection
        except BaseException:
            await connection.close()
            raise
        self._idle.append(connection)

    def _newest_alive(self) -> Held | None:
        while self._idle:
            connection = self._idle.pop()
            if is_alive(connection):
                return connection
            connection.pgconn.finish()
        return None

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().close()


def is_alive(connection: Held) -> bool:
    """Whether the server has said nothing to one who asked nothing: its last word is that it closes."""
    if connection.closed:
        return False
    # Not select(), which takes no number above a thousand or so.
    asking = select.poll()
    asking.register(connection.fileno(), select.POLLIN)
    return not asking.poll(0)


class translated(AbstractContextManager[None]):  # noqa: N801 - it reads as the others do
    """Whatever goes wrong with the database is `Unavailable` to a caller."""

    def __exit__(self, _kind: object, problem: BaseException | None, _trace: object) -> None:
        if isinstance(problem, (psycopg.Error, OSError, StoreError)):
            raise Unavailable from problem
