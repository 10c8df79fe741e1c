"""The PostgreSQL to measure on and its databases: made once, in a folder that is kept. What is written to is a copy."""

import os
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC
from pathlib import Path
from typing import Final

from msgspec import Struct
from sqlalchemy import insert, select

from bench import data
from bench.client import Caller
from bench.data import FIRST_NUMBER, Plan, caller_of, lines_of, name_of, session_of
from bench.scale.filling import fill
from cloudconsole.operator.cloud_file import load
from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.server.http.csrf import CsrfTokens
from cloudconsole.store.activity import Activity
from cloudconsole.store.postgres.dsn import DatabaseAddress
from cloudconsole.store.postgres.store import PostgresStore
from cloudconsole.store.tables import accounts, sessions
from cluster.postgres import PostgresServer

TENANTS: Final = int(os.environ.get("BENCH_TENANTS") or 1_000_000)
CALLERS: Final = min(50_000, TENANTS // 4)
"""More than a worker remembers: so that who calls next is never among them, however large the database is."""

SMALL: Final = Plan(tenants=CALLERS, resources_each=10, has_domains=True)
LARGE: Final = Plan(tenants=TENANTS, resources_each=10, has_domains=True)

SETTINGS: Final[dict[str, str | int]] = {
    "shared_buffers": "2GB",
    "maintenance_work_mem": "512MB",
    "work_mem": "64MB",
    "max_wal_size": "8GB",
    "shared_preload_libraries": "pg_stat_statements",
}


class Database(Struct, frozen=True):
    """One of its databases, as the console and its callers see it."""

    server: PostgresServer
    name: str
    plan: Plan

    @property
    def address(self) -> str:
        return self.server.address(self.name)

    @property
    def store(self) -> PostgresStore:
        return PostgresStore(DatabaseAddress(self.address))

    def demo(self) -> Caller:
        return caller_of("demo", self._tokens())

    def fresh_token(self) -> str:
        return self._tokens().new()

    def callers(self) -> Iterator[tuple[Caller, int]]:
        """Of some tenants, evenly spread over all; each with the number that only its answer holds."""
        tokens = self._tokens()
        for index in self._indices():
            yield caller_of(name_of(index), tokens), FIRST_NUMBER + index

    def callers_file(self) -> Path:
        file = data.FOLDER / f"{self.name}-callers"
        file.write_text(lines_of(self.callers()))
        return file

    def refresh_sessions(self, seconds_ago: int = 0) -> None:
        """As if the callers' sessions had been in use just now, or then: old ones must be noted, one write a call."""
        known = select(accounts.c.id).where(accounts.c.username.in_(("demo", name_of(0)))).order_by(accounts.c.id)
        with self.store.opened("activity") as engine, engine.connect() as connection:
            demo, first = connection.scalars(known)
        # Looked up by the index, however many there are: what is not measured must not take long.
        ids = [demo, *(first + index for index in self._indices())]
        used_at = int(time.time()) - seconds_ago
        with self.server.connect(self.name) as superuser:
            superuser.execute("UPDATE sessions SET seen_at = %s WHERE account_id = ANY(%s)", (used_at, ids))

    def _indices(self) -> range:
        return range(0, self.plan.tenants, max(1, self.plan.tenants // CALLERS))

    def _tokens(self) -> CsrfTokens:
        with self.store.opened("activity") as engine:
            return CsrfTokens(Activity(engine).secret("csrf", fresh=secrets.token_bytes(32)))


@contextmanager
def postgres() -> Iterator[PostgresServer]:
    """Ended in good order, so that the next start has nothing to recover. Its processes are where we are."""
    data.FOLDER.mkdir(parents=True, exist_ok=True)
    with PostgresServer(data.FOLDER / "postgres", settings=SETTINGS) as server:
        server.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        yield server
        server.stop()


def database(server: PostgresServer, plan: Plan) -> Database:
    """The database of this plan, made if it is not there; its tables as they are today, its sessions fresh."""
    name = plan.name
    if not server.execute(f"SELECT 1 FROM pg_database WHERE datname = '{name}'"):
        unfinished = f"unfinished-{name}"
        server.drop_database(unfinished)
        server.create_database(unfinished)
        make(Database(server, unfinished, plan))
        server.execute(f'ALTER DATABASE "{unfinished}" RENAME TO "{name}"')
    found = Database(server, name, plan)
    found.store.migrate()
    found.refresh_sessions()
    return found


@contextmanager
def copy_of(original: Database) -> Iterator[Database]:
    """A database to write to, thrown away afterwards; nobody may be connected to the original meanwhile."""
    server, name = original.server, f"copy-{original.name}"
    server.drop_database(name)
    server.create_database(name, template=original.name)
    copy = Database(server, name, original.plan)
    copy.refresh_sessions()
    try:
        yield copy
    finally:
        server.drop_database(name)


@contextmanager
def empty_folder() -> Iterator[Path]:
    """For what a console on PostgreSQL keeps in files."""
    with tempfile.TemporaryDirectory(prefix="bench-data-") as folder:
        yield Path(folder)


def make(new: Database) -> None:
    """Its tables, the sample, and what its plan adds."""
    new.store.migrate()
    with new.store.opened("cloud") as engine:
        load(engine, SAMPLE_FILE, zone=UTC, now=int(time.time()), actor="bench")
    fill(new.server, new.name, new.plan)
    with new.store.opened("activity") as engine, engine.begin() as connection:
        demo = connection.execute(select(accounts).where(accounts.c.username == "demo")).one()
        connection.execute(insert(sessions).values(session_of("demo", demo.id, demo.version)))
