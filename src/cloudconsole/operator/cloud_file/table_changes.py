"""Differences between a table and its target rows, applied in a few bulk statements."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, select

from cloudconsole.operator.rows_and_records import Row
from cloudconsole.store.sql import delete_rows, insert_rows, update_rows

Key = Any


class Counts(NamedTuple):
    added: int = 0
    changed: int = 0
    removed: int = 0


@dataclass
class Changes:
    """The changes to a table. Unchanged rows are not listed."""

    table: Table
    added: list[Row] = field(default_factory=list)
    changed: list[Row] = field(default_factory=list)
    replaced: list[Row] = field(default_factory=list)
    """The changed rows before the change, in the same order."""
    removed: list[Row] = field(default_factory=list)
    was_empty: bool = False

    @property
    def counts(self) -> Counts:
        return Counts(len(self.added), len(self.changed), len(self.removed))

    def written(self) -> Iterator[tuple[Row | None, Row]]:
        """Yield added and changed rows, each after its previous version."""
        yield from ((None, row) for row in self.added)
        yield from zip(self.replaced, self.changed, strict=True)

    def pairs(self) -> Iterator[tuple[Row | None, Row | None]]:
        """Yield all rows before and after the change."""
        yield from ((row, None) for row in self.removed)
        yield from self.written()

    def remove(self, connection: Connection) -> None:
        self._delete(connection, self.removed)

    def write(self, connection: Connection) -> None:
        """Add and replace rows; changed rows are deleted first, so that they can swap unique values."""
        self._delete(connection, self.changed)
        for rows in (self.changed, self.added):
            insert_rows(connection, self.table, rows)

    def clear(self, connection: Connection, column: str) -> None:
        """Set a unique column to NULL in all rows that change or go, so that others can take its values."""
        (primary,) = self.table.primary_key.columns
        holders = (row for row in (*self.replaced, *self.removed) if row[column] is not None)
        update_rows(connection, self.table, ({primary.name: row[primary.name], column: None} for row in holders))

    def write_in_place(self, connection: Connection) -> None:
        """Add and update rows without deleting any, for tables that others refer to."""
        update_rows(connection, self.table, self.changed)
        insert_rows(connection, self.table, self.added)

    def _delete(self, connection: Connection, rows: list[Row]) -> None:
        (primary,) = self.table.primary_key.columns
        delete_rows(connection, primary, (row[primary.name] for row in rows))


def compare(connection: Connection, table: Table, key: Callable[[Row], Key], target: Iterable[Row]) -> Changes:
    """Return the changes that give the table these rows; a row keeps the columns that its target lacks."""
    missing = {key(row): row for row in rows_of(connection, table)}
    changes = Changes(table, was_empty=not missing)
    for row in target:
        current = missing.pop(key(row), None)
        if current is None:
            changes.added.append(row)
        elif current | row != current:
            changes.changed.append(current | row)
            changes.replaced.append(current)
    changes.removed = list(missing.values())
    return changes


def rows_of(connection: Connection, table: Table) -> list[Row]:
    return [dict(row) for row in connection.execute(select(table)).mappings()]
