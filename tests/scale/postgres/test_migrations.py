"""Migrations on PostgreSQL, and rejection of tables of other versions."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from cluster.postgres import PostgresServer

from cloudconsole.store.base import DATABASE_NAMES, StoreError
from cloudconsole.store.migrations import current_revision, known_revisions, migrate
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from tests.fork_server import run_forked
from tests.harness import clean_environment
from tests.scale.postgres.manual_lease import execute

OLDER = "0007"


@pytest.fixture
def store(postgres: PostgresServer, database: str) -> PostgresStore:
    """A store in an empty database."""
    return PostgresStore(Dsn(postgres.address(database)))


def revision(store: PostgresStore) -> str | None:
    with store.opened("cloud") as engine:
        return current_revision(engine)


def test_empty_database_needs_a_migration(store: PostgresStore) -> None:
    assert not store.exists()
    with pytest.raises(StoreError, match=r"has no tables .* run cloudconsole admin migrate$"):
        store.prepare()
    store.migrate()
    assert store.exists()
    store.prepare()


def test_concurrent_migrations_succeed(store: PostgresStore) -> None:
    environment = clean_environment(CLOUDCONSOLE_DATABASE=store.address.given)
    with ThreadPoolExecutor(4) as threads:
        done = list(threads.map(lambda _: run_forked(["admin", "migrate"], environment), range(4)))
    assert [(each.returncode, each.stderr) for each in done] == [(0, "")] * 4
    assert revision(store) == known_revisions()[0]


def test_older_tables_are_rejected_until_migrated(store: PostgresStore) -> None:
    with store.opened("cloud") as engine:
        migrate(engine, set(DATABASE_NAMES), OLDER)
    with pytest.raises(StoreError, match="of this Cloud Console version: take a backup"):
        store.require_current("cloud")
    store.migrate()
    assert revision(store) == known_revisions()[0]


def test_newer_tables_are_rejected_and_left_unchanged(store: PostgresStore) -> None:
    store.migrate()
    execute(store.address, "UPDATE alembic_version SET version_num = '9999'")
    for operation in (store.migrate, store.prepare):
        with pytest.raises(StoreError, match=r"created by a newer Cloud Console \(revision 9999\)"):
            operation()
    assert revision(store) == "9999"


def test_missing_create_privilege_is_reported(store: PostgresStore, postgres: PostgresServer, database: str) -> None:
    postgres.execute(f"ALTER DATABASE {database} OWNER TO postgres")
    postgres.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC", database)
    with pytest.raises(StoreError, match=f"^the database {database} on 127.0.0.1 cannot be used: .*permission denied"):
        store.migrate()


def test_missing_database_is_reported(postgres: PostgresServer) -> None:
    store = PostgresStore(Dsn(postgres.address("none")))
    for operation in (store.exists, store.migrate, store.prepare):
        with pytest.raises(StoreError, match=r'cannot be used: .*database "none" does not exist'):
            operation()


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_unsuitable_encoding_is_rejected(encoding: str, postgres: PostgresServer) -> None:
    name = f"in_{encoding.lower()}"
    postgres.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'")
    try:
        with pytest.raises(StoreError, match=f"the encoding {encoding}, which cannot store every name: create it with"):
            PostgresStore(Dsn(postgres.address(name))).migrate()
    finally:
        postgres.drop_database(name)
