"""Share compiled SQL between all engines that the tests open, instead of compiling it for each engine.

SQLAlchemy caches compiled statements by statement and dialect, and each engine has its own dialect object. Those of the
embedded store are all alike, so they compare equal here and share one cache.
"""

from typing import Any, Final

from sqlalchemy import Connection, Engine, event
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

_COMPILED: Final[dict[Any, Any]] = {}


def share_compiled_sql() -> None:
    SQLiteDialect_pysqlite.__hash__ = _hash_by_type  # type: ignore[method-assign,assignment]
    SQLiteDialect_pysqlite.__eq__ = _equal_by_type  # type: ignore[method-assign,assignment]
    event.listen(Engine, "engine_connect", _use_shared_cache)


def _hash_by_type(dialect: SQLiteDialect_pysqlite) -> int:
    return hash(type(dialect))


def _equal_by_type(dialect: SQLiteDialect_pysqlite, other: object) -> bool:
    return type(dialect) is type(other)


def _use_shared_cache(connection: Connection) -> None:
    if isinstance(connection.dialect, SQLiteDialect_pysqlite):
        connection.execution_options(compiled_cache=_COMPILED)
