"""`cloudconsole admin copy-to`: the copy on PostgreSQL equals the embedded store."""

import json
from contextlib import closing
from pathlib import Path

from cluster.postgres import PostgresServer

from tests.conftest import SAMPLE_TIME
from tests.harness import ApiClient, HttpTransport, running_server
from tests.scale.copies import copy, execute_sql, postgres_rows, schema_of, sqlite_rows
from tests.server.commands.conftest import Run


def test_every_row_of_every_table_is_copied(data: Path, address: str) -> None:
    before = sqlite_rows(data)
    assert all(before.values())
    assert not copy(data, address)
    copied = postgres_rows(address)
    entry = copied["operator_audit"].pop()
    assert entry[1:5] == (int(SAMPLE_TIME), "tester", "copy-to", str(data))
    assert copied == before == sqlite_rows(data)


def test_schema_equals_a_migrated_one(data: Path, postgres: PostgresServer, database: str, tables: str) -> None:
    copy(data, postgres.address(database))
    assert schema_of(postgres, database) == schema_of(postgres, tables)


def test_copy_fills_empty_tables_and_invalidates_caches_of_running_servers(
    data: Path, postgres: PostgresServer, migrated: str
) -> None:
    before = postgres.execute("SELECT number FROM shared_changes", migrated)
    copy(data, postgres.address(migrated))
    assert postgres_rows(postgres.address(migrated))["tenants"] == sqlite_rows(data)["tenants"]
    assert postgres.execute("SELECT number FROM shared_changes", migrated) != before
    assert postgres.execute("SELECT COUNT(*) FROM signals", migrated) == [(0,)]


def test_sessions_survive_the_copy(data: Path, address: str) -> None:
    with running_server(data.parent, sample=False) as server, closing(HttpTransport(server.base)) as transport:
        client = ApiClient(transport)
        assert client.login().status == 200
        before = client.call("GetUsageLimits").body
    copy(data, address)
    database = ("--database", address)
    with (
        running_server(data.parent, *database, sample=False) as server,
        closing(HttpTransport(server.base)) as transport,
    ):
        reply = ApiClient(transport, dict(client.cookies)).call("GetUsageLimits")
    assert (reply.status, reply.body) == (200, before)


def test_new_ids_continue_after_the_copied_ones(cloudconsole: Run, data: Path, address: str) -> None:
    execute_sql(data, "cloud", "INSERT INTO nodes (id, name) VALUES (700, 'far')")
    copy(data, address)
    assert cloudconsole("admin", "node", "add", "next", "--database", address).code == 0
    assert (701, "next", False) in postgres_rows(address)["nodes"]


def test_copy_is_reported_and_audited_in_both_stores(
    cloudconsole: Run, data: Path, postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text(f"{postgres.password}\n")
    address = postgres.address(database, password=False)
    done = cloudconsole("admin", "copy-to", address, "--password-file", tmp_path / "password", "--data", data)
    assert (done.code, done.err) == (0, "")
    assert "\nresources: 29\n" in done.out
    assert f" to the database {database} on 127.0.0.1 and compared row by row\n" in done.out
    for flags in (["--data", data], ["--database", address, "--database-password-file", tmp_path / "password"]):
        entries = json.loads(cloudconsole("admin", "audit", "--json", *flags).out)
        assert [entry["change"] for entry in entries].count("copy-to") == 1


def test_copy_is_reported_as_json(cloudconsole: Run, data: Path, address: str, database: str) -> None:
    report = json.loads(cloudconsole("admin", "copy-to", address, "--data", data, "--json").out)
    assert report["store"] == f"the database {database} on 127.0.0.1"
    assert report["rows"] == {name: len(rows) for name, rows in sqlite_rows(data).items()} | {"operator_audit": 1}
    assert report["written_since"] is False
