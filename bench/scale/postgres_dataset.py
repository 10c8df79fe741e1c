"""The PostgreSQL server of the benchmark and its datasets, created once and cached. Writers use a temporary copy."""

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

from bench import datasets
from bench.datasets import FIRST_TENANT_NUMBER, DatasetSpec, cookies_for, cookies_text, session_row, tenant_name
from bench.raw_http import SessionCookies
from bench.scale.bulk_insert import insert_tenants
from cloudconsole.operator.cloud_file import load
from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.server.http.csrf import CsrfTokens
from cloudconsole.store.activity_writes import ActivityStore
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from cloudconsole.store.tables import accounts, sessions
from cluster.postgres import PostgresServer

TENANTS: Final = int(os.environ.get("BENCH_TENANTS") or 1_000_000)
SAMPLED_TENANTS: Final = min(50_000, TENANTS // 4)
"""More than a worker caches, so that cycling through them always misses, at any database size."""

SMALL: Final = DatasetSpec(tenants=SAMPLED_TENANTS, resources_per_tenant=10, has_domains=True)
LARGE: Final = DatasetSpec(tenants=TENANTS, resources_per_tenant=10, has_domains=True)

SETTINGS: Final[dict[str, str | int]] = {
    "shared_buffers": "2GB",
    "maintenance_work_mem": "512MB",
    "work_mem": "64MB",
    "max_wal_size": "8GB",
    "shared_preload_libraries": "pg_stat_statements",
}


class PostgresDataset(Struct, frozen=True):
    """A database with its tenants."""

    server: PostgresServer
    name: str
    spec: DatasetSpec

    @property
    def dsn(self) -> str:
        return self.server.address(self.name)

    @property
    def store(self) -> PostgresStore:
        return PostgresStore(Dsn(self.dsn))

    def demo_cookies(self) -> SessionCookies:
        return cookies_for("demo", self._tokens())

    def new_csrf_token(self) -> str:
        return self._tokens().new()

    def tenant_cookies(self) -> Iterator[tuple[SessionCookies, int]]:
        """Yield the cookies of evenly spread tenants with the number that identifies their responses."""
        tokens = self._tokens()
        for index in self._indices():
            yield cookies_for(tenant_name(index), tokens), FIRST_TENANT_NUMBER + index

    def cookies_file(self) -> Path:
        file = datasets.DIRECTORY / f"{self.name}-cookies"
        file.write_text(cookies_text(self.tenant_cookies()))
        return file

    def touch_sessions(self, seconds_ago: int = 0) -> None:
        """Set when the sampled sessions were last used. If it is old, the next request of a session writes the time."""
        known = select(accounts.c.id).where(accounts.c.username.in_(("demo", tenant_name(0)))).order_by(accounts.c.id)
        with self.store.opened("activity") as engine, engine.connect() as connection:
            demo, first = connection.scalars(known)
        # An index lookup, so that preparation is fast at any database size.
        ids = [demo, *(first + index for index in self._indices())]
        used_at = int(time.time()) - seconds_ago
        with self.server.connect(self.name) as superuser:
            superuser.execute("UPDATE sessions SET seen_at = %s WHERE account_id = ANY(%s)", (used_at, ids))

    def _indices(self) -> range:
        return range(0, self.spec.tenants, max(1, self.spec.tenants // SAMPLED_TENANTS))

    def _tokens(self) -> CsrfTokens:
        with self.store.opened("activity") as engine:
            return CsrfTokens(ActivityStore(engine).secret("csrf", fresh=secrets.token_bytes(32)))


@contextmanager
def run_postgres() -> Iterator[PostgresServer]:
    """Run PostgreSQL on the cores of this process; shut it down cleanly to avoid recovery at the next start."""
    datasets.DIRECTORY.mkdir(parents=True, exist_ok=True)
    with PostgresServer(datasets.DIRECTORY / "postgres", settings=SETTINGS) as server:
        server.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        yield server
        server.stop()


def postgres_dataset(server: PostgresServer, spec: DatasetSpec) -> PostgresDataset:
    """Return the dataset, created or migrated if necessary, with the sampled sessions just used."""
    name = spec.name
    if not server.execute(f"SELECT 1 FROM pg_database WHERE datname = '{name}'"):
        unfinished = f"unfinished-{name}"
        server.drop_database(unfinished)
        server.create_database(unfinished)
        create(PostgresDataset(server, unfinished, spec))
        server.execute(f'ALTER DATABASE "{unfinished}" RENAME TO "{name}"')
    dataset = PostgresDataset(server, name, spec)
    dataset.store.migrate()
    dataset.touch_sessions()
    return dataset


@contextmanager
def temporary_copy(original: PostgresDataset) -> Iterator[PostgresDataset]:
    """Yield a writable copy and drop it afterwards. The original must have no connections."""
    server, name = original.server, f"copy-{original.name}"
    server.drop_database(name)
    server.create_database(name, template=original.name)
    copy = PostgresDataset(server, name, original.spec)
    copy.touch_sessions()
    try:
        yield copy
    finally:
        server.drop_database(name)


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Yield a data directory for a console on PostgreSQL."""
    with tempfile.TemporaryDirectory(prefix="bench-data-") as directory:
        yield Path(directory)


def create(new: PostgresDataset) -> None:
    """Create the tables, load the sample, and add what the spec asks for."""
    new.store.migrate()
    with new.store.opened("cloud") as engine:
        load(engine, SAMPLE_FILE, zone=UTC, now=int(time.time()), actor="bench")
    insert_tenants(new.server, new.name, new.spec)
    with new.store.opened("activity") as engine, engine.begin() as connection:
        demo = connection.execute(select(accounts).where(accounts.c.username == "demo")).one()
        connection.execute(insert(sessions).values(session_row("demo", demo.id, demo.version)))
