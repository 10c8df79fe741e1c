"""Asynchronous connection pool for reads, with a bounded wait queue."""

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

from cloudconsole.core.coroutines import ensure_task
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import Parameters, RowTuple, StoreError
from cloudconsole.store.postgres.dsn import Dsn

BURST: Final = 500
"""Waiting requests beyond which the queue is overloaded."""
MAX_WAITING_PER_SLOT: Final = 4
"""Waiting requests per slot during an overload."""

Waiter = asyncio.Future[bool]
"""Whether the waiting request gets a slot."""


class WaitQueue:
    """A fixed number of slots; other requests wait.

    Under overload a long queue serves no request in time. So only the newest few stay in the queue, with near-normal
    latency. The others are rejected, one per served request: clients retry at once, and rejecting all together would
    take the time of those being served. The overload ends when no request waits, in the queue or for its rejection.
    """

    def __init__(self, number: int) -> None:
        self._number = self._free = number
        self._queue: deque[Waiter] = deque()
        self._rejected: deque[Waiter] = deque()
        self._is_overloaded = False

    @asynccontextmanager
    async def slot(self, until: float) -> AsyncIterator[None]:
        """Hold a slot; raise `Unavailable` if there is none until this event-loop time."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(until)
        try:
            yield
        finally:
            self._release()

    async def _wait(self, until: float) -> None:
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._enqueue(waiter)
        try:
            async with asyncio.timeout_at(until):
                has_slot = await waiter
        except TimeoutError as problem:
            self._abandon(waiter)
            raise Unavailable from problem
        except asyncio.CancelledError:
            self._abandon(waiter)
            raise
        if not has_slot:
            # The client retries: reconnecting would only add load.
            raise Unavailable(closes=False, of_store=True)

    def _enqueue(self, waiter: Waiter) -> None:
        self._queue.append(waiter)
        self._is_overloaded = self._is_overloaded or len(self._queue) > BURST
        while self._is_overloaded and len(self._queue) > MAX_WAITING_PER_SLOT * self._number:
            self._rejected.append(self._queue.popleft())

    def _abandon(self, waiter: Waiter) -> None:
        for waiters in (self._queue, self._rejected):
            with suppress(ValueError):
                waiters.remove(waiter)
        if not waiter.cancelled() and waiter.result():
            # The slot was granted at the same moment.
            self._release()

    def _release(self) -> None:
        _resolve_next(self._rejected, has_slot=False)
        if _resolve_next(self._queue, has_slot=True):
            return
        self._free += 1
        if self._free == self._number:
            while _resolve_next(self._rejected, has_slot=False):
                pass
        self._is_overloaded = self._is_overloaded and bool(self._rejected)


def _resolve_next(waiters: deque[Waiter], *, has_slot: bool) -> bool:
    """Resolve the next active waiter; return False if there is none."""
    while waiters:
        waiter = waiters.popleft()
        if not waiter.done():
            waiter.set_result(has_slot)
            return True
    return False


READ_SECONDS: Final = 5
"""Timeout of a read, from waiting for a connection to the last statement."""
STATEMENT_SECONDS: Final = 30
"""Server-side timeout, which ends abandoned statements."""
MAX_CONNECTIONS: Final = 4
"""Read connections per worker."""
MAX_UNTRUSTED: Final = 2
"""Of these, the maximum for untrusted lookups, so that known clients always find some."""

Result = TypeVar("Result")


class ReadConnection(AsyncConnection[RowTuple]):
    """Is closed when a statement is cancelled: psycopg would wait for the server, which may be hanging."""

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
    """Return the result of the work; raise `TimeoutError` at the deadline."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            return await work
    # Not chained: the original error would keep the abandoned work alive.
    raise TimeoutError(f"no response from the database within {seconds:g} s")


async def connect(address: Dsn) -> ReadConnection:
    conninfo = address.conninfo(f"-c statement_timeout={STATEMENT_SECONDS}s")
    return await ReadConnection.connect(conninfo, autocommit=True)


async def rows(connection: ReadConnection, sql: str, parameters: Parameters = ()) -> list[RowTuple]:
    cursor = await connection.execute(sql, parameters)
    return await cursor.fetchall()


class BorrowedConnection(NamedTuple):
    """A connection for exclusive use until an event-loop time."""

    connection: ReadConnection
    until: float

    async def rows(self, sql: str, parameters: Parameters = ()) -> list[RowTuple]:
        return await within(self._seconds_left, rows(self.connection, sql, parameters))

    async def perform(self, sql: str) -> None:
        await within(self._seconds_left, self.connection.execute(sql))

    @property
    def _seconds_left(self) -> float:
        return max(0.0, self.until - asyncio.get_running_loop().time())


class ConnectionPool:
    """A few connections, opened on demand; those closed by the server are replaced."""

    def __init__(self, address: Dsn) -> None:
        self._address = address
        self._idle: list[ReadConnection] = []
        self._generation = 0
        self._slots = WaitQueue(MAX_CONNECTIONS)
        self._untrusted_slots = WaitQueue(MAX_UNTRUSTED)

    @asynccontextmanager
    async def acquire(self, *, untrusted: bool = False) -> AsyncIterator[BorrowedConnection]:
        """Borrow a connection, which is closed after any error; raise `Unavailable` for database errors."""
        await ensure_task()
        until = asyncio.get_running_loop().time() + READ_SECONDS
        untrusted_slot = self._untrusted_slots.slot(until) if untrusted else nullcontext()
        async with untrusted_slot, self._slots.slot(until):
            with translated_errors():
                async with self._used(until) as borrowed:
                    yield borrowed

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
        """Stop using the current connections, which lead to a former server."""
        self._generation += 1
        await self.close()

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().close()


def is_alive(connection: ReadConnection) -> bool:
    """Return whether an idle connection has no unexpected input: the server announces that it closes it."""
    if connection.closed:
        return False
    # Not select(), which fails for file descriptors above 1023.
    poller = select.poll()
    poller.register(connection.fileno(), select.POLLIN)
    return not poller.poll(0)


class translated_errors(AbstractContextManager[None]):  # noqa: N801 - it reads as the others do
    """Translate database errors to `Unavailable`."""

    def __exit__(self, _kind: object, problem: BaseException | None, _trace: object) -> None:
        if isinstance(problem, (psycopg.Error, OSError, StoreError)):
            raise Unavailable from problem
