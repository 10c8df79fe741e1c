"""A pool of PostgreSQL databases for tests: copies of a template, reused after restoring the template's rows."""

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
# Differs after any change to a table, column, index, constraint, trigger or function.
_SCHEMA: Final = " UNION ALL ".join(
    f"SELECT count(*), max(xmin::text::bigint) FROM {catalog}"
    for catalog in ("pg_class", "pg_attribute", "pg_attrdef", "pg_constraint", "pg_trigger", "pg_proc")
)
_DISCONNECT: Final = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""

AnyConnection = Connection[tuple[Any, ...]]


@dataclass(frozen=True)
class _Content:
    """The rows of a template, and the schema that a copy must have to be restored."""

    rows: dict[str, bytes]
    sequences: list[tuple[Any, ...]]
    schema: list[tuple[Any, ...]]

    @cached_property
    def changed(self) -> str:
        """A query for the tables whose rows differ from those written by a transaction, given for each table."""
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
    """The databases of one server; creating one takes many times as long as restoring one."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._numbers = count(1)
        self._contents: dict[str, _Content] = {}
        self._templates: dict[str, str] = {}
        self._free: defaultdict[str, list[str]] = defaultdict(list)
        self._connections: dict[str, AnyConnection] = {}
        self._restored_by: defaultdict[str, defaultdict[str, str]] = defaultdict(lambda: defaultdict(lambda: "0"))
        """By database and table, the transaction that restored the rows; 0 is no transaction."""

    def acquire(self, template: str) -> str:
        """Return the name of a database with the content of the template, which must not change from now on."""
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

    def release(self, name: str) -> None:
        self._free[self._templates[name]].append(name)

    def close(self) -> None:
        """Close all connections to the server."""
        for name in list(self._connections):
            self._connections.pop(name).close()

    @cached_property
    def migrated_template(self) -> str:
        """The name of a template with empty tables."""
        from cloudconsole.store.postgres.dsn import Dsn
        from cloudconsole.store.postgres.store import PostgresStore

        PostgresStore(Dsn(self._server.create_database("tables"))).migrate()
        return "tables"

    def address(self, name: str) -> str:
        return self._server.address(name)

    def _read(self, template: str) -> _Content:
        if template in self._connections:
            # A template must not have connections.
            self._connections.pop(template).close()
        with self._server.connect(template) as connection:
            rows = {table: _copy_out(connection, table) for (table,) in connection.execute(_TABLES).fetchall()}
            return _Content(rows, connection.execute(_SEQUENCES).fetchall(), connection.execute(_SCHEMA).fetchall())

    def _restore(self, name: str, content: _Content) -> bool:
        """Restore a database to its template; return False if a test has changed its schema."""
        connection = self._connect_alone(name)
        if connection.execute(_SCHEMA, prepare=True).fetchall() != content.schema:
            self._connections.pop(name).close()
            return False
        with connection.transaction():
            restored_by = [self._restored_by[name][table] for table in content.rows]
            changed = connection.execute(content.changed, restored_by, prepare=True).fetchall()
            if changed:
                # No triggers or foreign keys: the rows were consistent when they were read.
                deletions = (f"DELETE FROM {table}" for table, _ in changed)
                connection.execute("; ".join(("SET LOCAL session_replication_role = replica", *deletions)))
            for table, transaction in changed:
                if rows := content.rows[table]:
                    with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                        copy.write(rows)
                self._restored_by[name][table] = transaction
            connection.execute(content.sequences_set, prepare=True)
        return True

    def _connect_alone(self, name: str) -> AnyConnection:
        """Close all other connections to a database and return ours, which is reused because opening one is slow."""
        with suppress(KeyError, OperationalError):
            self._connections[name].execute(_DISCONNECT, prepare=True)
            return self._connections[name]
        self._connections[name] = self._server.connect(name)
        self._connections[name].execute(_DISCONNECT)
        return self._connections[name]


def _copy_out(connection: AnyConnection, table: str) -> bytes:
    with connection.cursor().copy(f"COPY {table} TO STDOUT") as copy:
        return b"".join(bytes(part) for part in copy)
