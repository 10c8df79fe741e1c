"""What `admin copy-to` rejects: unsuitable stores and databases, and invalid DSNs."""

from pathlib import Path

import psycopg
import pytest
from cluster.postgres import PostgresServer

from cloudconsole.store.base import StoreError
from cloudconsole.store.postgres.store import MIGRATION_LOCK
from cloudconsole.store.sqlite.store import is_served
from tests.e2e.processes import command
from tests.harness import running_server
from tests.newer_version import CURRENT_REVISION, make_newer
from tests.older_stores import make_older
from tests.scale.copies import NO_TABLES, copy, execute_sql, schema_of
from tests.server.commands.conftest import Run

INCOMPATIBLE = {
    "UPDATE nodes SET name = 'a' || char(0) || 'b' WHERE id = 1": "nodes 1: name is not text, or contains a NUL",
    "UPDATE usage SET cores = cores + 1": "run cloudconsole admin recount --data",
    "UPDATE accounts SET tenant_id = 999 WHERE id = 1": 'violates foreign key constraint "fk_accounts_tenant_id"',
}


@pytest.mark.parametrize(("statement", "message"), INCOMPATIBLE.items())
def test_incompatible_value_is_rejected_with_its_location(
    cloudconsole: Run, data: Path, postgres: PostgresServer, database: str, statement: str, message: str
) -> None:
    execute_sql(data, "cloud", statement)
    done = cloudconsole("admin", "copy-to", postgres.address(database), "--data", data)
    assert done.code == 1
    assert message in done.err
    assert "nothing was copied" in done.err
    assert schema_of(postgres, database) == NO_TABLES


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
    cloudconsole: Run, data: Path, postgres: PostgresServer, migrated: str, statement: str, message: str
) -> None:
    postgres.execute(statement, migrated)
    before = schema_of(postgres, migrated)
    done = cloudconsole("admin", "copy-to", postgres.address(migrated), "--data", data)
    assert (done.code, done.out) == (1, "")
    assert message in done.err
    assert schema_of(postgres, migrated) == before
    assert postgres.execute("SELECT COUNT(*) FROM tenants", migrated) == [(0,)]


def test_wrong_password_is_rejected_and_not_shown(cloudconsole: Run, data: Path, address: str) -> None:
    done = cloudconsole("admin", "copy-to", address.replace("console-database", "quite-wrong"), "--data", data)
    assert done.code == 1
    assert "password authentication failed" in done.err
    assert "quite-wrong" not in done.err


@pytest.mark.parametrize("dsn", ["mysql://console@127.0.0.1/x", "postgresql://127.0.0.1/x?nonsense=1"])
def test_invalid_dsn_is_rejected(capsys: pytest.CaptureFixture[str], cloudconsole: Run, data: Path, dsn: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        cloudconsole("admin", "copy-to", dsn, "--data", data)
    assert "ADDRESS: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["postgresql://console@127.0.0.1:1/x"], "the database x on 127.0.0.1 cannot be used"),
        (["postgresql://127.0.0.1/x", "--password-file", "none"], "none cannot be read: No such file"),
    ],
)
def test_unreachable_database_or_password_file_is_rejected(
    cloudconsole: Run, data: Path, arguments: list[str], message: str
) -> None:
    done = cloudconsole("admin", "copy-to", *arguments, "--data", data)
    assert (done.code, done.out) == (1, "")
    assert message in done.err


def test_missing_store_is_rejected(cloudconsole: Run, address: str, tmp_path: Path) -> None:
    done = cloudconsole("admin", "copy-to", address, "--data", tmp_path / "none")
    assert done.err.endswith(f"cloudconsole: no store in {tmp_path / 'none'}: pass its directory with --data\n")
    assert list(tmp_path.iterdir()) == []


def test_older_store_is_rejected(data: Path, address: str, postgres: PostgresServer, database: str) -> None:
    make_older(data)
    with pytest.raises(StoreError, match="was created by an older Cloud Console"):
        copy(data, address)
    assert schema_of(postgres, database) == NO_TABLES


def test_newer_store_is_rejected_even_if_it_can_be_served(data: Path, address: str) -> None:
    make_newer(data, oldest_compatible=CURRENT_REVISION)
    with pytest.raises(StoreError, match="created by a newer Cloud Console"):
        copy(data, address)


def test_served_store_is_rejected_without_while_served(
    address: str, postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    with running_server(tmp_path):
        arguments = ("admin", "copy-to", address, "--data", str(tmp_path / "data"))
        rejected = command(*arguments)
        assert (rejected.returncode, "is being served; nothing was copied" in rejected.stderr) == (1, True)
        assert schema_of(postgres, database) == NO_TABLES
        assert command(*arguments, "--while-served").returncode == 0
    assert not is_served(tmp_path / "data")


def test_test_mode_store_is_rejected(data: Path, address: str) -> None:
    execute_sql(data, "activity", "INSERT INTO secrets VALUES ('test-store', x'')")
    with pytest.raises(StoreError, match="is a test store"):
        copy(data, address)


def test_concurrent_migration_aborts_the_copy(data: Path, address: str) -> None:
    with psycopg.connect(address) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [MIGRATION_LOCK])
        with pytest.raises(StoreError, match="another process is migrating"):
            copy(data, address)
