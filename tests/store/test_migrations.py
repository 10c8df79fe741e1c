"""Migrations: the result matches the table definitions, also for repeated and concurrent runs."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from stat import S_IMODE

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import CheckConstraint, Engine, MetaData, UniqueConstraint, insert, inspect, text
from sqlalchemy.exc import IntegrityError

from cloudconsole.store.base import DATABASE_NAMES, DatabaseName, StoreError
from cloudconsole.store.migrations import is_compatible, known_revisions, record_compatibility
from cloudconsole.store.sqlite.engine import database_file, open_engine
from cloudconsole.store.sqlite.store import prepare
from cloudconsole.store.tables import ACTIVITY, CLOUD, nodes, prices, tenants

pytestmark = pytest.mark.embedded_only

METADATA: dict[DatabaseName, MetaData] = {"cloud": CLOUD, "activity": ACTIVITY}
SCHEMA_TABLES = {"alembic_version", "schema_revisions"}
"""Tables about the schema itself, in every database."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store") / "data"
    prepare(folder)
    return folder


@pytest.fixture(params=DATABASE_NAMES)
def part(request: pytest.FixtureRequest) -> DatabaseName:
    chosen: DatabaseName = request.param
    return chosen


@pytest.fixture
def engine(folder: Path, part: DatabaseName) -> Iterator[Engine]:
    engine = open_engine(folder, part)
    yield engine
    engine.dispose()


def _normalised(sql: str) -> str:
    return re.sub(r"[\s\"()]+", " ", sql).strip().lower()


def _schema(folder: Path) -> dict[str, list[tuple[str, ...]]]:
    schema: dict[str, list[tuple[str, ...]]] = {}
    for part in DATABASE_NAMES:
        engine = open_engine(folder, part)
        with engine.connect() as connection:
            rows = connection.execute(text("SELECT type, name, sql FROM sqlite_master ORDER BY type, name"))
            schema[part] = [tuple(row) for row in rows]
        engine.dispose()
    return schema


# The schema


def test_nothing_is_left_to_migrate(engine: Engine, part: DatabaseName) -> None:
    with engine.connect() as connection:
        options = {"include_name": lambda name, *_: name not in SCHEMA_TABLES}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), METADATA[part]) == []


def test_each_database_has_only_its_own_tables(engine: Engine, part: DatabaseName) -> None:
    assert set(inspect(engine).get_table_names()) == {*METADATA[part].tables, *SCHEMA_TABLES}


def test_nullable_columns_match_the_metadata(engine: Engine, part: DatabaseName) -> None:
    for table in METADATA[part].tables.values():
        found = {column["name"]: column["nullable"] for column in inspect(engine).get_columns(table.name)}
        assert found == {column.name: bool(column.nullable) for column in table.columns}


def test_primary_keys_match_the_metadata(engine: Engine, part: DatabaseName) -> None:
    for table in METADATA[part].tables.values():
        found = inspect(engine).get_pk_constraint(table.name)
        assert found["constrained_columns"] == [column.name for column in table.primary_key.columns]


def test_check_constraints_match_the_metadata(engine: Engine, part: DatabaseName) -> None:
    for table in METADATA[part].tables.values():
        found = {
            (str(check["name"]), _normalised(check["sqltext"]))
            for check in inspect(engine).get_check_constraints(table.name)
        }
        expected = {
            (f"ck_{table.name}_{str(check.name).removeprefix(f'ck_{table.name}_')}", _normalised(str(check.sqltext)))
            for check in table.constraints
            if isinstance(check, CheckConstraint)
        }
        assert found == expected


def test_foreign_keys_match_the_metadata(engine: Engine, part: DatabaseName) -> None:
    for table in METADATA[part].tables.values():
        found = {
            (*key["constrained_columns"], key["referred_table"], *key["referred_columns"])
            for key in inspect(engine).get_foreign_keys(table.name)
        }
        assert found == {(key.parent.name, key.column.table.name, key.column.name) for key in table.foreign_keys}


def test_unique_constraints_match_the_metadata(engine: Engine, part: DatabaseName) -> None:
    for table in METADATA[part].tables.values():
        found = {tuple(unique["column_names"]) for unique in inspect(engine).get_unique_constraints(table.name)}
        assert found == {
            tuple(column.name for column in unique.columns)
            for unique in table.constraints
            if isinstance(unique, UniqueConstraint)
        }


def test_indexes_match_the_metadata(engine: Engine, part: DatabaseName) -> None:
    for table in METADATA[part].tables.values():
        found = {
            (tuple(index["column_names"]), bool(index["unique"])) for index in inspect(engine).get_indexes(table.name)
        }
        assert found == {
            (tuple(column.name for column in index.columns), bool(index.unique)) for index in table.indexes
        }


@pytest.mark.parametrize("node", [None, 1])
@pytest.mark.parametrize("type_name", [None, "ssd"])
def test_price_is_unique_per_node_and_type(folder: Path, node: int | None, type_name: str | None) -> None:
    keys = [(node, type_name) for node in (None, 1, 2) for type_name in (None, "ssd", "slow")]
    engine = open_engine(folder, "cloud")
    with engine.connect() as connection, connection.begin() as transaction:
        connection.execute(insert(nodes), [{"id": number, "name": f"n{number}"} for number in (1, 2)])
        connection.execute(insert(prices), [_price(*key) for key in keys])
        with pytest.raises(IntegrityError):
            connection.execute(insert(prices), [_price(node, type_name)])
        transaction.rollback()
    engine.dispose()


def _price(node: int | None, type_name: str | None) -> dict[str, int | str | None]:
    return {"kind": "volume", "unit": "gb", "node_id": node, "start": 0, "billionths": 1, "type": type_name}


@pytest.mark.parametrize("part", ["cloud"], indirect=True)
def test_project_belongs_to_at_most_one_tenant(engine: Engine) -> None:
    with engine.connect() as connection, connection.begin() as transaction:
        connection.execute(insert(tenants), [{"name": name, "project": None} for name in ("a", "b")])
        connection.execute(insert(tenants), [{"name": "c", "project": "p@https://id.example.com"}])
        with pytest.raises(IntegrityError):
            connection.execute(insert(tenants), [{"name": "d", "project": "p@https://id.example.com"}])
        transaction.rollback()


def test_foreign_keys_are_enforced(engine: Engine) -> None:
    with engine.connect() as connection:
        assert connection.scalar(text("PRAGMA foreign_keys")) == 1


def test_readers_and_the_writer_do_not_wait_for_each_other(engine: Engine) -> None:
    with engine.connect() as connection:
        assert connection.scalar(text("PRAGMA journal_mode")) == "wal"


def test_committed_data_survives_a_power_cut(engine: Engine) -> None:
    with engine.connect() as connection:
        assert connection.scalar(text("PRAGMA synchronous")) == 2


# Preparation


def test_preparing_again_changes_nothing(tmp_path: Path) -> None:
    prepare(tmp_path / "data")
    before = _schema(tmp_path / "data")
    engine = open_engine(tmp_path / "data", "cloud")
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO tenants (id, name) VALUES (1, 'kept')"))
    prepare(tmp_path / "data")
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT id, name FROM tenants")).all()
    engine.dispose()
    assert _schema(tmp_path / "data") == before
    assert [tuple(row) for row in rows] == [(1, "kept")]


def test_parent_directories_are_created(tmp_path: Path) -> None:
    prepare(tmp_path / "a" / "b" / "data")
    assert all(database_file(tmp_path / "a" / "b" / "data", part).is_file() for part in DATABASE_NAMES)


def test_store_is_private_to_its_owner(tmp_path: Path) -> None:
    prepare(tmp_path / "data")
    assert S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert [S_IMODE(database_file(tmp_path / "data", part).stat().st_mode) for part in DATABASE_NAMES] == [0o600, 0o600]


def test_several_processes_can_prepare_one_directory_at_once(tmp_path: Path, folder: Path) -> None:
    program = "import sys; from pathlib import Path; from cloudconsole.store.sqlite.store import prepare; "
    program += "sys.stdin.read(1); prepare(Path(sys.argv[1]))"
    command = [sys.executable, "-c", program, str(tmp_path / "data")]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("x")
        process.stdin.flush()
    results = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0, 0], results
    assert _schema(tmp_path / "data") == _schema(folder)


# Migration from the first version


def _create_first_version(folder: Path) -> None:
    """Create a store as the first version did."""
    config = Config()
    config.set_main_option("script_location", "cloudconsole.store:migrations")
    folder.mkdir()
    for part in DATABASE_NAMES:
        engine = open_engine(folder, part)
        with engine.begin() as connection:
            config.attributes.update(connection=connection, parts={part})
            command.upgrade(config, "0001")
        engine.dispose()


FIRST_ROWS = (
    "INSERT INTO tenants (id, name) VALUES (7, 'kept')",
    "INSERT INTO accounts VALUES (3, 7, 'ann', 'tenant', 'a hash', 0, 12345)",
    "INSERT INTO nodes (id, name) VALUES (4, 'hk-1')",
    "INSERT INTO prices VALUES (5, 'volume', 'gb', 4, 50, 420000)",
    "INSERT INTO prices VALUES (6, 'volume', 'gb', NULL, 50, 430000)",
    "INSERT INTO flavors VALUES ('1', 'm1.tiny', 1, 512, 1)",
    "INSERT INTO urls VALUES ('url-00000001', 7, 'link', 'https://example.com/')",
    "INSERT INTO news VALUES (1, 5, 'title', 'https://example.com/')",
    "INSERT INTO resources VALUES ('v-1', 7, 'volume', 'data', 4, 0, 0, 0, 9, 100, NULL)",
    "INSERT INTO operator_audit VALUES (2, 77, 'ann', 'load', '{\"nodes\": {\"added\": 1}}')",
)


def test_migration_from_the_first_version_keeps_all_data(tmp_path: Path, folder: Path) -> None:
    _create_first_version(tmp_path / "data")
    engine = open_engine(tmp_path / "data", "cloud")
    with engine.begin() as connection:
        for statement in FIRST_ROWS:
            connection.exec_driver_sql(statement)
    prepare(tmp_path / "data")
    with engine.begin() as connection:
        found = {
            name: [tuple(row) for row in connection.execute(text(f"SELECT * FROM {name}"))]
            for name in (
                "tenants",
                "accounts",
                "nodes",
                "prices",
                "flavors",
                "urls",
                "news",
                "resources",
                "operator_audit",
            )
        }
    engine.dispose()
    assert found == {
        "tenants": [(7, "kept", 0, None, 0)],
        "accounts": [(3, 7, "ann", "tenant", "a hash", 0, 12345)],
        "nodes": [(4, "hk-1", 0)],
        "prices": [(5, "volume", "gb", 4, 50, 420000, None), (6, "volume", "gb", None, 50, 430000, None)],
        "flavors": [("1", "m1.tiny", 1, 512, 1, 0)],
        "urls": [("url-00000001", 7, "link", "https://example.com/", 0)],
        "news": [(1, 5, "title", "https://example.com/", 0)],
        "resources": [("v-1", 7, "volume", "data", 4, 0, 0, 0, 9, 100, None)],
        "operator_audit": [(2, 77, "ann", "load", '{"nodes": {"added": 1}}', None, None)],
    }
    assert _schema(tmp_path / "data") == _schema(folder)


# Unusable stores


def test_store_of_a_newer_version_is_rejected(tmp_path: Path, part: DatabaseName) -> None:
    prepare(tmp_path)
    engine = open_engine(tmp_path, part)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(StoreError, match=r"newer Cloud Console .*9999"):
        prepare(tmp_path)


def test_store_of_a_newer_version_is_not_changed(tmp_path: Path) -> None:
    prepare(tmp_path)
    engine = open_engine(tmp_path, "cloud")
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    before = _schema(tmp_path)
    with pytest.raises(StoreError):
        prepare(tmp_path)
    assert _schema(tmp_path) == before


def _assert_one_line(problem: pytest.ExceptionInfo[StoreError], folder: Path) -> None:
    assert str(folder) in str(problem.value)
    assert "\n" not in str(problem.value)


def test_file_in_place_of_the_directory_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a folder")
    with pytest.raises(StoreError) as problem:
        prepare(tmp_path / "data")
    _assert_one_line(problem, tmp_path / "data")


def test_file_in_place_of_a_parent_directory_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError) as problem:
        prepare(tmp_path / "file" / "data")
    _assert_one_line(problem, tmp_path / "file" / "data")


def test_directory_in_place_of_a_database_is_rejected(tmp_path: Path, part: DatabaseName) -> None:
    database_file(tmp_path, part).mkdir()
    with pytest.raises(StoreError) as problem:
        prepare(tmp_path)
    _assert_one_line(problem, tmp_path)


def test_file_that_is_not_a_database_is_rejected(tmp_path: Path, part: DatabaseName) -> None:
    database_file(tmp_path, part).write_bytes(b"this is no database at all" * 100)
    with pytest.raises(StoreError) as problem:
        prepare(tmp_path)
    _assert_one_line(problem, tmp_path)


def test_foreign_database_is_rejected(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, "cloud")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE tenants (something_else TEXT)"))
    engine.dispose()
    with pytest.raises(StoreError) as problem:
        prepare(tmp_path)
    _assert_one_line(problem, tmp_path)


def test_known_revisions_match_the_scripts() -> None:
    config = Config()
    config.set_main_option("script_location", "cloudconsole.store:migrations")
    scripts = ScriptDirectory.from_config(config).walk_revisions()
    assert known_revisions() == tuple(script.revision for script in scripts)


def test_every_migration_declares_the_oldest_compatible_revision() -> None:
    config = Config()
    config.set_main_option("script_location", "cloudconsole.store:migrations")
    scripts = ScriptDirectory.from_config(config).walk_revisions()
    declared = {script.revision: script.module.oldest_compatible for script in scripts if script.revision >= "0010"}
    assert all("0010" <= oldest <= revision for revision, oldest in declared.items()), declared


def test_later_migration_does_not_restore_compatibility(tmp_path: Path) -> None:
    prepare(tmp_path)
    own = known_revisions()[0]
    engine = open_engine(tmp_path, "cloud")
    with engine.begin() as connection:
        record_compatibility(connection, "9997", oldest_compatible=own)
        record_compatibility(connection, "9998", oldest_compatible="9998")
        record_compatibility(connection, "9999", oldest_compatible=own)
        compatible = [is_compatible(connection, revision) for revision in (own, "9997", "9998", "9999")]
    engine.dispose()
    assert compatible == [False, True, False, False]


def test_console_with_a_current_store_does_not_load_alembic(folder: Path) -> None:
    program = """
import sys
from pathlib import Path
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
settings = Settings(data=Path(sys.argv[1]))
settings.store.migrate()
Console(settings).close()
print(*{name.partition(".")[0] for name in sys.modules})
"""
    completed = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True, check=True)
    loaded = set(completed.stdout.split())
    assert "sqlalchemy" in loaded
    assert loaded.isdisjoint({"alembic", "mako", "pygments"})
