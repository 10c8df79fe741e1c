"""What ends a copy to PostgreSQL half-way, or happens to the store meanwhile: it is copied as it was, or not at all."""

import json
from pathlib import Path

import pytest
from cluster.postgres import PostgresServer

from cloudconsole.operator.errors import OperatorError
from cloudconsole.store.base import DATABASE_NAMES, StoreError
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.import_sqlite import SqliteImport, Step, bulk_loading
from cloudconsole.store.sqlite.backup import consistent_snapshot
from tests.scale.copies import NO_TABLES, change, copy, in_database, in_folder, made_of
from tests.server.commands.conftest import Run


def interrupt(step: Step) -> None:
    if step.doing == "comparing resources":
        raise KeyboardInterrupt


def test_an_interruption_leaves_a_database_without_tables_as_it_was(
    data: Path, postgres: PostgresServer, database: str
) -> None:
    with pytest.raises(KeyboardInterrupt):
        copy(data, postgres.address(database), interrupt)
    assert made_of(postgres, database) == NO_TABLES


def test_an_interruption_leaves_empty_tables_as_they_were(data: Path, postgres: PostgresServer, migrated: str) -> None:
    before, address = made_of(postgres, migrated), postgres.address(migrated)
    with pytest.raises(KeyboardInterrupt):
        copy(data, address, interrupt)
    assert made_of(postgres, migrated) == before
    assert not any(in_database(address).values())
    copy(data, address)


def test_a_store_that_is_written_to_meanwhile_is_not_copied(
    data: Path, address: str, postgres: PostgresServer, database: str
) -> None:
    def write(step: Step) -> None:
        if step.doing == "copying nodes":
            change(data, "activity", "UPDATE sessions SET seen_at = seen_at + 60")

    with pytest.raises(OperatorError, match="written to during the copy; nothing was copied: stop cloudconsole serve"):
        copy(data, address, write)
    assert made_of(postgres, database) == NO_TABLES


def test_a_store_that_is_served_is_copied_as_of_one_moment_where_that_is_asked_for(data: Path, address: str) -> None:
    before = in_folder(data)

    def write(step: Step) -> None:
        if step.doing == "copying flavors":
            change(data, "cloud", "UPDATE tenants SET name = 'later' WHERE id = 1")
            change(data, "activity", "DELETE FROM sessions")

    assert copy(data, address, write, while_served=True)
    found = in_database(address)
    assert (found["tenants"], found["sessions"]) == (before["tenants"], before["sessions"])


def test_it_is_told_that_later_changes_are_not_in_the_copy(
    cloudconsole: Run, data: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare = SqliteImport.compare

    def compare_late(copying: SqliteImport) -> None:
        change(data, "cloud", "UPDATE nodes SET disabled = TRUE")
        compare(copying)

    monkeypatch.setattr(SqliteImport, "compare", compare_late)
    done = cloudconsole("admin", "copy-to", address, "--data", data, "--while-served", "--json")
    assert done.code == 0
    assert "later changes are not in the copy\n" in done.err
    assert json.loads(done.out)["written_since"] is True


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE tenants SET name = 'another' WHERE id = 1",
        "UPDATE tenants SET project = NULL",
        "UPDATE secrets SET value = 'x'",
        "DELETE FROM resources WHERE id = (SELECT MAX(id) FROM resources)",
        "INSERT INTO nodes (name) VALUES ('more')",
    ],
)
def test_a_copy_that_is_not_equal_is_found_out(data: Path, postgres: PostgresServer, migrated: str, harm: str) -> None:
    with bulk_loading(Dsn(postgres.address(migrated))) as target, consistent_snapshot(data, DATABASE_NAMES) as source:
        copying = SqliteImport(source, target, lambda step: None)
        copying.copy()
        copying.compare()
        target.exec_driver_sql(harm)
        with pytest.raises(StoreError, match="the store; nothing was copied"):
            copying.compare()
