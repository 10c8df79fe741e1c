"""`cloudconsole admin copy-to`: an embedded store on PostgreSQL, equal to what it was."""

import json
from contextlib import closing
from pathlib import Path

from cluster.postgres import PostgresServer

from cloudconsole.store.migrations import known_revisions
from tests.conftest import NOON
from tests.harness import Caller, OverHttp, running_server
from tests.scale.copies import change, copy, in_database, in_folder, made_of
from tests.server.commands.conftest import Run
from tests.terminal import Terminal


def test_every_row_of_every_table_is_copied_as_it_was(data: Path, address: str) -> None:
    before = in_folder(data)
    assert all(before.values())
    assert not copy(data, address)
    found = in_database(address)
    line = found["operator_audit"].pop()
    assert line[1:5] == (int(NOON), "tester", "copy-to", str(data))
    assert found == before == in_folder(data)


def test_the_tables_are_made_as_a_migration_makes_them(
    data: Path, postgres: PostgresServer, database: str, tables: str
) -> None:
    copy(data, postgres.address(database))
    assert made_of(postgres, database) == made_of(postgres, tables)


def test_empty_tables_that_are_there_are_filled(data: Path, postgres: PostgresServer, migrated: str) -> None:
    copy(data, postgres.address(migrated))
    assert in_database(postgres.address(migrated))["tenants"] == in_folder(data)["tenants"]


def test_whoever_serves_the_database_is_told_that_everything_has_changed(
    data: Path, postgres: PostgresServer, migrated: str
) -> None:
    before = postgres.execute("SELECT number FROM shared_changes", migrated)
    copy(data, postgres.address(migrated))
    assert postgres.execute("SELECT number FROM shared_changes", migrated) != before
    assert postgres.execute("SELECT COUNT(*) FROM signals", migrated) == [(0,)]


def test_people_stay_logged_in(data: Path, address: str) -> None:
    with running_server(data.parent, sample=False) as server, closing(OverHttp(server.base)) as wire:
        caller = Caller(wire)
        assert caller.login().status == 200
        before = caller.call("GetUsageLimits").body
    copy(data, address)
    database = ("--database", address)
    with running_server(data.parent, *database, sample=False) as server, closing(OverHttp(server.base)) as wire:
        reply = Caller(wire, dict(caller.cookies)).call("GetUsageLimits")
    assert (reply.status, reply.body) == (200, before)


def test_new_ids_follow_on_those_that_were_copied(cloudconsole: Run, data: Path, address: str) -> None:
    change(data, "cloud", "INSERT INTO nodes (id, name) VALUES (700, 'far')")
    copy(data, address)
    assert cloudconsole("admin", "node", "add", "next", "--database", address).code == 0
    assert (701, "next", False) in in_database(address)["nodes"]


def test_it_is_told_what_was_copied_and_both_trails_have_a_line(
    cloudconsole: Run, data: Path, postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text(f"{postgres.password}\n")
    address = postgres.address(database, password=False)
    done = cloudconsole("admin", "copy-to", address, "--password-file", tmp_path / "password", "--data", data)
    assert (done.code, done.err) == (0, "")
    assert "\nresources: 29\n" in done.out
    assert f" to the database {database} on 127.0.0.1 and compared row by row\n" in done.out
    for place in (["--data", data], ["--database", address, "--database-password-file", tmp_path / "password"]):
        lines = json.loads(cloudconsole("admin", "audit", "--json", *place).out)
        assert [line["change"] for line in lines].count("copy-to") == 1


def test_it_is_told_as_json(cloudconsole: Run, data: Path, address: str, database: str) -> None:
    told = json.loads(cloudconsole("admin", "copy-to", address, "--data", data, "--json").out)
    assert told["store"] == f"the database {database} on 127.0.0.1"
    assert told["rows"] == {name: len(rows) for name, rows in in_folder(data).items()} | {"operator_audit": 1}
    assert told["written_since"] is False


def test_a_terminal_sees_how_far_it_is(data: Path, address: str) -> None:
    terminal = Terminal(data.parent, "admin", "copy-to", address, "--data", str(data))
    assert terminal.end() == 0
    assert "rows, " in terminal.shown
    assert "compared row by row" in terminal.shown


def test_it_brings_a_database_to_the_newest_revision(data: Path, postgres: PostgresServer, database: str) -> None:
    copy(data, postgres.address(database))
    assert postgres.execute("SELECT version_num FROM alembic_version", database) == [(known_revisions()[0],)]
