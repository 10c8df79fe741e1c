"""`cloudconsole admin backup` and `restore`, also with a running console, full disks and read-only stores."""

import json
import os
import resource
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest
from sqlalchemy import insert

from cloudconsole.operator.transaction import os_user_name
from cloudconsole.store.base import DATABASE_NAMES, StoreError
from cloudconsole.store.sqlite.backup import read_only_snapshot
from cloudconsole.store.tables import nodes, sessions
from tests.e2e.processes import connection_to, open_files, workers
from tests.harness import ApiClient, running_server
from tests.other_users import OTHER_UID
from tests.server.commands.admin.test_cloud_file import newest_entry
from tests.server.commands.conftest import Run, admin_on_terminal
from tests.server.http.helpers import rows
from tests.stores import write_transaction

pytestmark = pytest.mark.embedded_only

SESSION = {"id_hash": b"\0", "account_id": 1, "account_version": 1, "csrf_seed": "seed", "seen_at": 1, "expires_at": 1}


def has_node(data: Path) -> bool:
    return "since" in {row.name for row in rows(data, nodes)}


@pytest.fixture
def backup(admin: Run, data: Path, tmp_path: Path) -> Path:
    """A backup of the store, which has one more node since; it contains a session."""
    with write_transaction(data, "activity") as connection:
        connection.execute(insert(sessions).values(SESSION))
    assert admin("backup", tmp_path / "b.tar").code == 0
    with write_transaction(data, "cloud") as connection:
        connection.execute(insert(nodes).values(name="since"))
    return tmp_path / "b.tar"


def test_backup_and_restore_print_a_summary(admin: Run, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.tar"
    done = admin("backup", file)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"wrote {file}: the store as of ")
    admin("node", "add", "since")
    done = admin("restore", file, "--yes")
    assert (done.code, done.err) == (0, "")
    first, *rest = done.out.splitlines()
    assert first.startswith(f"restored {data} to the store as of ")
    assert first.endswith(": 3 tenants, 3 accounts, 29 resources")
    assert rest == [
        "audit log entries retained that are not in the backup: 2",  # Those of the backup and of the node.
        "all sessions ended: everyone has to log in again",
    ]
    assert not has_node(data)


def test_backup_is_audited_and_json_describes_it_and_the_restore(admin: Run, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.tar"
    made = json.loads(admin("backup", file, "--json").out)
    entry = newest_entry(admin)
    assert (entry["actor"], entry["change"], entry["subject"]) == (os_user_name(), "backup", "b.tar")
    assert entry["after"] == {"made_at": made["made_at"], "bytes": made["bytes"]}
    assert (made["file"], made["bytes"] > 0) == (str(file), True)
    assert json.loads(admin("restore", file, "--yes", "--json").out) == {
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
    admin: Run, data: Path, backup: Path, options: tuple[str, ...], kept: int
) -> None:
    done = admin("restore", backup, "--yes", *options)
    assert (len(rows(data, sessions)), "all sessions ended" in done.out) == (kept, not kept)


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
def test_a_backup_is_not_written_to_standard_output(admin: Run, name: str) -> None:
    done = admin("backup", name)
    message = f"{name}: a backup can only be written to a file: pass a file name"
    assert (done.code, done.out, done.err) == (1, "", f"cloudconsole: {message}\n")


def test_existing_backup_is_replaced_only_with_force(admin: Run, backup: Path) -> None:
    assert admin("backup", backup).code == 1
    assert admin("backup", backup, "--force").code == 0


def test_restore_without_a_terminal_requires_yes(admin: Run, data: Path, backup: Path) -> None:
    done = admin("restore", backup)
    assert done.err == f"cloudconsole: this replaces all data in {data}: pass --yes or run on a terminal\n"
    assert has_node(data)


@pytest.mark.parametrize("answer", ["yes", "no", ""])
def test_restore_on_a_terminal_asks_for_confirmation(data: Path, backup: Path, answer: str) -> None:
    terminal = admin_on_terminal(data, "restore", "b.tar")
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


def test_restore_leaves_the_token_keys_unchanged(admin: Run, data: Path, backup: Path) -> None:
    (data / "token-keys").write_text("since the backup")
    assert admin("restore", backup, "--yes").code == 0
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
        assert not [path for path in open_files(first) | open_files(second) if "deleted" in str(path)]
        assert "ERROR" not in server.log()


def newest_title(client: ApiClient) -> str:
    assert client.login().status == 200
    return str(client.call("GetNews").data[0]["title"])


@pytest.mark.parametrize("arguments", [("backup", "b.tar"), ("restore", "b.tar", "--yes")])
def test_backup_and_restore_reject_postgresql(cloudconsole: Run, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    command, file, *more = arguments
    store = ("--data", tmp_path / "data", "--database", "postgresql://console@127.0.0.1:1/cloud")
    done = cloudconsole("admin", command, tmp_path / file, *more, *store)
    assert done.code == 1
    assert "the database cloud on 127.0.0.1 with PostgreSQL tools" in done.err
    assert list(tmp_path.iterdir()) == []


pytestmark = pytest.mark.embedded_only

SMALL_SIZE = 128 * 1024
"""Less than the size of a store."""


@contextmanager
def size_limit() -> Iterator[None]:
    """Limit the size of every file that is written."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL_SIZE, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def small_disk(directory: Path) -> Iterator[str]:
    """Mount a small disk, or limit file sizes where that is not possible; yield the expected error."""
    try:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_SIZE}", "none", str(directory)]
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        with size_limit():
            yield "Input/output error"
        return
    try:
        yield "No space left on device"
    finally:
        subprocess.run(["umount", directory], check=True)


def test_full_disk_is_reported_for_the_backup_file(admin: Run, tmp_path: Path) -> None:
    directory = tmp_path / "small"
    directory.mkdir(mode=0o700)
    with small_disk(directory) as reason:
        done = admin("backup", directory / "b.tar")
        left = list(directory.iterdir())
    assert (done.code, done.err) == (1, f"cloudconsole: {directory}/b.tar cannot be written: {reason}\n")
    assert left == []


def test_failed_copy_is_reported_for_the_backup_file(admin: Run, tmp_path: Path) -> None:
    with size_limit():
        done = admin("backup", tmp_path / "b.tar")
    assert (done.code, done.err) == (1, f"cloudconsole: {tmp_path}/b.tar cannot be written: Input/output error\n")


@contextmanager
def read_only(data: Path, writable: Path) -> Iterator[None]:
    """Become a user who may only read the data directory and write to another one; for root, a different user."""
    is_root = os.geteuid() == 0
    for file in data.iterdir():
        file.chmod(0o444 if is_root else 0o400)
    data.chmod(0o555 if is_root else 0o500)
    writable.mkdir(mode=0o700)
    if is_root:
        os.chown(writable, OTHER_UID, -1)
        os.seteuid(OTHER_UID)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        data.chmod(0o700)


@pytest.fixture
def readable() -> Iterator[Path]:
    """A directory that other users can read, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def with_wal(data: Path, target: Path) -> None:
    """As after a crash: the last change is only in the write-ahead log."""
    with closing(sqlite3.connect(data / "cloud.db")) as writer:
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute("INSERT INTO nodes (name) VALUES ('last')")
        writer.commit()
        copytree(data, target)


@pytest.mark.parametrize("copy_store", [copytree, partial(copytree, ignore=ignore_patterns("lock")), with_wal])
def test_read_only_store_is_backed_up(
    cloudconsole: Run, data: Path, tmp_path: Path, readable: Path, copy_store: Callable[[Path, Path], object]
) -> None:
    store, backup = readable / "data", readable / "own" / "b.tar"
    copy_store(data, store)
    before = sorted(store.iterdir())
    with read_only(store, backup.parent):
        done = cloudconsole("admin", "backup", backup, "--data", store)
        assert sorted(store.iterdir()) == before
    assert done.code == 0
    assert done.err.startswith("cloudconsole: backup finished but not recorded in the audit log: ")
    assert cloudconsole("admin", "restore", backup, "--to", tmp_path / "new").code == 0
    found = {row.name for row in rows(tmp_path / "new", nodes)}
    assert found
    assert ("last" in found) is (copy_store is with_wal)


def test_unreadable_wal_fails_the_backup(cloudconsole: Run, data: Path, readable: Path) -> None:
    store, writable = readable / "data", readable / "own"
    with_wal(data, store)
    (store / "cloud.db-shm").unlink()
    with read_only(store, writable):
        done = cloudconsole("admin", "backup", writable / "b.tar", "--data", store)
    message = f"{store}/cloud.db-wal cannot be read in a directory that is not writable"
    fix = "copy the directory to a writable one and pass that with --data"
    assert (done.code, done.err) == (1, f"cloudconsole: {message}: {fix}\n")
    assert list(writable.iterdir()) == []


@pytest.mark.parametrize("part", DATABASE_NAMES)
def test_write_during_a_read_only_snapshot_is_detected(data: Path, part: str) -> None:
    snapshot = ExitStack()
    snapshot.enter_context(read_only_snapshot(data, DATABASE_NAMES))
    with closing(sqlite3.connect(data / f"{part}.db")) as writer, writer:
        writer.execute("CREATE TABLE more (id INTEGER)")
    with pytest.raises(StoreError, match="was written to during the backup: try again"):
        snapshot.close()
