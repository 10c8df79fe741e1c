"""Making the rows of a table equal to those wanted, in as few statements as there are kinds of change."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, select

from cloudconsole.operator.serializers import Row
from cloudconsole.store.sql import delete_rows, insert_rows, update_rows

Key = Any


class Counts(NamedTuple):
    added: int = 0
    changed: int = 0
    removed: int = 0


@dataclass
class Changes:
    """What to do to a table. Rows that stay as they are appear nowhere."""

    table: Table
    added: list[Row] = field(default_factory=list)
    changed: list[Row] = field(default_factory=list)
    replaced: list[Row] = field(default_factory=list)
    """What the changed ones were before, in the same order."""
    removed: list[Row] = field(default_factory=list)
    was_empty: bool = False
    """Whether the table had no rows at all."""

    @property
    def counts(self) -> Counts:
        return Counts(len(self.added), len(self.changed), len(self.removed))

    def written(self) -> Iterator[tuple[Row | None, Row]]:
        """The new and the changed, each with what it was before."""
        yield from ((None, row) for row in self.added)
        yield from zip(self.replaced, self.changed, strict=True)

    def remove(self, connection: Connection) -> None:
        self._delete(connection, self.removed)

    def write(self, connection: Connection) -> None:
        """Add the new, and replace the changed. Replaced at once, so that rows may swap what must be unique."""
        self._delete(connection, self.changed)
        for rows in (self.changed, self.added):
            insert_rows(connection, self.table, rows)

    def clear(self, connection: Connection, column: str) -> None:
        """Empty a column that must be unique in all rows that will change or go, so that others can have its values."""
        (primary,) = self.table.primary_key.columns
        holders = (row for row in (*self.replaced, *self.removed) if row[column] is not None)
        update_rows(connection, self.table, ({primary.name: row[primary.name], column: None} for row in holders))

    def write_in_place(self, connection: Connection) -> None:
        """Add the new, and change the changed where they are: for rows that others refer to."""
        update_rows(connection, self.table, self.changed)
        insert_rows(connection, self.table, self.added)

    def _delete(self, connection: Connection, rows: list[Row]) -> None:
        (primary,) = self.table.primary_key.columns
        delete_rows(connection, primary, (row[primary.name] for row in rows))


def compare(connection: Connection, table: Table, key: Callable[[Row], Key], wanted: Iterable[Row]) -> Changes:
    """What makes the table's rows the wanted ones; a row keeps the columns that the wanted one does not have."""
    missing = {key(row): row for row in rows_of(connection, table)}
    changes = Changes(table, was_empty=not missing)
    for row in wanted:
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
