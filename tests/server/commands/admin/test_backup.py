"""`cloudconsole admin backup`, `restore` and `recount`, also with a running console."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.processes import connection_to, workers
from tests.harness import ApiClient, HttpTransport, running_server
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


def count_nodes(data: Path) -> int:
    with closing(sqlite3.connect(data / "cloud.db")) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM nodes").fetchone()[0])


def add_node(data: Path) -> None:
    with closing(sqlite3.connect(data / "cloud.db")) as connection, connection:
        connection.execute("INSERT INTO nodes (name) VALUES ('since')")


def test_backup_and_restore_print_a_summary(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    file, before = tmp_path / "b.tar", count_nodes(data)
    done = cloudconsole("admin", "backup", file, "--data", data)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"wrote {file}: the store as of ")
    add_node(data)
    done = cloudconsole("admin", "restore", file, "--data", data, "--yes")
    assert (done.code, done.err) == (0, "")
    assert f"restored {data} to the store as of " in done.out
    assert "3 tenants, 3 accounts" in done.out
    assert done.out.endswith("all sessions ended: everyone has to log in again\n")
    assert count_nodes(data) == before


def test_a_backup_needs_a_store(cloudconsole: Run, tmp_path: Path) -> None:
    done = cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", tmp_path / "none")
    assert done.err == f"cloudconsole: no store in {tmp_path / 'none'}: pass its directory with --data\n"
    assert list(tmp_path.iterdir()) == []


def test_backup_into_a_missing_directory_is_rejected(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    done = cloudconsole("admin", "backup", tmp_path / "none/b.tar", "--data", data)
    message = f"{tmp_path}/none/b.tar cannot be written: there is no directory {tmp_path}/none: create it first"
    assert (done.code, done.err) == (1, f"cloudconsole: {message}\n")


def test_restore_without_a_terminal_requires_yes(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data)
    add_node(data)
    expected = count_nodes(data)
    done = cloudconsole("admin", "restore", tmp_path / "b.tar", "--data", data)
    assert done.err == f"cloudconsole: this replaces all data in {data}: pass --yes or run on a terminal\n"
    assert count_nodes(data) == expected


def test_invalid_backup_is_reported_before_confirmation(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    done = cloudconsole("admin", "restore", tmp_path / "none.tar", "--data", data)
    assert done.err == f"cloudconsole: {tmp_path}/none.tar cannot be read: no such file\n"
    (tmp_path / "b.tar").write_text("nonsense")
    done = cloudconsole("admin", "restore", tmp_path / "b.tar", "--data", data)
    assert done.err.startswith(f"cloudconsole: {tmp_path}/b.tar is not a complete backup")


def test_restore_without_a_store_needs_no_confirmation(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data)
    for target in (("--to", tmp_path / "new"), ("--data", tmp_path / "other")):
        assert cloudconsole("admin", "restore", tmp_path / "b.tar", *target).code == 0
    assert count_nodes(tmp_path / "new") == count_nodes(tmp_path / "other") == count_nodes(data)


def test_restore_to_a_non_empty_directory_is_rejected(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data)
    done = cloudconsole("admin", "restore", tmp_path / "b.tar", "--to", tmp_path)
    assert done.code == 1
    assert "is not an empty directory: choose an empty or new one" in done.err


def test_invalid_backup_creates_nothing(cloudconsole: Run, tmp_path: Path) -> None:
    (tmp_path / "b.tar").write_text("nonsense")
    done = cloudconsole("admin", "restore", tmp_path / "b.tar", "--to", tmp_path / "new")
    assert done.code == 1
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(("answer", "confirmed"), [("yes", True), ("no", False), ("", False)])
def test_restore_on_a_terminal_asks_for_confirmation(
    cloudconsole: Run, data: Path, tmp_path: Path, answer: str, confirmed: bool
) -> None:
    cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data)
    before = count_nodes(data)
    add_node(data)
    terminal = Terminal(tmp_path, "admin", "restore", "b.tar", "--data", str(data))
    terminal.wait_for("Type yes to continue: ")
    assert "3 tenants, 3 accounts" in terminal.shown
    terminal.type(answer + "\n")
    assert terminal.end() == (0 if confirmed else 1)
    assert ("nothing was changed" in terminal.shown) is not confirmed
    assert count_nodes(data) == (before if confirmed else before + 1)


def test_recount_corrects_counters(cloudconsole: Run, data: Path) -> None:
    add_floating_ip(data, "loose")
    assert (
        cloudconsole("admin", "recount", "--data", data).out == "2 counters corrected\n"
    )  # of its kind and of its quota
    assert cloudconsole("admin", "recount", "--data", data).out == "nothing to change\n"


def test_running_console_serves_the_restored_store(cloudconsole: Run, tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "b.tar"
    with running_server(tmp_path, "--workers", "2") as server:
        first, second = sorted(workers(server))
        with connection_to(server, first) as one, connection_to(server, second) as two:
            before = floating_ips_used(one)
            assert cloudconsole("admin", "backup", file, "--data", data).code == 0
            add_floating_ip(data, "1")
            assert cloudconsole("admin", "recount", "--data", data).code == 0
            clients = [ApiClient(transport) for transport in (one, two)]
            for client in clients:
                assert client.login().status == 200
                assert client.call("GetUsageLimits").data["totalFloatingIpsUsed"] == before + 1
            assert cloudconsole("admin", "restore", file, "--data", data, "--yes").code == 0
            assert [client.call("GetUsageLimits").error for client in clients] == ["login_required"] * 2
            assert [floating_ips_used(one), floating_ips_used(two)] == [before, before]
            assert workers(server) == {first, second}
        assert "deleted" not in open_files(first) + open_files(second)
        assert "ERROR" not in server.log()


def test_restore_revives_sessions_only_on_request(cloudconsole: Run, tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "b.tar"
    with running_server(tmp_path) as server:
        transport = HttpTransport(server.base)
        client = ApiClient(transport)
        client.login()
        cookies = dict(client.cookies)
        cloudconsole("admin", "backup", file, "--data", data)
        assert client.logout().status == 200
        cloudconsole("admin", "restore", file, "--data", data, "--yes")
        assert ApiClient(transport, dict(cookies)).call("GetUrlList").error == "login_required"
        cloudconsole("admin", "restore", file, "--data", data, "--yes", "--keep-sessions")
        assert ApiClient(transport, dict(cookies)).call("GetUrlList").status == 200
        transport.close()


def floating_ips_used(transport: HttpTransport) -> int:
    client = ApiClient(transport)
    assert client.login().status == 200
    return int(client.call("GetUsageLimits").data["totalFloatingIpsUsed"])


def open_files(process: int) -> str:
    return "\n".join(str(link.readlink()) for link in Path(f"/proc/{process}/fd").iterdir() if link.is_symlink())


@pytest.mark.parametrize("arguments", [("backup", "b.tar"), ("restore", "b.tar", "--yes")])
def test_backup_and_restore_reject_a_postgresql_store(
    cloudconsole: Run, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    command, file, *more = arguments
    store = ("--data", tmp_path / "data", "--database", "postgresql://console@127.0.0.1:1/cloud")
    done = cloudconsole("admin", command, tmp_path / file, *more, *store)
    assert done.code == 1
    assert "the database cloud on 127.0.0.1 with PostgreSQL tools" in done.err
    assert list(tmp_path.iterdir()) == []
