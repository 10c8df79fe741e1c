"""Bringing the lines in: short transactions, each with its totals and its line in the trail."""

from collections.abc import Iterator
from datetime import tzinfo
from typing import BinaryIO, Final, NamedTuple

from sqlalchemy import Engine

from cloudconsole.core.clock import Clock
from cloudconsole.operator.audit import is_restored_since, newest_line, note
from cloudconsole.operator.bulk.checking import Checked, check_batch
from cloudconsole.operator.bulk.lines import Batch, read_batches
from cloudconsole.operator.cloudfile.problems import CloudFileError, Problem
from cloudconsole.operator.desk import Desk, at_desk
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.kept import StoredNames
from cloudconsole.store import counters
from cloudconsole.store.sql import insert_rows
from cloudconsole.store.tables import resources

LINES_PER_TRANSACTION: Final = 1_000
"""Some tenths of a second, so that nobody else who writes is kept waiting for long: a login may be among them."""


class Tally(NamedTuple):
    """How far an import is: what it counts is in the store for good."""

    added: int = 0
    passed: int = 0
    """Lines that were in already."""
    position: int = 0
    """Bytes read."""

    @property
    def lines(self) -> int:
        return self.added + self.passed


class RestoredMeanwhile(OperatorError):
    """The store was restored between two transactions: nobody knows which of the lines so far are in."""

    def __init__(self) -> None:
        super().__init__(
            "the store was restored meanwhile, and lines that were in may be gone: the same command begins anew"
        )


def import_resources(
    engine: Engine,
    source: BinaryIO,
    name: str,
    *,
    actor: str,
    clock: Clock,
    zone: tzinfo,
    force: bool = False,
    refused_lines: int = 1,
) -> Iterator[Tally]:
    """Gives the tally after each transaction; a refused line raises `CloudFileError` once all before it are in.

    A trial asks for more `refused_lines`: it continues until it has found that many, and adds all other lines.
    `RestoredMeanwhile` ends it where the lines of earlier transactions are no longer surely in.
    """
    tally = Tally()
    seen: int | None = None
    stops = refused_lines == 1
    problems: list[Problem] = []
    for batch in read_batches(source, zone, LINES_PER_TRANSACTION, StoredNames(engine), stops=stops):
        with at_desk(engine, actor=actor, now=int(clock.now()), zone=zone, force=force) as desk:
            if seen is not None and is_restored_since(desk.connection, seen):
                raise RestoredMeanwhile
            checked = check_batch(desk, batch.lines, stops=stops)
            _write(desk, name, batch, checked)
            seen = newest_line(desk.connection)
        tally = Tally(tally.added + len(checked.rows), tally.passed + checked.passed, batch.position)
        yield tally
        problems += checked.problems + batch.problems
        if len({problem.line for problem in problems}) >= refused_lines:
            break
    if problems:
        listed = sorted({problem.line for problem in problems})[:refused_lines]
        raise CloudFileError(name, [problem for problem in problems if problem.line in listed])


def _write(desk: Desk, name: str, batch: Batch, checked: Checked) -> None:
    if not checked.rows:
        return
    rows = list(checked.rows.values())
    insert_rows(desk.connection, resources, rows)
    counters.update_counters(desk.connection, [], rows)
    last = checked.problems[0].line - 1 if checked.problems else batch.lines[-1].number
    note(desk, "import", name, None, {"lines": [batch.lines[0].number, last], "resources": len(rows)})
