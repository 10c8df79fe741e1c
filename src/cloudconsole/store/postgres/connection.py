"""Connections that do not wait for ever: a server that stands still is given up in time, or when someone interrupts.

Nor does anything begin on a connection to a server that has been replaced: it may stand still, too, and without a word.
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

Wanted = TypeVar("Wanted")
Result = TypeVar("Result")

CANCEL_SECONDS: Final = 1
"""How long a server is asked to stop what nobody waits for any more."""


class Servers:
    """Counts those that have been the server, one after the other, so that connections to a former one are known."""

    def __init__(self) -> None:
        self.number = 0

    def note_another(self) -> None:
        """From any thread: whoever has a connection looks by itself before it begins something."""
        self.number += 1


class BoundedConnection(psycopg.Connection[Any]):
    """Waits for an answer until `given_up_at`, and is closed then: what was under way is taken back by the server."""

    _servers = Servers()
    _number = 0

    def follow(self, servers: Servers, *, since: int) -> None:
        """Be closed as soon as something would begin while another server is the one than when it was `since`."""
        self._servers, self._number = servers, since

    @override
    def cursor(self, *args: Any, **kwargs: Any) -> Any:
        """What was begun before goes its way: whether it was done, only its own server can say."""
        is_former = self._number != self._servers.number
        if is_former and self.info.transaction_status == TransactionStatus.IDLE:
            # This does not wait for the server, and its pool takes another connection instead.
            self.close()
            raise psycopg.OperationalError("another server has taken over")
        return super().cursor(*args, **kwargs)

    @classmethod
    @override
    def _connect_gen(cls, conninfo: str = "") -> PQGenConn[Self]:
        """For each host in turn, as long as there is time; psycopg's own knows but the time that a host may take."""
        _check_deadline()
        return (yield from _given_up_in_time(super()._connect_gen(conninfo)))

    @override
    def wait(
        self,
        gen: PQGen[Result],
        interval: float = 0.1,
        timeout: float | None = None,
    ) -> Result:
        try:
            return waiting.wait(_given_up_in_time(gen), self.pgconn.socket, interval=interval)
        except _GivenUp:
            self.close()
            raise
        except KeyboardInterrupt:
            # psycopg would ask the server to stop, and then wait until it has.
            with suppress(psycopg.Error):
                self.cancel_safe(timeout=CANCEL_SECONDS)
            self.close()
            raise


class _GivenUp(psycopg.OperationalError):
    """There was no answer in time."""


def _check_deadline() -> None:
    if time.monotonic() >= write_deadline.get():
        raise _GivenUp("no answer from the database in time")


def connect(address: Dsn, servers: Servers) -> BoundedConnection:
    """Connecting has the deadline that the address gives each host, too."""
    number = servers.number
    connection = BoundedConnection.connect(address.conninfo())
    if (encoding := connection.info.parameter_status("server_encoding")) != "UTF8":
        connection.close()
        raise StoreError(f"{address} is in {encoding}, which cannot hold every name: make it with ENCODING 'UTF8'")
    connection.follow(servers, since=number)
    return connection


def _given_up_in_time(gen: Generator[Wanted, Ready | int, Result]) -> Generator[Wanted, Ready | int, Result]:
    """The same steps; whoever takes them is woken ten times a second."""
    try:
        wanted = next(gen)
        while True:
            _check_deadline()
            wanted = gen.send((yield wanted))
    except StopIteration as done:
        result: Result = done.value
        return result
