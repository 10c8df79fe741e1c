"""Removing rows that are of no use any more, a bounded number at a time, so that nobody waits for long."""

from sqlalchemy import ColumnElement, Connection, Table, delete, select, tuple_


def remove_some(connection: Connection, table: Table, outdated: ColumnElement[bool], most: int) -> int:
    """Gives how many went; those stay that someone else has just taken hold of."""
    key = table.primary_key
    chosen = select(*key).where(outdated).limit(most).with_for_update(skip_locked=True)
    # PostgreSQL may run a subquery once for each row, and then the limit is of each: what has a name runs once.
    # Within the condition, since of a statement that begins with the name SQLite does not tell how many rows went.
    some = chosen.cte("some", nesting=True).prefix_with("MATERIALIZED", dialect="postgresql")
    return connection.execute(delete(table).where(tuple_(*key).in_(select(some)))).rowcount
