"""SQL compiled once in a process, however many engines the tests open: each would compile what it is asked for anew.

An engine keeps what it has compiled, by statement and by dialect; each has a dialect of its own. Those of the embedded
store are all alike, so here they count as one, and what one has compiled is there for all.
"""

from typing import Any, Final

from sqlalchemy import Connection, Engine, event
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

_COMPILED: Final[dict[Any, Any]] = {}


def share_what_is_compiled() -> None:
    SQLiteDialect_pysqlite.__hash__ = _hash_of_kind  # type: ignore[method-assign,assignment]
    SQLiteDialect_pysqlite.__eq__ = _is_of_one_kind  # type: ignore[method-assign,assignment]
    event.listen(Engine, "engine_connect", _take_what_is_compiled)


def _hash_of_kind(dialect: SQLiteDialect_pysqlite) -> int:
    return hash(type(dialect))


def _is_of_one_kind(dialect: SQLiteDialect_pysqlite, other: object) -> bool:
    return type(dialect) is type(other)


def _take_what_is_compiled(connection: Connection) -> None:
    if isinstance(connection.dialect, SQLiteDialect_pysqlite):
        connection.execution_options(compiled_cache=_COMPILED)
