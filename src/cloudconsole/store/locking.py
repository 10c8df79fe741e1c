"""Locks by name, for what must not happen twice at once in the whole console."""

import sqlite3
import zlib
from collections.abc import Callable
from typing import Final, TypeVar

from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import DBAPIError

Result = TypeVar("Result")

_DEADLOCK: Final = "40P01"
_LOCKED: Final = "55P03"
_TRIES: Final = 3

_NAMED: Final = 3
"""The class of such locks, beside the single ones."""


def lock_name(connection: Connection, name: str) -> None:
    """Held until the transaction ends; on SQLite the transaction has the lock of its whole file already."""
    if connection.dialect.name == "postgresql":
        # Signed, as PostgreSQL takes it; two names of one number only wait for each other.
        number = int.from_bytes(zlib.crc32(name.encode()).to_bytes(4), signed=True)
        connection.execute(select(func.pg_advisory_xact_lock(_NAMED, number)))


def allow_long_thought(connection: Connection, minutes: int = 10) -> None:
    """Let a transaction stand still for so long between statements: it has much to work out, and is no paused one."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = '{minutes}min'")


def is_busy(problem: DBAPIError | sqlite3.Error) -> bool:
    """Whether nothing is wrong but that others wrote, for as long as one waits for them."""
    reason = problem.orig if isinstance(problem, DBAPIError) else problem
    if isinstance(reason, sqlite3.Error):
        return getattr(reason, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
    return getattr(reason, "sqlstate", None) == _LOCKED


def repeated(engine: Engine, work: Callable[[Connection], Result]) -> Result:
    """Work in a transaction; tried again where the database chose it as the one of two that gives way."""
    for left in reversed(range(_TRIES)):
        try:
            with engine.begin() as connection:
                return work(connection)
        except DBAPIError as problem:
            if not left or getattr(problem.orig, "sqlstate", None) != _DEADLOCK:
                raise
    raise AssertionError("the last try returns or raises")
