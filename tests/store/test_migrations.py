"""Migrations: the result matches the table definitions, also for repeated and concurrent runs."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, MetaData, create_engine, insert, inspect, select, text
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


@contextmanager
def _connected(folder: Path, part: DatabaseName = "cloud") -> Iterator[Connection]:
    engine = open_engine(folder, part)
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def _schema(folder: Path) -> dict[str, list[tuple[str, ...]]]:
    schema: dict[str, list[tuple[str, ...]]] = {}
    for part in DATABASE_NAMES:
        with _connected(folder, part) as connection:
            rows = connection.execute(text("SELECT type, name, sql FROM sqlite_master ORDER BY type, name"))
            schema[part] = [tuple(row) for row in rows]
    return schema


# The schema


def test_nothing_is_left_to_migrate(engine: Engine, part: DatabaseName) -> None:
    with engine.connect() as connection:
        options = {"include_name": lambda name, *_: name not in SCHEMA_TABLES}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), METADATA[part]) == []


def _constraints(engine: Engine, table: str) -> dict[str, Any]:
    """Describe what `compare_metadata` does not compare."""
    found = inspect(engine)
    keys = found.get_foreign_keys(table)
    return {
        "nullable": {column["name"]: column["nullable"] for column in found.get_columns(table)},
        "primary key": found.get_pk_constraint(table)["constrained_columns"],
        "checks": {(each["name"], _normalised(each["sqltext"])) for each in found.get_check_constraints(table)},
        "foreign keys": {
            (*key["constrained_columns"], key["referred_table"], *key["referred_columns"]) for key in keys
        },
        "unique": {tuple(each["column_names"]) for each in found.get_unique_constraints(table)},
        "indexes": {(tuple(index["column_names"]), bool(index["unique"])) for index in found.get_indexes(table)},
    }


def test_constraints_match_the_metadata(engine: Engine, part: DatabaseName) -> None:
    created = create_engine("sqlite://")
    METADATA[part].create_all(created)
    for table in METADATA[part].tables:
        assert _constraints(engine, table) == _constraints(created, table)
    created.dispose()


@pytest.mark.parametrize("part", ["cloud"], indirect=True)
@pytest.mark.parametrize("node", [None, 1])
@pytest.mark.parametrize("type_name", [None, "ssd"])
def test_price_is_unique_per_node_and_type(engine: Engine, node: int | None, type_name: str | None) -> None:
    price = {"kind": "volume", "unit": "gb", "start": 0, "billionths": 1}
    keys = [{"node_id": node, "type": of_type} for node in (None, 1, 2) for of_type in (None, "ssd", "slow")]
    with engine.connect() as connection, connection.begin() as transaction:
        connection.execute(insert(nodes), [{"id": number, "name": f"n{number}"} for number in (1, 2)])
        connection.execute(insert(prices), [price | key for key in keys])
        with pytest.raises(IntegrityError):
            connection.execute(insert(prices), [price | {"node_id": node, "type": type_name}])
        transaction.rollback()


@pytest.mark.parametrize("part", ["cloud"], indirect=True)
def test_project_belongs_to_at_most_one_tenant(engine: Engine) -> None:
    with engine.connect() as connection, connection.begin() as transaction:
        connection.execute(insert(tenants), [{"name": name, "project": None} for name in ("a", "b")])
        connection.execute(insert(tenants), [{"name": "c", "project": "p@https://id.example.com"}])
        with pytest.raises(IntegrityError):
            connection.execute(insert(tenants), [{"name": "d", "project": "p@https://id.example.com"}])
        transaction.rollback()


@pytest.mark.parametrize(
    ("pragma", "value"),
    [
        pytest.param("foreign_keys", 1, id="foreign keys are enforced"),
        pytest.param("journal_mode", "wal", id="readers and the writer do not wait for each other"),
        pytest.param("synchronous", 2, id="committed data survives a power cut"),
    ],
)
def test_settings_of_connections(engine: Engine, pragma: str, value: object) -> None:
    with engine.connect() as connection:
        assert connection.scalar(text(f"PRAGMA {pragma}")) == value


# Preparation


def test_preparing_again_changes_nothing(tmp_path: Path) -> None:
    prepare(tmp_path / "data")
    before = _schema(tmp_path / "data")
    with _connected(tmp_path / "data") as connection:
        connection.execute(insert(tenants), [{"id": 1, "name": "kept"}])
    prepare(tmp_path / "data")
    with _connected(tmp_path / "data") as connection:
        assert connection.execute(select(tenants.c.id, tenants.c.name)).all() == [(1, "kept")]
    assert _schema(tmp_path / "data") == before


def test_several_processes_can_prepare_one_directory_at_once(tmp_path: Path, folder: Path) -> None:
    program = "import sys; from pathlib import Path; from cloudconsole.store.sqlite.store import prepare; "
    program += "sys.stdin.read(1); prepare(Path(sys.argv[1]))"
    command = [sys.executable, "-c", program, str(tmp_path / "data")]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("x")
        process.stdin.flush()
    results = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0, 0], results
    assert _schema(tmp_path / "data") == _schema(folder)


# Migration from the first version


def _create_first_version(folder: Path) -> None:
    """Create a store as the first version did."""
    config = Config()
    config.set_main_option("script_location", "cloudconsole.store:migrations")
    folder.mkdir()
    for part in DATABASE_NAMES:
        with _connected(folder, part) as connection:
            config.attributes.update(connection=connection, parts={part})
            command.upgrade(config, "0001")


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
    with _connected(tmp_path / "data") as connection:
        for statement in FIRST_ROWS:
            connection.exec_driver_sql(statement)
    prepare(tmp_path / "data")
    expected = {
        "tenants": [(7, "kept", 0, None, 0)],
        "accounts": [(3, 7, "ann", "tenant", "a hash", 0, 12345)],
        "nodes": [(4, "hk-1", 0)],
        "prices": [(5, "volume", "gb", 4, 50, 420000, None), (6, "volume", "gb", None, 50, 430000, None)],
        "flavors": [("1", "m1.tiny", 1, 512, 1, 0)],
        "urls": [("url-00000001", 7, "link", "https://example.com/", 0)],
        "news": [(1, 5, "title", "https://example.com/", 0, None, 0)],
        "resources": [("v-1", 7, "volume", "data", 4, 0, 0, 0, 9, 100, None)],
        "operator_audit": [(2, 77, "ann", "load", '{"nodes": {"added": 1}}', None, None)],
    }
    with _connected(tmp_path / "data") as connection:
        found = {name: [*map(tuple, connection.execute(text(f"SELECT * FROM {name}")))] for name in expected}
    assert found == expected
    assert _schema(tmp_path / "data") == _schema(folder)


# Unusable stores


def test_store_of_a_newer_version_is_rejected_and_not_changed(tmp_path: Path, part: DatabaseName) -> None:
    prepare(tmp_path)
    with _connected(tmp_path, part) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    before = _schema(tmp_path)
    with pytest.raises(StoreError, match=r"newer Cloud Console .*9999"):
        prepare(tmp_path)
    assert _schema(tmp_path) == before


def _create_foreign_database(folder: Path) -> None:
    with _connected(folder) as connection:
        connection.execute(text("CREATE TABLE tenants (something_else TEXT)"))


GARBAGE = b"this is no database at all" * 100


@pytest.mark.parametrize(
    ("spoil", "folder"),
    [
        pytest.param(lambda top: (top / "data").write_text("a file"), "data", id="file as directory"),
        pytest.param(lambda top: (top / "data").write_text("a file"), "data/below", id="file as parent directory"),
        pytest.param(lambda top: database_file(top, "cloud").mkdir(), ".", id="directory as cloud.db"),
        pytest.param(lambda top: database_file(top, "activity").mkdir(), ".", id="directory as activity.db"),
        pytest.param(lambda top: database_file(top, "cloud").write_bytes(GARBAGE), ".", id="garbage as cloud.db"),
        pytest.param(lambda top: database_file(top, "activity").write_bytes(GARBAGE), ".", id="garbage as activity.db"),
        pytest.param(_create_foreign_database, ".", id="foreign database"),
    ],
)
def test_unusable_folder_is_rejected_in_one_line(tmp_path: Path, spoil: Callable[[Path], object], folder: str) -> None:
    spoil(tmp_path)
    with pytest.raises(StoreError) as problem:
        prepare(tmp_path / folder)
    assert str(tmp_path / folder) in str(problem.value)
    assert "\n" not in str(problem.value)


def test_known_revisions_match_the_scripts_which_declare_compatibility() -> None:
    config = Config()
    config.set_main_option("script_location", "cloudconsole.store:migrations")
    scripts = list(ScriptDirectory.from_config(config).walk_revisions())
    assert known_revisions() == tuple(script.revision for script in scripts)
    declared = {script.revision: script.module.oldest_compatible for script in scripts if script.revision >= "0010"}
    assert all("0010" <= oldest <= revision for revision, oldest in declared.items()), declared


def test_later_migration_does_not_restore_compatibility(tmp_path: Path) -> None:
    prepare(tmp_path)
    own = known_revisions()[0]
    with _connected(tmp_path) as connection:
        record_compatibility(connection, "9997", oldest_compatible=own)
        record_compatibility(connection, "9998", oldest_compatible="9998")
        record_compatibility(connection, "9999", oldest_compatible=own)
        compatible = [is_compatible(connection, revision) for revision in (own, "9997", "9998", "9999")]
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
