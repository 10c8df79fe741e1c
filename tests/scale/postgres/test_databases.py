"""The tests' own databases: whatever one test has done to one, the next finds what is in the template."""

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
    wanted = "column_name, data_type, column_default FROM information_schema.columns WHERE table_schema = 'public'"
    return set(postgres.execute(f"SELECT {wanted}", name))


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
def test_one_that_was_changed_is_what_the_template_is(
    postgres: PostgresServer, databases: Databases, template: str, change: str
) -> None:
    made = databases.take(template)
    for _ in range(2):
        postgres.execute(change, made)
        databases.give_back(made)
        made = databases.take(template)
        assert_like_template(postgres, made)
        assert columns(postgres, made) == columns(postgres, template)


def test_one_from_which_all_were_disconnected_is_used_again(
    postgres: PostgresServer, databases: Databases, template: str
) -> None:
    made = databases.take(template)
    for _ in range(2):
        postgres.execute("DELETE FROM kept", made)
        postgres.execute(
            "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity"
            f" WHERE datname = '{made}' AND pid <> pg_backend_pid()"
        )
        databases.give_back(made)
        assert databases.take(template) == made
        assert_like_template(postgres, made)


def test_whoever_is_still_connected_is_disconnected(
    postgres: PostgresServer, databases: Databases, template: str
) -> None:
    made = databases.take(template)
    with closing(postgres.connect(made)) as left:
        left.execute("BEGIN; DELETE FROM kept")
        databases.give_back(made)
        assert databases.take(template) == made
        assert_like_template(postgres, made)


def test_a_used_one_can_become_a_template(postgres: PostgresServer, databases: Databases, template: str) -> None:
    databases.give_back(databases.take(template))
    used = databases.take(template)
    postgres.execute("UPDATE kept SET word = 'd'", used)
    made = databases.take(used)
    assert made != used
    assert postgres.execute("SELECT DISTINCT word FROM kept", made) == [("d",)]
