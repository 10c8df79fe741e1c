"""The held connections of the event loop: each read has one to itself, and one deadline for all that it takes."""

import asyncio
import select
from collections.abc import AsyncIterator, Awaitable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from typing import Final, NamedTuple, TypeVar

import psycopg
from psycopg import AsyncConnection, waiting
from psycopg.abc import PQGen
from typing_extensions import override

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.engine import StoreError
from cloudconsole.store.postgres.address import DatabaseAddress
from cloudconsole.store.postgres.places import Places
from cloudconsole.store.reader import Parameters, Row

READ_SECONDS: Final = 5
"""What is not read by then, from waiting for a connection to the last of several statements, will not be."""
STATEMENT_SECONDS: Final = 30
"""What was given up and goes on at the server ends by then."""
MOST_HELD: Final = 4
"""Connections of one worker for its reads."""
MOST_OF_STRANGERS: Final = 2
"""Of these, those for looking for what may be made up: it leaves some to callers who are known."""

Result = TypeVar("Result")


class Held(AsyncConnection[Row]):
    """Is closed where a statement is given up: psycopg's own asks the server to stop it, and waits for the answer.

    The server may be what does not answer.
    """

    @override
    async def wait(
        self,
        gen: PQGen[Result],
        interval: float = 0.1,
        timeout: float | None = None,
    ) -> Result:
        try:
            return await waiting.wait_async(gen, self.pgconn.socket, interval=interval, timeout=timeout)
        except asyncio.CancelledError:
            self.pgconn.finish()
            raise


async def within(seconds: float, work: Awaitable[Result]) -> Result:
    """The work's result, or `TimeoutError` at the deadline."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            return await work
    # Not from the other error, which would hold on to what was given up.
    raise TimeoutError(f"no answer from the database within {seconds:g} s")


async def connect(address: DatabaseAddress) -> Held:
    conninfo = address.conninfo(f"-c statement_timeout={STATEMENT_SECONDS}s")
    return await Held.connect(conninfo, autocommit=True)


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
        first_place = self._strangers.taken(until) if by_stranger else nullcontext()
        async with first_place, self._places.taken(until):
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
