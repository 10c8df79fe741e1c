"""`cloudconsole admin backup` and `restore`, also with a running console."""

import json
from pathlib import Path

import pytest
from sqlalchemy import insert

from cloudconsole.operator.transaction import os_user_name
from cloudconsole.store.tables import nodes, sessions
from tests.e2e.processes import connection_to, workers
from tests.harness import ApiClient, running_server
from tests.server.commands.admin.test_cloud_file import newest_entry
from tests.server.commands.conftest import Run
from tests.server.http.helpers import rows
from tests.stores import write_transaction
from tests.terminal import Terminal

pytestmark = pytest.mark.embedded_only

SESSION = {"id_hash": b"\0", "account_id": 1, "account_version": 1, "csrf_seed": "seed", "seen_at": 1, "expires_at": 1}


def add_node(data: Path) -> None:
    with write_transaction(data, "cloud") as connection:
        connection.execute(insert(nodes).values(name="since"))


def has_node(data: Path) -> bool:
    return "since" in {row.name for row in rows(data, nodes)}


@pytest.fixture
def backup(cloudconsole: Run, data: Path, tmp_path: Path) -> Path:
    """A backup of the store, which has one more node since; it contains a session."""
    with write_transaction(data, "activity") as connection:
        connection.execute(insert(sessions).values(SESSION))
    assert cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data).code == 0
    add_node(data)
    return tmp_path / "b.tar"


def test_backup_and_restore_print_a_summary(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.tar"
    done = cloudconsole("admin", "backup", file, "--data", data)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"wrote {file}: the store as of ")
    cloudconsole("admin", "node", "add", "since", "--data", data)
    done = cloudconsole("admin", "restore", file, "--data", data, "--yes")
    assert (done.code, done.err) == (0, "")
    first, *rest = done.out.splitlines()
    assert first.startswith(f"restored {data} to the store as of ")
    assert first.endswith(": 3 tenants, 3 accounts, 29 resources")
    assert rest == [
        "audit log entries retained that are not in the backup: 2",  # Those of the backup and of the node.
        "all sessions ended: everyone has to log in again",
    ]
    assert not has_node(data)


def test_backup_is_audited_and_can_be_restored_with_json_output(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.tar"
    made = json.loads(cloudconsole("admin", "backup", file, "--data", data, "--json").out)
    entry = newest_entry(cloudconsole, data)
    assert (entry["actor"], entry["change"], entry["subject"]) == (os_user_name(), "backup", "b.tar")
    assert entry["after"] == {"made_at": made["made_at"], "bytes": made["bytes"]}
    assert (made["file"], made["bytes"] > 0) == (str(file), True)
    assert json.loads(cloudconsole("admin", "restore", file, "--data", data, "--yes", "--json").out) == {
        "store": str(data),
        "made_at": made["made_at"],
        "tenants": 3,
        "accounts": 3,
        "resources": 29,
        "sessions_ended": True,
        "audit_entries_retained": 1,
    }


@pytest.mark.parametrize(("options", "kept"), [((), 0), (("--keep-sessions",), 1)])
def test_restore_keeps_sessions_only_on_request(
    cloudconsole: Run, data: Path, backup: Path, options: tuple[str, ...], kept: int
) -> None:
    done = cloudconsole("admin", "restore", backup, "--data", data, "--yes", *options)
    assert (len(rows(data, sessions)), "all sessions ended" in done.out) == (kept, not kept)


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
def test_a_backup_is_not_written_to_standard_output(cloudconsole: Run, data: Path, name: str) -> None:
    done = cloudconsole("admin", "backup", name, "--data", data)
    message = f"{name}: a backup can only be written to a file: pass a file name"
    assert (done.code, done.out, done.err) == (1, "", f"cloudconsole: {message}\n")


def test_existing_backup_is_replaced_only_with_force(cloudconsole: Run, data: Path, backup: Path) -> None:
    assert cloudconsole("admin", "backup", backup, "--data", data).code == 1
    assert cloudconsole("admin", "backup", backup, "--data", data, "--force").code == 0


def test_restore_without_a_terminal_requires_yes(cloudconsole: Run, data: Path, backup: Path) -> None:
    done = cloudconsole("admin", "restore", backup, "--data", data)
    assert done.err == f"cloudconsole: this replaces all data in {data}: pass --yes or run on a terminal\n"
    assert has_node(data)


@pytest.mark.parametrize("answer", ["yes", "no", ""])
def test_restore_on_a_terminal_asks_for_confirmation(data: Path, backup: Path, answer: str) -> None:
    terminal = Terminal(backup.parent, "admin", "restore", "b.tar", "--data", str(data))
    terminal.wait_for("Type yes to continue: ")
    assert "3 tenants, 3 accounts" in terminal.shown
    terminal.type(answer + "\n")
    assert terminal.end() == (0 if answer == "yes" else 1)
    assert ("nothing was changed" in terminal.shown) is has_node(data) is (answer != "yes")


def test_invalid_backup_is_reported_before_confirmation(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    (tmp_path / "b.tar").write_text("nonsense")
    for target in (("--data", data), ("--to", tmp_path / "new")):
        done = cloudconsole("admin", "restore", tmp_path / "b.tar", *target)
        assert done.code == 1
        assert done.err.startswith(f"cloudconsole: {tmp_path}/b.tar is not a complete backup")
    assert not (tmp_path / "new").exists()


def test_restore_without_a_store_needs_no_confirmation(cloudconsole: Run, backup: Path, tmp_path: Path) -> None:
    for flag, target in (("--to", tmp_path / "new"), ("--data", tmp_path / "other")):
        assert cloudconsole("admin", "restore", backup, flag, target).code == 0
        assert rows(target, nodes)


def test_restore_to_a_non_empty_directory_is_rejected(cloudconsole: Run, backup: Path, tmp_path: Path) -> None:
    done = cloudconsole("admin", "restore", backup, "--to", tmp_path)
    assert done.code == 1
    assert "is not an empty directory: choose an empty or new one" in done.err


def test_restore_leaves_the_token_keys_unchanged(cloudconsole: Run, data: Path, backup: Path) -> None:
    (data / "token-keys").write_text("since the backup")
    assert cloudconsole("admin", "restore", backup, "--data", data, "--yes").code == 0
    assert (data / "token-keys").read_text() == "since the backup"


def test_running_console_serves_the_restored_store(cloudconsole: Run, tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "b.tar"
    with running_server(tmp_path, "--workers", "2") as server:
        first, second = sorted(workers(server))
        with connection_to(server, first) as one, connection_to(server, second) as two:
            assert cloudconsole("admin", "backup", file, "--data", data).code == 0
            assert cloudconsole("admin", "news", "disable", 10, "--data", data).code == 0
            clients = [ApiClient(transport) for transport in (one, two)]
            titles = [newest_title(client) for client in clients]
            assert cloudconsole("admin", "restore", file, "--data", data, "--yes").code == 0
            assert [client.call("GetNews").error for client in clients] == ["login_required"] * 2
            assert not {newest_title(client) for client in clients} & set(titles)
            assert workers(server) == {first, second}
        assert "deleted" not in open_files(first) + open_files(second)
        assert "ERROR" not in server.log()


def newest_title(client: ApiClient) -> str:
    assert client.login().status == 200
    return str(client.call("GetNews").data[0]["title"])


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
