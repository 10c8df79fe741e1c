"""Connections with a deadline, which also stop waiting for a hanging server on an interrupt.

Nothing begins on a connection to a server that has been replaced: it may hang silently.
"""

import time
from collections.abc import Generator
from contextlib import suppress
from typing import Any, Final, Self, TypeVar

import psycopg
from psycopg import waiting
from psycopg.abc import PQGen, PQGenConn
from psycopg.pq import TransactionStatus
from psycopg.waiting import Ready
from typing_extensions import override

from cloudconsole.store.base import StoreError, write_deadline
from cloudconsole.store.postgres.dsn import Dsn

Awaited = TypeVar("Awaited")
Result = TypeVar("Result")

CANCEL_SECONDS: Final = 1
"""Timeout for the request to cancel an abandoned statement."""


class Servers:
    """Counts failovers, to recognise connections to a former server."""

    def __init__(self) -> None:
        self.number = 0

    def note_another(self) -> None:
        """Record a failover, from any thread; connections check it before they begin something."""
        self.number += 1


class BoundedConnection(psycopg.Connection[Any]):
    """Waits for results until `write_deadline` and is closed then, so that the server rolls back."""

    _servers = Servers()
    _number = 0

    def follow(self, servers: Servers, *, since: int) -> None:
        """Close the connection when something would begin after a failover later than `since`."""
        self._servers, self._number = servers, since

    @override
    def cursor(self, *args: Any, **kwargs: Any) -> Any:
        """Reject new work on a former server; only that server knows the outcome of a transaction in progress."""
        is_former = self._number != self._servers.number
        if is_former and self.info.transaction_status == TransactionStatus.IDLE:
            # This does not wait for the server; the pool opens another connection instead.
            self.close()
            raise psycopg.OperationalError("another server has taken over")
        return super().cursor(*args, **kwargs)

    @classmethod
    @override
    def _connect_gen(cls, conninfo: str = "") -> PQGenConn[Self]:
        """Connect to each host in turn until the deadline; psycopg itself only has a timeout per host."""
        _check_deadline()
        return (yield from _with_deadline(super()._connect_gen(conninfo)))

    @override
    def wait(
        self,
        gen: PQGen[Result],
        interval: float = 0.1,
        timeout: float | None = None,
    ) -> Result:
        try:
            return waiting.wait(_with_deadline(gen), self.pgconn.socket, interval=interval)
        except _DeadlineExceeded:
            self.close()
            raise
        except KeyboardInterrupt:
            # psycopg would cancel and then wait for the server.
            with suppress(psycopg.Error):
                self.cancel_safe(timeout=CANCEL_SECONDS)
            self.close()
            raise


class _DeadlineExceeded(psycopg.OperationalError):
    """The database did not respond in time."""


def _check_deadline() -> None:
    if time.monotonic() >= write_deadline.get():
        raise _DeadlineExceeded("no response from the database in time")


def connect(address: Dsn, servers: Servers) -> BoundedConnection:
    """Connect within the deadline and the per-host timeout of the address."""
    number = servers.number
    connection = BoundedConnection.connect(address.conninfo())
    if (encoding := connection.info.parameter_status("server_encoding")) != "UTF8":
        connection.close()
        raise StoreError(
            f"{address} has the encoding {encoding}, which cannot store every name: create it with ENCODING 'UTF8'",
            f"{address.chinese} 的编码为 {encoding}，无法存储所有名称：请以 ENCODING 'UTF8' 创建",
        )
    connection.follow(servers, since=number)
    return connection


def _with_deadline(gen: Generator[Awaited, Ready | int, Result]) -> Generator[Awaited, Ready | int, Result]:
    """Check the deadline at every step of a generator, ten times a second."""
    try:
        awaited = next(gen)
        while True:
            _check_deadline()
            awaited = gen.send((yield awaited))
    except StopIteration as done:
        result: Result = done.value
        return result
