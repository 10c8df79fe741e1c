"""Forgetting on PostgreSQL what nothing needs any more, as in the embedded store."""

import psycopg
import pytest
from cluster.postgres import PostgresServer

from cloudconsole.operator.keeping.pruning import count, prune, rules
from cloudconsole.store import tables
from cloudconsole.store.postgres.address import DatabaseAddress
from cloudconsole.store.postgres.store import PostgresStore
from cloudconsole.store.store import Store
from tests.operator.desks import NOW
from tests.operator.test_pruning import IDLE, NOTHING_MORE, keys, pruned, put, session


@pytest.fixture
def store(postgres: PostgresServer, database: str) -> Store:
    made = PostgresStore(DatabaseAddress(postgres.address(database)))
    made.migrate()
    return made


def test_what_someone_else_holds_is_not_waited_for(store: Store, postgres: PostgresServer, database: str) -> None:
    put(store, tables.sessions, *(session(name, seen_at=1, expires_at=1) for name in (b"held", b"free")))
    chosen = rules(NOTHING_MORE, now=NOW, session_idle=IDLE)
    assert count(store, chosen)["sessions"] == 2
    with psycopg.connect(postgres.address(database)) as other:
        other.execute("SELECT 1 FROM sessions WHERE id_hash = 'held' FOR UPDATE")
        assert prune(store, chosen, actor="tester", now=NOW)["sessions"] == 1
    assert keys(store, tables.sessions) == [b"held"]
    assert pruned(store, now=NOW) == {"sessions": 1}
