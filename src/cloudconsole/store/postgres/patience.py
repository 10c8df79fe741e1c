"""Connections that do not wait for ever: a server that stands still is given up in time, or when someone interrupts."""

import time
from contextlib import suppress
from typing import Any, Final, TypeVar

import psycopg
from psycopg import waiting
from psycopg.abc import PQGen

from cloudconsole.store.engine import StoreError, given_up_at
from cloudconsole.store.postgres.address import DatabaseAddress

Result = TypeVar("Result")

CANCEL_SECONDS: Final = 1
"""How long a server is asked to stop what nobody waits for any more."""


class BoundedConnection(psycopg.Connection[Any]):
    """Waits for an answer until `given_up_at`, and is closed then: what was under way is taken back by the server."""

    def wait(
        self,
        gen: PQGen[Result],
        interval: float = 0.1,
        timeout: float | None = None,  # noqa: ARG002 - ours is for all of a change, not for one wait
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

    def __init__(self) -> None:
        super().__init__("no answer from the database in time")


def connect(address: DatabaseAddress) -> BoundedConnection:
    """Connecting itself has the deadline that the address gives each host."""
    if time.monotonic() >= given_up_at.get():
        raise _GivenUp
    connection = BoundedConnection.connect(address.conninfo())
    if (encoding := connection.info.parameter_status("server_encoding")) != "UTF8":
        connection.close()
        raise StoreError(f"{address} is in {encoding}, which cannot hold every name: make it with ENCODING 'UTF8'")
    return connection


def _given_up_in_time(gen: PQGen[Result]) -> PQGen[Result]:
    """The same steps; whoever takes them is woken ten times a second."""
    try:
        wanted = next(gen)
        while True:
            if time.monotonic() >= given_up_at.get():
                raise _GivenUp
            wanted = gen.send((yield wanted))
    except StopIteration as done:
        result: Result = done.value
        return result
