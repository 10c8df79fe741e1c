"""`cloudconsole admin copy-to`: an embedded store on PostgreSQL, equal to what it was."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from shutil import copytree

import psycopg
import pytest
from cluster.postgres import PostgresServer

from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.keeping.moving import copy_to_postgres
from cloudconsole.store.engine import PARTS, StoreError
from cloudconsole.store.migrations import known_revisions
from cloudconsole.store.postgres.address import DatabaseAddress
from cloudconsole.store.postgres.copying import Copying, Step, filling
from cloudconsole.store.postgres.engine import MIGRATION_LOCK
from cloudconsole.store.postgres.store import PostgresStore
from cloudconsole.store.sqlite.copying import one_moment
from cloudconsole.store.sqlite.store import FolderStore
from tests.conftest import NOON
from tests.harness import Caller, OverHttp, running_server
from tests.older import make_older
from tests.scale.copies import change, fill_every_table, in_database, in_folder, made_of
from tests.server.commands.conftest import Run
from tests.terminal import Terminal

Tell = Callable[[Step], object]


@pytest.fixture
def data(quick_store: Path, tmp_path: Path) -> Path:
    """A store of one's own with something in every table."""
    return fill_every_table(copytree(quick_store, tmp_path / "data"))


@pytest.fixture(scope="module")
def tables(postgres: PostgresServer) -> Iterator[str]:
    """The name of a database with empty tables; copy it, never change it."""
    PostgresStore(DatabaseAddress(postgres.create_database("empty_tables"))).migrate()
    yield "empty_tables"
    postgres.drop_database("empty_tables")


@pytest.fixture
def migrated(postgres: PostgresServer, database: str, tables: str) -> str:
    """The name of a database of one's own with empty tables."""
    postgres.drop_database(database)
    postgres.create_database(database, template=tables)
    return database


@pytest.fixture
def address(postgres: PostgresServer, database: str) -> str:
    return postgres.address(database)


def copy(data: Path, address: str, tell: Tell = lambda step: None, *, while_served: bool = False) -> bool:
    """Whether the store was written to since."""
    target = DatabaseAddress(address)
    return copy_to_postgres(
        FolderStore(data), target, actor="tester", now=int(NOON), while_served=while_served, tell=tell
    ).is_behind


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
    assert f"is now in the database {database} on 127.0.0.1, compared row by row\n" in done.out
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


# What is not copied


NO_TABLES: list[str] = []
UNFIT = {
    "UPDATE nodes SET name = 'a' || char(0) || 'b' WHERE id = 1": "nodes 1: name is no text, or has a NUL",
    "UPDATE nodes SET name = CAST(x'ff' AS TEXT) WHERE id = 1": "nodes cannot be read: Could not decode to UTF-8",
    "UPDATE usage SET cores = cores + 1": "run cloudconsole admin recount --data",
    "UPDATE accounts SET tenant_id = 999 WHERE id = 1": 'violates foreign key constraint "fk_accounts_tenant_id"',
}


@pytest.mark.parametrize(("statement", "words"), UNFIT.items())
def test_a_store_with_what_postgresql_does_not_take_is_refused_with_the_place(
    cloudconsole: Run, data: Path, postgres: PostgresServer, database: str, statement: str, words: str
) -> None:
    change(data, "cloud", statement)
    done = cloudconsole("admin", "copy-to", postgres.address(database), "--data", data)
    assert done.code == 1
    assert words in done.err
    assert "nothing was copied" in done.err
    assert made_of(postgres, database) == NO_TABLES


OCCUPIED = {
    "INSERT INTO nodes (name) VALUES ('there')": "is not empty: there is something in nodes; give an empty database",
    "INSERT INTO secrets VALUES ('csrf', 'x')": "is not empty: there is something in secrets; give an empty database",
    "UPDATE alembic_version SET version_num = '0007'": "has older tables: run cloudconsole admin migrate",
    "UPDATE alembic_version SET version_num = '9999'": "made by a newer Cloud Console (revision 9999): install that",
    "DELETE FROM alembic_version": "has tables of something else; give an empty database",
    "ALTER TABLE nodes OWNER TO postgres": "must be owner of table nodes",
}


@pytest.mark.parametrize(("statement", "words"), OCCUPIED.items())
def test_a_database_that_is_not_empty_or_not_ours_is_refused_and_left_as_it_is(
    cloudconsole: Run, data: Path, postgres: PostgresServer, migrated: str, statement: str, words: str
) -> None:
    postgres.execute(statement, migrated)
    before = made_of(postgres, migrated)
    done = cloudconsole("admin", "copy-to", postgres.address(migrated), "--data", data)
    assert (done.code, done.out) == (1, "")
    assert words in done.err
    assert made_of(postgres, migrated) == before
    assert postgres.execute("SELECT COUNT(*) FROM tenants", migrated) == [(0,)]


def test_who_may_make_no_tables_is_refused(
    cloudconsole: Run, data: Path, postgres: PostgresServer, database: str
) -> None:
    postgres.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC, pg_database_owner", database)
    postgres.execute(f"ALTER DATABASE {database} OWNER TO postgres")
    done = cloudconsole("admin", "copy-to", postgres.address(database), "--data", data)
    assert done.code == 1
    assert "nothing was copied: " in done.err
    assert made_of(postgres, database) == NO_TABLES


def test_a_wrong_password_is_refused_and_not_shown(cloudconsole: Run, data: Path, address: str) -> None:
    done = cloudconsole("admin", "copy-to", address.replace("console-database", "quite-wrong"), "--data", data)
    assert done.code == 1
    assert "password authentication failed" in done.err
    assert "quite-wrong" not in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mysql://console@127.0.0.1/x"], "ADDRESS: give PostgreSQL's address"),
        (["postgresql://127.0.0.1/x?nonsense=1"], "invalid URI query parameter"),
        ([], "ADDRESS"),
    ],
)
def test_what_is_no_address_is_refused(
    capsys: pytest.CaptureFixture[str], cloudconsole: Run, data: Path, arguments: list[str], words: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        cloudconsole("admin", "copy-to", *arguments, "--data", data)
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["postgresql://console@127.0.0.1:1/x"], "the database x on 127.0.0.1 cannot be used"),
        (["postgresql://127.0.0.1/x", "--password-file", "none"], "none cannot be read: No such file"),
    ],
)
def test_an_address_where_nothing_is_is_refused(
    cloudconsole: Run, data: Path, arguments: list[str], words: str
) -> None:
    done = cloudconsole("admin", "copy-to", *arguments, "--data", data)
    assert (done.code, done.out) == (1, "")
    assert words in done.err


def test_a_store_that_is_not_there_is_refused(cloudconsole: Run, address: str, tmp_path: Path) -> None:
    done = cloudconsole("admin", "copy-to", address, "--data", tmp_path / "none")
    assert done.err.endswith(f"cloudconsole: there is no store in {tmp_path / 'none'}: give its folder with --data\n")
    assert list(tmp_path.iterdir()) == []


def test_an_older_store_is_refused(data: Path, address: str, postgres: PostgresServer, database: str) -> None:
    make_older(data)
    with pytest.raises(StoreError, match="is of an older Cloud Console"):
        copy(data, address)
    assert made_of(postgres, database) == NO_TABLES


def test_a_newer_store_is_refused(data: Path, address: str) -> None:
    change(data, "activity", "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreError, match="made by a newer Cloud Console"):
        copy(data, address)


def test_a_desks_store_is_refused(data: Path, address: str) -> None:
    change(data, "activity", "INSERT INTO secrets VALUES ('desk', x'')")
    with pytest.raises(StoreError, match="is of a console for the desk"):
        copy(data, address)


def test_it_does_not_wait_for_someone_who_migrates(data: Path, address: str) -> None:
    with psycopg.connect(address) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [MIGRATION_LOCK])
        with pytest.raises(StoreError, match="someone else is making the tables"):
            copy(data, address)


# What ends it half-way


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

    with pytest.raises(OperatorError, match="written to meanwhile, and nothing was copied: stop cloudconsole serve"):
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
    compare = Copying.compare

    def compare_late(copying: Copying) -> None:
        change(data, "cloud", "UPDATE nodes SET disabled = TRUE")
        compare(copying)

    monkeypatch.setattr(Copying, "compare", compare_late)
    done = cloudconsole("admin", "copy-to", address, "--data", data, "--while-served", "--json")
    assert done.code == 0
    assert "what came later is not in the copy\n" in done.err
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
    with filling(DatabaseAddress(postgres.address(migrated))) as target, one_moment(data, PARTS) as source:
        copying = Copying(source, target, lambda step: None)
        copying.copy()
        copying.compare()
        target.exec_driver_sql(harm)
        with pytest.raises(StoreError, match="the store; nothing was copied"):
            copying.compare()


def test_it_brings_a_database_to_the_newest_revision(data: Path, postgres: PostgresServer, database: str) -> None:
    copy(data, postgres.address(database))
    assert postgres.execute("SELECT version_num FROM alembic_version", database) == [(known_revisions()[0],)]
