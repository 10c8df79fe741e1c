"""`cloudconsole admin backup`, `restore` and `recount` as an operator meets them, and a console that is served."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.processes import connection_to, workers
from tests.harness import Caller, OverHttp, running_server
from tests.server.commands.conftest import Run
from tests.terminal import Terminal

pytestmark = pytest.mark.embedded_only

ADD_IP = """
    INSERT INTO resources SELECT 'ip-' || :name, id, 'floating_ip', 'x', NULL, 0, 0, 0, 0, 1, NULL
    FROM tenants WHERE name = 'demo'
"""


def add_floating_ip(data: Path, name: str) -> None:
    with closing(sqlite3.connect(data / "cloud.db")) as connection, connection:
        connection.execute(ADD_IP, {"name": name})


def nodes(data: Path) -> int:
    with closing(sqlite3.connect(data / "cloud.db")) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM nodes").fetchone()[0])


def add_node(data: Path) -> None:
    with closing(sqlite3.connect(data / "cloud.db")) as connection, connection:
        connection.execute("INSERT INTO nodes (name) VALUES ('since')")


def test_a_backup_and_a_restore_say_what_they_did(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    file, before = tmp_path / "b.tar", nodes(data)
    done = cloudconsole("admin", "backup", file, "--data", data)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"wrote {file}: the store as of ")
    add_node(data)
    done = cloudconsole("admin", "restore", file, "--data", data, "--yes")
    assert (done.code, done.err) == (0, "")
    assert f"restored {data} to the store as of " in done.out
    assert "3 tenants, 3 accounts" in done.out
    assert done.out.endswith("all sessions ended: everyone has to log in again\n")
    assert nodes(data) == before


def test_a_backup_needs_a_store(cloudconsole: Run, tmp_path: Path) -> None:
    done = cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", tmp_path / "none")
    assert done.err == f"cloudconsole: no store in {tmp_path / 'none'}: pass its directory with --data\n"
    assert list(tmp_path.iterdir()) == []


def test_a_backup_into_a_missing_folder_is_refused(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    done = cloudconsole("admin", "backup", tmp_path / "none/b.tar", "--data", data)
    words = f"{tmp_path}/none/b.tar cannot be written: there is no directory {tmp_path}/none: create it first"
    assert (done.code, done.err) == (1, f"cloudconsole: {words}\n")


def test_a_restore_without_a_terminal_wants_a_yes(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data)
    add_node(data)
    there = nodes(data)
    done = cloudconsole("admin", "restore", tmp_path / "b.tar", "--data", data)
    assert done.err == f"cloudconsole: this replaces all data in {data}: pass --yes or run on a terminal\n"
    assert nodes(data) == there


def test_a_backup_that_is_not_there_or_no_backup_is_named_before_a_yes_is_wanted(
    cloudconsole: Run, data: Path, tmp_path: Path
) -> None:
    done = cloudconsole("admin", "restore", tmp_path / "none.tar", "--data", data)
    assert done.err == f"cloudconsole: {tmp_path}/none.tar cannot be read: no such file\n"
    (tmp_path / "b.tar").write_text("nonsense")
    done = cloudconsole("admin", "restore", tmp_path / "b.tar", "--data", data)
    assert done.err.startswith(f"cloudconsole: {tmp_path}/b.tar is not a complete backup")


def test_a_restore_where_nothing_is_asks_nothing(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data)
    for place in (("--to", tmp_path / "new"), ("--data", tmp_path / "other")):
        assert cloudconsole("admin", "restore", tmp_path / "b.tar", *place).code == 0
    assert nodes(tmp_path / "new") == nodes(tmp_path / "other") == nodes(data)


def test_a_new_store_is_made_in_an_empty_folder_only(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data)
    done = cloudconsole("admin", "restore", tmp_path / "b.tar", "--to", tmp_path)
    assert done.code == 1
    assert "is not an empty directory: choose an empty or new one" in done.err


def test_nothing_is_made_of_a_bad_backup(cloudconsole: Run, tmp_path: Path) -> None:
    (tmp_path / "b.tar").write_text("nonsense")
    done = cloudconsole("admin", "restore", tmp_path / "b.tar", "--to", tmp_path / "new")
    assert done.code == 1
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(("answer", "goes_on"), [("yes", True), ("no", False), ("", False)])
def test_a_terminal_is_asked(cloudconsole: Run, data: Path, tmp_path: Path, answer: str, goes_on: bool) -> None:
    cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data)
    before = nodes(data)
    add_node(data)
    terminal = Terminal(tmp_path, "admin", "restore", "b.tar", "--data", str(data))
    terminal.wait_for("Type yes to continue: ")
    assert "3 tenants, 3 accounts" in terminal.shown
    terminal.type(answer + "\n")
    assert terminal.end() == (0 if goes_on else 1)
    assert ("nothing was changed" in terminal.shown) is not goes_on
    assert nodes(data) == (before if goes_on else before + 1)


def test_totals_are_set_anew(cloudconsole: Run, data: Path) -> None:
    add_floating_ip(data, "loose")
    assert (
        cloudconsole("admin", "recount", "--data", data).out == "2 counters corrected\n"
    )  # its kind's and its quota's
    assert cloudconsole("admin", "recount", "--data", data).out == "nothing to change\n"


def test_a_served_console_goes_on_with_what_was_restored(cloudconsole: Run, tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "b.tar"
    with running_server(tmp_path, "--workers", "2") as server:
        first, second = sorted(workers(server))
        with connection_to(server, first) as one, connection_to(server, second) as two:
            before = used_over(one)
            assert cloudconsole("admin", "backup", file, "--data", data).code == 0
            add_floating_ip(data, "1")
            assert cloudconsole("admin", "recount", "--data", data).code == 0
            early = [Caller(wire) for wire in (one, two)]
            for caller in early:
                assert caller.login().status == 200
                assert caller.call("GetUsageLimits").data["totalFloatingIpsUsed"] == before + 1
            assert cloudconsole("admin", "restore", file, "--data", data, "--yes").code == 0
            assert [caller.call("GetUsageLimits").error for caller in early] == ["login_required"] * 2
            assert [used_over(one), used_over(two)] == [before, before]
            assert workers(server) == {first, second}
        assert "deleted" not in open_files(first) + open_files(second)
        assert "ERROR" not in server.log()


def test_an_ended_session_does_not_live_again(cloudconsole: Run, tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "b.tar"
    with running_server(tmp_path) as server:
        wire = OverHttp(server.base)
        caller = Caller(wire)
        caller.login()
        cookies = dict(caller.cookies)
        cloudconsole("admin", "backup", file, "--data", data)
        assert caller.logout().status == 200
        cloudconsole("admin", "restore", file, "--data", data, "--yes")
        assert Caller(wire, dict(cookies)).call("GetUrlList").error == "login_required"
        cloudconsole("admin", "restore", file, "--data", data, "--yes", "--keep-sessions")
        assert Caller(wire, dict(cookies)).call("GetUrlList").status == 200
        wire.close()


def used_over(wire: OverHttp) -> int:
    caller = Caller(wire)
    assert caller.login().status == 200
    return int(caller.call("GetUsageLimits").data["totalFloatingIpsUsed"])


def open_files(process: int) -> str:
    return "\n".join(str(link.readlink()) for link in Path(f"/proc/{process}/fd").iterdir() if link.is_symlink())


@pytest.mark.parametrize("arguments", [("backup", "b.tar"), ("restore", "b.tar", "--yes")])
def test_a_database_is_kept_by_its_own_programs(cloudconsole: Run, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    command, file, *more = arguments
    place = ("--data", tmp_path / "data", "--database", "postgresql://console@127.0.0.1:1/cloud")
    done = cloudconsole("admin", command, tmp_path / file, *more, *place)
    assert done.code == 1
    assert "the database cloud on 127.0.0.1 with PostgreSQL tools" in done.err
    assert list(tmp_path.iterdir()) == []
