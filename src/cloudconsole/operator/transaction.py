"""One operator's transaction: who changes the cloud, when, and in which time zone the operator writes times."""

from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo

from sqlalchemy import Connection, Engine

from cloudconsole.store.base import read_only


@dataclass(frozen=True)
class OperatorTransaction:
    connection: Connection
    actor: str
    now: int
    zone: tzinfo = UTC
    force: bool = False
    """Whether rules that may be overridden are."""
    kept: Container[str] = ()
    """Names that may stay as they are, whatever is asked of new ones."""

    def keeping(self, names: Container[str]) -> "OperatorTransaction":
        return replace(self, kept=names)


@contextmanager
def operator_transaction(
    engine: Engine, *, actor: str, now: int, zone: tzinfo = UTC, force: bool = False
) -> Iterator[OperatorTransaction]:
    """A desk whose changes are made together at the end; an error changes nothing."""
    with engine.begin() as connection:
        yield OperatorTransaction(connection, actor, now, zone, force)


@contextmanager
def read_only_transaction(engine: Engine, *, now: int, zone: tzinfo = UTC) -> Iterator[OperatorTransaction]:
    """A desk to look from: all that is read there is of one moment, and waits for no one who writes."""
    with read_only(engine).begin() as connection:
        yield OperatorTransaction(connection, "", now, zone)
