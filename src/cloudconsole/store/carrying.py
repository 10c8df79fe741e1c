"""Carrying rows from one database to another, of whatever kinds they are."""

from typing import Final

from sqlalchemy import Engine, MetaData, insert, select

from cloudconsole.store.engine import reading

_AT_ONCE: Final = 5000


def copy_rows(source: Engine, target: Engine, tables: MetaData) -> None:
    """Put all rows of these tables, as of one moment, into another database, where they are empty."""
    with reading(source).connect() as there, target.begin() as here:
        # Those that others refer to come first.
        for table in tables.sorted_tables:
            few_at_once = select(table).execution_options(yield_per=_AT_ONCE)
            for rows in there.execute(few_at_once).mappings().partitions():
                here.execute(insert(table), [dict(row) for row in rows])
