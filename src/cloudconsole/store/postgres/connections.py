"""The held connections of the event loop: each read has one to itself, and one deadline for all that it takes."""

import asyncio
import select
from collections.abc import AsyncIterator, Coroutine
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final, NamedTuple, TypeVar

import psycopg
from psycopg import AsyncConnection

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.engine import StoreError
from cloudconsole.store.postgres.address import DatabaseAddress
from cloudconsole.store.postgres.places import Places
from cloudconsole.store.reader import Parameters, Row

READ_SECONDS: Final = 5
"""What is not read by then, from waiting for a connection to the last of several statements, will not be."""
MOST_HELD: Final = 4
"""Connections of one worker for its reads."""
MOST_OF_STRANGERS: Final = 2
"""Of these, those for looking for what may be made up: it leaves some to callers who are known."""

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


class Taken(NamedTuple):
    """A connection that someone has to themselves until a time of the event loop's."""

    connection: Held
    until: float

    async def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        return await within(self._seconds_left, rows(self.connection, sql, parameters))

    async def perform(self, sql: str) -> None:
        await within(self._seconds_left, self.connection.execute(sql))

    @property
    def _seconds_left(self) -> float:
        return max(0.0, self.until - asyncio.get_running_loop().time())


class Connections:
    """A few of them, opened when they are needed first; those that the server closed since are replaced."""

    def __init__(self, address: DatabaseAddress) -> None:
        self._address = address
        self._idle: list[Held] = []
        self._generation = 0
        self._places = Places(MOST_HELD)
        self._strangers = Places(MOST_OF_STRANGERS)

    @asynccontextmanager
    async def taken(self, *, by_stranger: bool = False) -> AsyncIterator[Taken]:
        """One of them; after any error it is not used again. Raises `Unavailable` for all that can go wrong."""
        until = asyncio.get_running_loop().time() + READ_SECONDS
        async with AsyncExitStack() as places:
            if by_stranger:
                await places.enter_async_context(self._strangers.taken(until))
            await places.enter_async_context(self._places.taken(until))
            with translated():
                async with self._used(until) as taken:
                    yield taken

    @asynccontextmanager
    async def _used(self, until: float) -> AsyncIterator[Taken]:
        generation = self._generation
        connection = self._newest_alive()
        if connection is None:
            seconds_left = until - asyncio.get_running_loop().time()
            connection = await within(seconds_left, connect(self._address))
        try:
            yield Taken(connection, until)
        except BaseException:
            await connection.close()
            raise
        if generation == self._generation:
            self._idle.append(connection)
        else:
            await connection.close()

    def _newest_alive(self) -> Held | None:
        while self._idle:
            connection = self._idle.pop()
            if is_alive(connection):
                return connection
            connection.pgconn.finish()
        return None

    async def renew(self) -> None:
        """Use none of the present ones again, because they lead to what is no longer the server."""
        self._generation += 1
        await self.close()

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
