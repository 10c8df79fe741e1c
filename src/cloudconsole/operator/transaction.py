"""Database transactions of operators, with the actor, the time and the time zone of input."""

import os
import pwd
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo

from sqlalchemy import Connection, Engine

from cloudconsole.store.base import read_only_engine


@dataclass(frozen=True)
class OperatorTransaction:
    connection: Connection
    actor: str
    now: int
    zone: tzinfo = UTC
    force: bool = False
    """Whether to override the rules that raise `OverridableError`."""
    keeps_operator: bool = False
    """Whether an operator who can log in must remain even with `force`."""
    existing_names: Container[str] = ()
    """Names exempt from the rules for new names."""

    def allowing_names(self, names: Container[str]) -> "OperatorTransaction":
        return replace(self, existing_names=names)


@contextmanager
def operator_transaction(
    engine: Engine, *, actor: str, now: int, zone: tzinfo = UTC, force: bool = False, keeps_operator: bool = False
) -> Iterator[OperatorTransaction]:
    """Open a transaction that commits at the end and rolls back on an error."""
    with engine.begin() as connection:
        yield OperatorTransaction(connection, actor, now, zone, force, keeps_operator)


@contextmanager
def read_only_transaction(engine: Engine, *, now: int, zone: tzinfo = UTC) -> Iterator[OperatorTransaction]:
    """Open a read-only snapshot, which does not wait for writers."""
    with read_only_engine(engine).begin() as connection:
        yield OperatorTransaction(connection, "", now, zone)


def os_user_name() -> str:
    """Return the name of the process's user; variables such as LOGNAME can be forged."""
    user = os.getuid()
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
