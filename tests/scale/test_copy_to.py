"""`cloudconsole admin copy-to`: the copy on PostgreSQL equals the embedded store, or there is none."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from shutil import copytree

import psycopg
import pytest
from cluster.postgres import PostgresServer

from cloudconsole.operator.errors import OperatorError
from cloudconsole.store.base import DATABASE_NAMES, StoreError
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.import_sqlite import SqliteImport, Step, bulk_loading
from cloudconsole.store.postgres.store import MIGRATION_LOCK
from cloudconsole.store.sqlite.backup import consistent_snapshot
from cloudconsole.store.sqlite.store import is_served
from tests.conftest import SAMPLE_TIME
from tests.e2e.processes import command
from tests.harness import running_server
from tests.newer_version import CURRENT_REVISION, make_newer
from tests.older_stores import make_older
from tests.scale.copies import NO_TABLES, copy, execute_sql, fill_every_table, postgres_rows, schema_of, sqlite_rows
from tests.server.commands.conftest import Run


@pytest.fixture
def data(fast_hash_store: Path, tmp_path: Path) -> Path:
    """A store with rows in every table."""
    return fill_every_table(copytree(fast_hash_store, tmp_path / "data"))


@pytest.fixture
def address(postgres: PostgresServer, database: str) -> str:
    """The DSN of an empty database."""
    return postgres.address(database)


@pytest.fixture
def migrated(postgres: PostgresServer, migrated_template: str) -> str:
    """The DSN of a database with empty tables."""
    return postgres.address(migrated_template)


@pytest.fixture
def copy_to(cloudconsole: Run, data: Path) -> Run:
    """The command for the store."""
    return partial(cloudconsole, "admin", "copy-to", "--data", data)


def test_every_row_of_every_table_is_copied(data: Path, address: str) -> None:
    before = sqlite_rows(data)
    assert all(before.values())
    copy(data, address)
    copied = postgres_rows(address)
    entry = copied["operator_audit"].pop()
    assert entry[1:5] == (int(SAMPLE_TIME), "tester", "copy-to", str(data))
    assert copied == before == sqlite_rows(data)


def test_schema_equals_a_migrated_one(data: Path, address: str, migrated: str) -> None:
    copy(data, address)
    assert schema_of(address) == schema_of(migrated)


def test_copy_fills_empty_tables_and_invalidates_caches_of_running_servers(data: Path, migrated: str) -> None:
    with psycopg.connect(migrated, autocommit=True) as connection:
        before = connection.execute("SELECT number FROM shared_changes").fetchall()
        copy(data, migrated)
        assert connection.execute("SELECT number FROM shared_changes").fetchall() != before
        assert connection.execute("SELECT COUNT(*) FROM signals").fetchall() == [(0,)]
    assert postgres_rows(migrated)["tenants"] == sqlite_rows(data)["tenants"]


def test_new_ids_continue_after_the_copied_ones(cloudconsole: Run, data: Path, address: str) -> None:
    execute_sql(data, "cloud", "INSERT INTO nodes (id, name) VALUES (700, 'far')")
    copy(data, address)
    assert cloudconsole("admin", "node", "add", "next", "--database", address).code == 0
    assert (701, "next", False) in postgres_rows(address)["nodes"]


def test_copy_is_reported_and_audited_in_both_stores(
    cloudconsole: Run, copy_to: Run, data: Path, postgres: PostgresServer, database: str
) -> None:
    password, address = data / "password", postgres.address(database, password=False)
    password.write_text(f"{postgres.password}\n")
    done = copy_to(address, "--password-file", password)
    assert (done.code, done.err) == (0, "")
    assert "\nresources: 29\n" in done.out
    assert f" to the database {database} on 127.0.0.1 and compared row by row\n" in done.out
    for flags in (["--data", data], ["--database", address, "--database-password-file", password]):
        entries = json.loads(cloudconsole("admin", "audit", "--json", *flags).out)
        assert [entry["change"] for entry in entries].count("copy-to") == 1


def test_copy_is_reported_as_json(copy_to: Run, data: Path, address: str, database: str) -> None:
    report = json.loads(copy_to(address, "--json").out)
    assert report["store"] == f"the database {database} on 127.0.0.1"
    assert report["rows"] == {name: len(rows) for name, rows in sqlite_rows(data).items()} | {"operator_audit": 1}
    assert report["written_since"] is False


# Interruptions and concurrent writes


def interrupt(step: Step) -> None:
    if step.doing == "comparing resources":
        raise KeyboardInterrupt


@pytest.mark.parametrize("target", ["address", "migrated"])
def test_interruption_leaves_the_database_unchanged(request: pytest.FixtureRequest, data: Path, target: str) -> None:
    address = request.getfixturevalue(target)
    before = schema_of(address)
    with pytest.raises(KeyboardInterrupt):
        copy(data, address, interrupt)
    assert schema_of(address) == before
    # This is rejected unless all tables are empty.
    copy(data, address)


def test_write_during_the_copy_aborts_it(data: Path, address: str) -> None:
    def write(step: Step) -> None:
        if step.doing == "copying nodes":
            execute_sql(data, "activity", "UPDATE sessions SET seen_at = seen_at + 60")

    with pytest.raises(OperatorError, match="written to during the copy; nothing was copied: stop cloudconsole serve"):
        copy(data, address, write)
    assert schema_of(address) == NO_TABLES


def test_while_served_copies_a_consistent_snapshot_and_reports_later_changes(
    copy_to: Run, data: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, copy_rows = sqlite_rows(data), SqliteImport.copy

    def write_and_copy(importer: SqliteImport) -> None:
        execute_sql(data, "cloud", "UPDATE tenants SET name = 'later' WHERE id = 1")
        execute_sql(data, "activity", "DELETE FROM sessions")
        copy_rows(importer)

    monkeypatch.setattr(SqliteImport, "copy", write_and_copy)
    done = copy_to(address, "--while-served", "--json")
    assert (done.code, json.loads(done.out)["written_since"]) == (0, True)
    assert "later changes are not in the copy\n" in done.err
    copied = postgres_rows(address)
    assert (copied["tenants"], copied["sessions"]) == (before["tenants"], before["sessions"])


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
def test_comparison_detects_every_difference(data: Path, migrated: str, damage: str) -> None:
    with bulk_loading(Dsn(migrated)) as target, consistent_snapshot(data, DATABASE_NAMES) as source:
        importer = SqliteImport(source, target, lambda step: None)
        importer.copy()
        importer.compare()
        target.exec_driver_sql(damage)
        with pytest.raises(StoreError, match="the store; nothing was copied"):
            importer.compare()


# Rejected stores and databases

INCOMPATIBLE = {
    "UPDATE nodes SET name = 'a' || char(0) || 'b' WHERE id = 1": "nodes 1: name is not text, or contains a NUL",
    "UPDATE usage SET cores = cores + 1": "run cloudconsole admin recount --data",
    "UPDATE accounts SET tenant_id = 999 WHERE id = 1": 'violates foreign key constraint "fk_accounts_tenant_id"',
}


@pytest.mark.parametrize(("statement", "message"), INCOMPATIBLE.items())
def test_incompatible_value_is_rejected_with_its_location(
    copy_to: Run, data: Path, address: str, statement: str, message: str
) -> None:
    execute_sql(data, "cloud", statement)
    done = copy_to(address)
    assert (done.code, message in done.err, "nothing was copied" in done.err) == (1, True, True)
    assert schema_of(address) == NO_TABLES


OCCUPIED = {
    "INSERT INTO nodes (name) VALUES ('there')": "is not empty: there are rows in nodes; use an empty database",
    "INSERT INTO secrets VALUES ('csrf', 'x')": "is not empty: there are rows in secrets; use an empty database",
    "UPDATE alembic_version SET version_num = '0007'": "has older tables: run cloudconsole admin migrate",
    "UPDATE alembic_version SET version_num = '9999'": "created by a newer Cloud Console (revision 9999): install that",
    "DELETE FROM alembic_version": "has other tables; use an empty database",
    "ALTER TABLE nodes OWNER TO postgres": "must be owner of table nodes",
}


@pytest.mark.parametrize(("statement", "message"), OCCUPIED.items())
def test_occupied_database_is_rejected_and_left_unchanged(
    copy_to: Run, postgres: PostgresServer, migrated_template: str, migrated: str, statement: str, message: str
) -> None:
    postgres.execute(statement, migrated_template)
    before = schema_of(migrated)
    done = copy_to(migrated)
    assert (done.code, done.out, message in done.err) == (1, "", True)
    assert schema_of(migrated) == before
    assert postgres.execute("SELECT COUNT(*) FROM tenants", migrated_template) == [(0,)]


@pytest.mark.parametrize("dsn", ["mysql://console@127.0.0.1/x", "postgresql://127.0.0.1/x?nonsense=1"])
def test_invalid_dsn_is_rejected(capsys: pytest.CaptureFixture[str], copy_to: Run, dsn: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        copy_to(dsn)
    assert "ADDRESS: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("target", "flags", "message"),
    [
        ("{address}?password=quite-wrong", [], "password authentication failed"),
        ("postgresql://console@127.0.0.1:1/x", [], "the database x on 127.0.0.1 cannot be used"),
        ("postgresql://127.0.0.1/x", ["--password-file", "none"], "none cannot be read: No such file"),
    ],
)
def test_failed_connection_is_reported_without_the_password(
    copy_to: Run, address: str, target: str, flags: list[str], message: str
) -> None:
    done = copy_to(target.format(address=address), *flags)
    assert (done.code, done.out, message in done.err, "quite-wrong" in done.err) == (1, "", True, False)


def test_missing_store_is_rejected(cloudconsole: Run, address: str, tmp_path: Path) -> None:
    done = cloudconsole("admin", "copy-to", address, "--data", tmp_path / "none")
    assert done.err.endswith(f"cloudconsole: no store in {tmp_path / 'none'}: pass its directory with --data\n")
    assert list(tmp_path.iterdir()) == []


def test_served_store_is_rejected_without_while_served(address: str, tmp_path: Path) -> None:
    with running_server(tmp_path):
        arguments = ("admin", "copy-to", address, "--data", str(tmp_path / "data"))
        rejected = command(*arguments)
        assert (rejected.returncode, "is being served; nothing was copied" in rejected.stderr) == (1, True)
        assert schema_of(address) == NO_TABLES
        assert command(*arguments, "--while-served").returncode == 0
    assert not is_served(tmp_path / "data")


UNSUITABLE: dict[str, Callable[[Path], object]] = {
    "was created by an older Cloud Console": make_older,
    # Even if it can be served.
    "created by a newer Cloud Console": partial(make_newer, oldest_compatible=CURRENT_REVISION),
    "is a test store": lambda data: execute_sql(data, "activity", "INSERT INTO secrets VALUES ('test-store', x'')"),
}


@pytest.mark.parametrize(("message", "prepare"), UNSUITABLE.items())
def test_store_of_another_version_or_of_test_mode_is_rejected(
    data: Path, address: str, message: str, prepare: Callable[[Path], object]
) -> None:
    prepare(data)
    with pytest.raises(StoreError, match=message):
        copy(data, address)
    assert schema_of(address) == NO_TABLES


def test_concurrent_migration_aborts_the_copy(data: Path, address: str) -> None:
    with psycopg.connect(address) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [MIGRATION_LOCK])
        with pytest.raises(StoreError, match="another process is migrating"):
            copy(data, address)
