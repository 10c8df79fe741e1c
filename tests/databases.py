"""Databases for tests by the hundred: copies of a template, used again by others with the template's rows put back."""

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, Final

from cluster.postgres import PostgresServer
from psycopg import Connection, OperationalError

_TABLES: Final = "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public'"
_SEQUENCES: Final = "SELECT quote_ident(sequencename), last_value FROM pg_sequences"
# Whoever makes, changes or removes a table, a column, an index, a constraint or a trigger leaves another of these.
_SCHEMA: Final = " UNION ALL ".join(
    f"SELECT count(*), max(xmin::text::bigint) FROM {catalog}"
    for catalog in ("pg_class", "pg_attribute", "pg_attrdef", "pg_constraint", "pg_trigger", "pg_proc")
)
_DISCONNECT: Final = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""

Connected = Connection[tuple[Any, ...]]


@dataclass(frozen=True)
class _Content:
    """The rows of a template, and what a copy must look like to take them."""

    rows: dict[str, bytes]
    sequences: list[tuple[Any, ...]]
    schema: list[tuple[Any, ...]]

    @cached_property
    def changed(self) -> str:
        """A query for the tables that hold other rows than those that a transaction put there, to be named for each."""
        return " UNION ALL ".join(
            f"""SELECT '{table}', pg_current_xact_id()::xid::text FROM {table}
            HAVING count(*) <> {len(rows.splitlines())} OR count(*) <> count(*) FILTER (WHERE xmin = %s::xid)"""
            for table, rows in self.rows.items()
        )

    @cached_property
    def sequences_set(self) -> str:
        return "SELECT " + ", ".join(
            f"setval('{sequence}', {last or 1}, {last is not None})" for sequence, last in self.sequences
        )


class Databases:
    """Of one server; making one anew takes many times as long as to put one right."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._numbers = count(1)
        self._contents: dict[str, _Content] = {}
        self._templates: dict[str, str] = {}
        self._free: defaultdict[str, list[str]] = defaultdict(list)
        self._connections: dict[str, Connected] = {}
        self._put_by: defaultdict[str, defaultdict[str, str]] = defaultdict(lambda: defaultdict(lambda: "0"))
        """Of each database the transaction that has put the rows into each table; there is none called 0."""

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

    def close(self) -> None:
        """Leave the server."""
        for name in list(self._connections):
            self._connections.pop(name).close()

    @cached_property
    def with_tables(self) -> str:
        """The name of a template with nothing but the tables."""
        from cloudconsole.store.postgres.dsn import Dsn
        from cloudconsole.store.postgres.store import PostgresStore

        PostgresStore(Dsn(self._server.create_database("tables"))).migrate()
        return "tables"

    def address(self, name: str) -> str:
        return self._server.address(name)

    def _read(self, template: str) -> _Content:
        if template in self._connections:
            # To a template nobody may be connected.
            self._connections.pop(template).close()
        with self._server.connect(template) as connection:
            rows = {table: _copy_out(connection, table) for (table,) in connection.execute(_TABLES).fetchall()}
            return _Content(rows, connection.execute(_SEQUENCES).fetchall(), connection.execute(_SCHEMA).fetchall())

    def _restore(self, name: str, content: _Content) -> bool:
        """Whether the database is again what its template is; one whose tables a test has changed is not."""
        connection = self._connect_alone(name)
        if connection.execute(_SCHEMA, prepare=True).fetchall() != content.schema:
            self._connections.pop(name).close()
            return False
        with connection.transaction():
            put_by = [self._put_by[name][table] for table in content.rows]
            changed = connection.execute(content.changed, put_by, prepare=True).fetchall()
            if changed:
                # No triggers, no foreign keys: what is put in was whole when it was taken out.
                deletions = (f"DELETE FROM {table}" for table, _ in changed)
                connection.execute("; ".join(("SET LOCAL session_replication_role = replica", *deletions)))
            for table, transaction in changed:
                if rows := content.rows[table]:
                    with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                        copy.write(rows)
                self._put_by[name][table] = transaction
            connection.execute(content.sequences_set, prepare=True)
        return True

    def _connect_alone(self, name: str) -> Connected:
        """A connection to a database to which nobody else is connected any more; kept, since a new one costs more."""
        with suppress(KeyError, OperationalError):
            self._connections[name].execute(_DISCONNECT, prepare=True)
            return self._connections[name]
        self._connections[name] = self._server.connect(name)
        self._connections[name].execute(_DISCONNECT)
        return self._connections[name]


def _copy_out(connection: Connected, table: str) -> bytes:
    with connection.cursor().copy(f"COPY {table} TO STDOUT") as copy:
        return b"".join(bytes(part) for part in copy)
