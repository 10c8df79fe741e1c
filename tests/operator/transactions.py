"""Operator transactions for the tests."""

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


def transaction(
    engine: Engine, *, now: int = NOW, force: bool = False, keeps_operator: bool = False
) -> AbstractContextManager[OperatorTransaction]:
    return operator_transaction(engine, actor="tester", now=now, force=force, keeps_operator=keeps_operator)


@contextmanager
def rejected(
    engine: Engine, message: str, *, now: int = NOW, force: bool = False, keeps_operator: bool = False
) -> Iterator[OperatorTransaction]:
    """Open a transaction that must be rejected with this message and change nothing."""
    before = contents(engine)
    opened = transaction(engine, now=now, force=force, keeps_operator=keeps_operator)
    with pytest.raises(OperatorError, match=message), opened as tx:
        yield tx
    assert contents(engine) == before


def last_change(engine: Engine) -> tuple[str, str | None, Any, Any]:
    """Return change, subject, and records before and after of the last entry of the audit log."""
    entry = last_entry(engine)
    return entry["change"], entry["subject"], entry["before"], entry["after"]


def last_entry(engine: Engine) -> dict[str, Any]:
    """Return the last entry of the audit log, with decoded records."""
    entry = rows(engine, tables.operator_audit)[-1]
    decoded = {name: None if entry[name] is None else json.loads(entry[name]) for name in ("before", "after")}
    return entry | decoded
