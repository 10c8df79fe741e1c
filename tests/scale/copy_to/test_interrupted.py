"""Interruptions of a copy to PostgreSQL, and writes during it: the copy is consistent, or there is none."""

import json
from pathlib import Path

import pytest
from cluster.postgres import PostgresServer

from cloudconsole.operator.errors import OperatorError
from cloudconsole.store.base import DATABASE_NAMES, StoreError
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.import_sqlite import SqliteImport, Step, bulk_loading
from cloudconsole.store.sqlite.backup import consistent_snapshot
from tests.scale.copies import NO_TABLES, copy, execute_sql, postgres_rows, schema_of, sqlite_rows
from tests.server.commands.conftest import Run


def interrupt(step: Step) -> None:
    if step.doing == "comparing resources":
        raise KeyboardInterrupt


def test_interruption_leaves_an_empty_database_unchanged(data: Path, postgres: PostgresServer, database: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        copy(data, postgres.address(database), interrupt)
    assert schema_of(postgres, database) == NO_TABLES


def test_interruption_leaves_empty_tables_unchanged(data: Path, postgres: PostgresServer, migrated: str) -> None:
    before, address = schema_of(postgres, migrated), postgres.address(migrated)
    with pytest.raises(KeyboardInterrupt):
        copy(data, address, interrupt)
    assert schema_of(postgres, migrated) == before
    assert not any(postgres_rows(address).values())
    copy(data, address)


def test_write_during_the_copy_aborts_it(data: Path, address: str, postgres: PostgresServer, database: str) -> None:
    def write(step: Step) -> None:
        if step.doing == "copying nodes":
            execute_sql(data, "activity", "UPDATE sessions SET seen_at = seen_at + 60")

    with pytest.raises(OperatorError, match="written to during the copy; nothing was copied: stop cloudconsole serve"):
        copy(data, address, write)
    assert schema_of(postgres, database) == NO_TABLES


def test_while_served_copies_a_consistent_snapshot(data: Path, address: str) -> None:
    before = sqlite_rows(data)

    def write(step: Step) -> None:
        if step.doing == "copying flavors":
            execute_sql(data, "cloud", "UPDATE tenants SET name = 'later' WHERE id = 1")
            execute_sql(data, "activity", "DELETE FROM sessions")

    assert copy(data, address, write, while_served=True)
    copied = postgres_rows(address)
    assert (copied["tenants"], copied["sessions"]) == (before["tenants"], before["sessions"])


def test_missing_later_changes_are_reported(
    cloudconsole: Run, data: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare = SqliteImport.compare

    def write_and_compare(importer: SqliteImport) -> None:
        execute_sql(data, "cloud", "UPDATE nodes SET disabled = TRUE")
        compare(importer)

    monkeypatch.setattr(SqliteImport, "compare", write_and_compare)
    done = cloudconsole("admin", "copy-to", address, "--data", data, "--while-served", "--json")
    assert done.code == 0
    assert "later changes are not in the copy\n" in done.err
    assert json.loads(done.out)["written_since"] is True


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE tenants SET name = 'another' WHERE id = 1",
        "UPDATE tenants SET project = NULL",
        "UPDATE secrets SET value = 'x'",
        "DELETE FROM resources WHERE id = (SELECT MAX(id) FROM resources)",
        "INSERT INTO nodes (name) VALUES ('more')",
    ],
)
def test_comparison_detects_every_difference(data: Path, postgres: PostgresServer, migrated: str, damage: str) -> None:
    with bulk_loading(Dsn(postgres.address(migrated))) as target, consistent_snapshot(data, DATABASE_NAMES) as source:
        importer = SqliteImport(source, target, lambda step: None)
        importer.copy()
        importer.compare()
        target.exec_driver_sql(damage)
        with pytest.raises(StoreError, match="the store; nothing was copied"):
            importer.compare()
