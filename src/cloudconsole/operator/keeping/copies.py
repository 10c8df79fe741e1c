"""The trail's line of a copy that was taken of everything."""

import sqlite3

from sqlalchemy.exc import DBAPIError

from cloudconsole.operator.audit import note
from cloudconsole.operator.desk import at_desk
from cloudconsole.operator.records import Record
from cloudconsole.store.base import Store, StoreError
from cloudconsole.store.migrations import is_usable


def note_copy(store: Store, change: str, subject: str, after: Record | None, *, actor: str, now: int) -> str | None:
    """Note who took a copy; gives why that could not be, which makes the copy no worse."""
    try:
        with store.opened("cloud") as engine:
            if not is_usable(engine):
                return "the store is of an older Cloud Console"
            with at_desk(engine, actor=actor, now=now) as desk:
                note(desk, change, subject, None, after)
    except (StoreError, DBAPIError, sqlite3.Error) as problem:
        return str(problem.orig if isinstance(problem, DBAPIError) else problem)
    return None
