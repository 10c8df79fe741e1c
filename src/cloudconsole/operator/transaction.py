"""Database transactions of operators, with the actor, the time and the time zone of input."""

import hashlib
import os
import pwd
from collections.abc import Container, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo

from sqlalchemy import Connection, Engine

from cloudconsole.operator.errors import OverridableError
from cloudconsole.store.base import read_only_engine


@dataclass(frozen=True)
class OperatorTransaction:
    connection: Connection
    actor: str
    now: int
    zone: tzinfo = UTC
    force: bool = False
    """Whether to override the rules that ask."""
    keeps_operator: bool = False
    """Whether an operator who can log in must remain even with `force`."""
    existing_names: Container[str] = ()
    """Names exempt from the rules for new names."""
    confirmations: Set[str] = frozenset()
    """Of questions that were shown; any other is asked."""
    confirmed: list[str] = field(default_factory=list)
    """Those that were asked again."""

    @property
    def is_forced(self) -> bool:
        return self.force or bool(self.confirmed)

    def ask(self, question: str) -> None:
        """Reject the change unless exactly this question was confirmed, or `force` overrides it."""
        if self.force:
            return
        confirmation = hashlib.sha256(question.encode()).hexdigest()
        if confirmation not in self.confirmations:
            raise OverridableError(question, self.confirmations | {confirmation})
        self.confirmed.append(confirmation)

    def allowing_names(self, names: Container[str]) -> "OperatorTransaction":
        return replace(self, existing_names=names)


@contextmanager
def operator_transaction(
    engine: Engine,
    *,
    actor: str,
    now: int,
    zone: tzinfo = UTC,
    force: bool = False,
    keeps_operator: bool = False,
    confirmations: Set[str] = frozenset(),
) -> Iterator[OperatorTransaction]:
    """Open a transaction that commits at the end and rolls back on an error."""
    with engine.begin() as connection:
        yield OperatorTransaction(connection, actor, now, zone, force, keeps_operator, confirmations=confirmations)


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
