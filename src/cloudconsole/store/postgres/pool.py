"""Async read pool with a bounded wait queue."""

import asyncio
import select
from collections import deque
from collections.abc import AsyncIterator, Awaitable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from typing import Final, NamedTuple, TypeVar

import psycopg
from psycopg import AsyncConnection, waiting
from psycopg.abc import PQGen
from typing_extensions import override

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import Parameters, Row, StoreError
from cloudconsole.store.postgres.dsn import Dsn

BURST: Final = 500
"""So many may wait; more are a crowd."""
MAX_PER_CLIENT: Final = 4
"""For each place, of those who wait for one in a crowd."""

Turn = asyncio.Future[bool]
"""Whether there is a place for the one that waits for it."""


class WaitQueue:
    """For so many at once; others wait in line.

    In a crowd a long line serves nobody in time. So only the last few who came stay in line, and are served about as
    soon as ever. The others leave: they are told to come back, one for each that was served. Not all at once, since
    who is told does come back, and to tell them again and again would take the time of those who are served. The crowd
    is gone when nobody waits, neither in line nor to be told.
    """

    def __init__(self, number: int) -> None:
        self._number = self._free = number
        self._line: deque[Turn] = deque()
        self._leaving: deque[Turn] = deque()
        self._is_crowded = False

    @asynccontextmanager
    async def slot(self, until: float) -> AsyncIterator[None]:
        """Hold a place; raises `Unavailable` where there is none by this time of the event loop's."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(until)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, until: float) -> None:
        turn: Turn = asyncio.get_running_loop().create_future()
        self._line_up(turn)
        try:
            async with asyncio.timeout_at(until):
                has_place = await turn
        except TimeoutError as problem:
            self._give_up(turn)
            raise Unavailable from problem
        except asyncio.CancelledError:
            self._give_up(turn)
            raise
        if not has_place:
            # New connections for all who come back would take the time of those who are served.
            raise Unavailable(closes=False, of_store=True)

    def _line_up(self, turn: Turn) -> None:
        self._line.append(turn)
        self._is_crowded = self._is_crowded or len(self._line) > BURST
        while self._is_crowded and len(self._line) > MAX_PER_CLIENT * self._number:
            self._leaving.append(self._line.popleft())

    def _give_up(self, turn: Turn) -> None:
        for those in (self._line, self._leaving):
            with suppress(ValueError):
                those.remove(turn)
        if not turn.cancelled() and turn.result():
            # Its place came in the same moment.
            self._pass_on()

    def _pass_on(self) -> None:
        _tell_next(self._leaving, has_place=False)
        if _tell_next(self._line, has_place=True):
            return
        self._free += 1
        if self._free == self._number:
            while _tell_next(self._leaving, has_place=False):
                pass
        self._is_crowded = self._is_crowded and bool(self._leaving)


def _tell_next(those: deque[Turn], *, has_place: bool) -> bool:
    """Whether there was one that still waits."""
    while those:
        turn = those.popleft()
        if not turn.done():
            turn.set_result(has_place)
            return True
    return False


READ_SECONDS: Final = 5
"""What is not read by then, from waiting for a connection to the last of several statements, will not be."""
STATEMENT_SECONDS: Final = 30
"""What was given up and goes on at the server ends by then."""
MOST_HELD: Final = 4
"""Connections of one worker for its reads."""
MOST_OF_STRANGERS: Final = 2
"""Of these, those for looking for what may be made up: it leaves some to callers who are known."""

Result = TypeVar("Result")


class ReadConnection(AsyncConnection[Row]):
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


async def connect(address: Dsn) -> ReadConnection:
    conninfo = address.conninfo(f"-c statement_timeout={STATEMENT_SECONDS}s")
    return await ReadConnection.connect(conninfo, autocommit=True)


async def rows(connection: ReadConnection, sql: str, parameters: Parameters = ()) -> list[Row]:
    cursor = await connection.execute(sql, parameters)
    return await cursor.fetchall()


class BorrowedConnection(NamedTuple):
    """A connection that someone has to themselves until a time of the event loop's."""

    connection: ReadConnection
    until: float

    async def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        return await within(self._seconds_left, rows(self.connection, sql, parameters))

    async def perform(self, sql: str) -> None:
        await within(self._seconds_left, self.connection.execute(sql))

    @property
    def _seconds_left(self) -> float:
        return max(0.0, self.until - asyncio.get_running_loop().time())


class ConnectionPool:
    """A few of them, opened when they are needed first; those that the server closed since are replaced."""

    def __init__(self, address: Dsn) -> None:
        self._address = address
        self._idle: list[ReadConnection] = []
        self._generation = 0
        self._places = WaitQueue(MOST_HELD)
        self._strangers = WaitQueue(MOST_OF_STRANGERS)

    @asynccontextmanager
    async def acquire(self, *, by_stranger: bool = False) -> AsyncIterator[BorrowedConnection]:
        """One of them; after any error it is not used again. Raises `Unavailable` for all that can go wrong."""
        until = asyncio.get_running_loop().time() + READ_SECONDS
        first_place = self._strangers.slot(until) if by_stranger else nullcontext()
        async with first_place, self._places.slot(until):
            with translated_errors():
                async with self._used(until) as taken:
                    yield taken

    @asynccontextmanager
    async def _used(self, until: float) -> AsyncIterator[BorrowedConnection]:
        generation = self._generation
        connection = self._newest_alive()
        if connection is None:
            seconds_left = until - asyncio.get_running_loop().time()
            connection = await within(seconds_left, connect(self._address))
        try:
            yield BorrowedConnection(connection, until)
        except BaseException:
            await connection.close()
            raise
        if generation == self._generation:
            self._idle.append(connection)
        else:
            await connection.close()

    def _newest_alive(self) -> ReadConnection | None:
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


def is_alive(connection: ReadConnection) -> bool:
    """Whether the server has said nothing to one who asked nothing: its last word is that it closes."""
    if connection.closed:
        return False
    # Not select(), which takes no number above a thousand or so.
    asking = select.poll()
    asking.register(connection.fileno(), select.POLLIN)
    return not asking.poll(0)


class translated_errors(AbstractContextManager[None]):  # noqa: N801 - it reads as the others do
    """Whatever goes wrong with the database is `Unavailable` to a caller."""

    def __exit__(self, _kind: object, problem: BaseException | None, _trace: object) -> None:
        if isinstance(problem, (psycopg.Error, OSError, StoreError)):
            raise Unavailable from problem
