"""Operators at work in the tests: desks over a store, and what must be refused."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine

from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.transaction import OperatorTransaction, operator_transaction
from cloudconsole.store import tables
from tests.operator.clouds import contents, rows

NOW = 1_800_000_000
"""2027-01-15T08:00:00Z."""


def desk_of(engine: Engine, *, now: int = NOW, force: bool = False) -> AbstractContextManager[OperatorTransaction]:
    return operator_transaction(engine, actor="tester", now=now, force=force)


@contextmanager
def refused(engine: Engine, words: str, *, now: int = NOW, force: bool = False) -> Iterator[OperatorTransaction]:
    """A transaction that must be refused with these words and leave everything as it was."""
    before = contents(engine)
    with pytest.raises(OperatorError, match=words), desk_of(engine, now=now, force=force) as desk:
        yield desk
    assert contents(engine) == before


def last_line(engine: Engine) -> dict[str, Any]:
    """The last line of the operators' audit, its records read."""
    line = rows(engine, tables.operator_audit)[-1]
    read = {name: None if line[name] is None else json.loads(line[name]) for name in ("before", "after")}
    return line | read
