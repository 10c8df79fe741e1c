"""Databases for tests by the hundred: copies of a template, used again by others with the template's rows put back."""

from collections import defaultdict
from functools import cached_property
from itertools import count
from typing import Any, Final, NamedTuple

from cluster.postgres import PostgresServer
from psycopg import Connection

_TABLES: Final = "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public'"
_SEQUENCES: Final = "SELECT quote_ident(sequencename), last_value FROM pg_sequences"
_SCHEMA: Final = """
    SELECT oid, relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT tgrelid, tgname FROM pg_trigger
    UNION ALL SELECT attrelid, attname FROM pg_attribute WHERE attrelid >= 16384
    ORDER BY 1, 2
"""
_DISCONNECT: Final = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


class _Content(NamedTuple):
    """The rows of a template, and what a copy must look like to take them."""

    rows: dict[str, bytes]
    sequences: list[tuple[Any, ...]]
    schema: list[tuple[Any, ...]]


class Databases:
    """Of one server; making one anew takes many times as long as to put one right."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._numbers = count(1)
        self._contents: dict[str, _Content] = {}
        self._templates: dict[str, str] = {}
        self._free: defaultdict[str, list[str]] = defaultdict(list)

    def take(self, template: str) -> str:
        """The name of a database with what is in the template, which must not be changed from now on."""
        if template not in self._contents:
            self._contents[template] = self._read(template)
        while self._free[template]:
            name = self._free[template].pop()
            if self._restore(name, self._contents[template]):
                return name
            self._server.drop_database(name)
        name = f"store_{next(self._numbers)}"
        self._server.create_database(name, template)
        self._templates[name] = template
        return name

    def give_back(self, name: str) -> None:
        self._free[self._templates[name]].append(name)

    @cached_property
    def with_tables(self) -> str:
        """The name of a template with nothing but the tables."""
        from cloudconsole.store.postgres.address import DatabaseAddress
        from cloudconsole.store.postgres.store import PostgresStore

        PostgresStore(DatabaseAddress(self._server.create_database("tables"))).migrate()
        return "tables"

    def address(self, name: str) -> str:
        return self._server.address(name)

    def _read(self, template: str) -> _Content:
        with self._server.connect(template) as connection:
            rows = {table: _copy_out(connection, table) for (table,) in connection.execute(_TABLES).fetchall()}
            return _Content(rows, connection.execute(_SEQUENCES).fetchall(), connection.execute(_SCHEMA).fetchall())

    def _restore(self, name: str, content: _Content) -> bool:
        """Whether the database is again what its template is; one whose tables a test has changed is not."""
        with self._server.connect(name) as connection, connection.transaction():
            connection.execute(_DISCONNECT)
            if connection.execute(_SCHEMA).fetchall() != content.schema:
                return False
            # No triggers, no foreign keys: what is put in was whole when it was taken out.
            connection.execute("SET LOCAL session_replication_role = replica")
            connection.execute("; ".join(f"DELETE FROM {table}" for table in content.rows))
            for table, rows in content.rows.items():
                if rows:
                    with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                        copy.write(rows)
            for sequence, last in content.sequences:
                connection.execute(
                    "SELECT setval(%s::regclass, coalesce(%s, 1), %s)", (sequence, last, last is not None)
                )
        return True


def _copy_out(connection: "Connection[tuple[Any, ...]]", table: str) -> bytes:
    with connection.cursor().copy(f"COPY {table} TO STDOUT") as copy:
        return b"".join(bytes(part) for part in copy)
