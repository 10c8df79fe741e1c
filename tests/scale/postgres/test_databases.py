"""The test databases: after any change by one test, the next test finds the template's content."""

from contextlib import closing

import pytest
from cluster.postgres import PostgresServer

from tests.databases import Databases

TEMPLATE = "CREATE TABLE kept (id serial PRIMARY KEY, word text); CREATE TABLE empty (id serial PRIMARY KEY)"
ROWS = [(1, "a\r\n\\b"), (2, None), (3, "c")]


@pytest.fixture(scope="module")
def template(postgres: PostgresServer) -> str:
    postgres.create_database("template_of_tests")
    with postgres.connect("template_of_tests") as connection:
        connection.execute(TEMPLATE)
        connection.cursor().executemany("INSERT INTO kept (word) VALUES (%s)", [(word,) for _, word in ROWS])
    return "template_of_tests"


def columns(postgres: PostgresServer, name: str) -> set[tuple[str, ...]]:
    selected = "column_name, data_type, column_default FROM information_schema.columns WHERE table_schema = 'public'"
    return set(postgres.execute(f"SELECT {selected}", name))


def assert_like_template(postgres: PostgresServer, name: str) -> None:
    assert postgres.execute("SELECT id, word FROM kept ORDER BY id", name) == ROWS
    assert postgres.execute("SELECT id FROM empty", name) == []
    assert postgres.execute("SELECT nextval('kept_id_seq'), nextval('empty_id_seq')", name) == [(4, 1)]


@pytest.mark.parametrize(
    "change",
    [
        "SELECT 1",
        "INSERT INTO empty DEFAULT VALUES",
        "INSERT INTO kept (word) VALUES ('d')",
        "UPDATE kept SET word = 'd' WHERE id = 1",
        "UPDATE kept SET word = word",
        "DELETE FROM kept WHERE id = 3",
        "DELETE FROM kept WHERE id = 3; INSERT INTO kept VALUES (3, 'd')",
        "TRUNCATE kept",
        "SELECT setval('kept_id_seq', 100)",
        "DROP TABLE empty",
        "ALTER TABLE kept ADD more integer",
        "ALTER TABLE kept ALTER word TYPE varchar(100)",
        "ALTER TABLE kept ALTER word SET DEFAULT 'd'",
        "ALTER TABLE kept ADD CHECK (id < 100)",
        "CREATE INDEX more ON kept (word)",
    ],
)
def test_changed_database_is_restored_to_the_template(
    postgres: PostgresServer, databases: Databases, template: str, change: str
) -> None:
    name = databases.acquire(template)
    for _ in range(2):
        postgres.execute(change, name)
        databases.release(name)
        name = databases.acquire(template)
        assert_like_template(postgres, name)
        assert columns(postgres, name) == columns(postgres, template)


def test_disconnected_database_is_reused(postgres: PostgresServer, databases: Databases, template: str) -> None:
    name = databases.acquire(template)
    for _ in range(2):
        postgres.execute("DELETE FROM kept", name)
        postgres.execute(
            "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity"
            f" WHERE datname = '{name}' AND pid <> pg_backend_pid()"
        )
        databases.release(name)
        assert databases.acquire(template) == name
        assert_like_template(postgres, name)


def test_remaining_connections_are_closed(postgres: PostgresServer, databases: Databases, template: str) -> None:
    name = databases.acquire(template)
    with closing(postgres.connect(name)) as connection:
        connection.execute("BEGIN; DELETE FROM kept")
        databases.release(name)
        assert databases.acquire(template) == name
        assert_like_template(postgres, name)


def test_used_database_can_become_a_template(postgres: PostgresServer, databases: Databases, template: str) -> None:
    databases.release(databases.acquire(template))
    used = databases.acquire(template)
    postgres.execute("UPDATE kept SET word = 'd'", used)
    name = databases.acquire(used)
    assert name != used
    assert postgres.execute("SELECT DISTINCT word FROM kept", name) == [("d",)]
