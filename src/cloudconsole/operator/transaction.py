"""One operator's transaction: who changes the cloud, when, and in which time zone the operator writes times."""

from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo

from sqlalchemy import Connection, Engine

from cloudconsole.store.base import read_only


@dataclass(frozen=True)
class Desk:
    connection: Connection
    actor: str
    now: int
    zone: tzinfo = UTC
    force: bool = False
    """Whether rules that may be overridden are."""
    kept: Container[str] = ()
    """Names that may stay as they are, whatever is asked of new ones."""

    def keeping(self, names: Container[str]) -> "Desk":
        return replace(self, kept=names)


@contextmanager
def at_desk(engine: Engine, *, actor: str, now: int, zone: tzinfo = UTC, force: bool = False) -> Iterator[Desk]:
    """A desk whose changes are made together at the end; an error changes nothing."""
    with engine.begin() as connection:
        yield Desk(connection, actor, now, zone, force)


@contextmanager
def reading_desk(engine: Engine, *, now: int, zone: tzinfo = UTC) -> Iterator[Desk]:
    """A desk to look from: all that is read there is of one moment, and waits for no one who writes."""
    with read_only(engine).begin() as connection:
        yield Desk(connection, "", now, zone)
