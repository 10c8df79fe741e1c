"""Backup and restore of a store that is not being served: contents, rejected backups and failures."""

import hashlib
import io
import json
import sqlite3
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC
from functools import partial
from pathlib import Path
from shutil import copytree
from stat import S_IMODE

import pytest

from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.maintenance.backup import restore, stage_restore, write_backup
from cloudconsole.store.base import StoreError
from cloudconsole.store.sqlite import backup as backup_module
from cloudconsole.store.sqlite.backup import overwrite_database
from cloudconsole.store.sqlite.engine import connect
from cloudconsole.store.sqlite.store import prepare
from tests.newer_version import CURRENT_REVISION, NEWER_REVISION, make_newer
from tests.older_stores import make_older

pytestmark = pytest.mark.embedded_only

NOW = 1_800_000_000


def execute(data: Path, part: str, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(data / f"{part}.db", timeout=300)) as connection, connection:
        return connection.execute(sql).fetchall()


def restore_backup(file: Path, directory: Path, *, keep_sessions: bool = False) -> int:
    with stage_restore(file, directory) as backup:
        return restore(backup, directory, actor="ann", now=NOW, zone=UTC, keep_sessions=keep_sessions)


def nodes(data: Path) -> set[object]:
    return {name for (name,) in execute(data, "cloud", "SELECT name FROM nodes")}


def add_session(data: Path, name: str) -> None:
    execute(data, "activity", f"INSERT INTO sessions VALUES (CAST('{name}' AS BLOB), 1, 1, 'seed', 1, 99999999999)")


@pytest.fixture
def backup(data: Path, tmp_path: Path) -> Path:
    write_backup(data, tmp_path / "b.tar", now=NOW)
    return tmp_path / "b.tar"


# The backup


def test_backup_is_private_and_starts_with_a_manifest(backup: Path, data: Path) -> None:
    assert S_IMODE(backup.stat().st_mode) == 0o600
    assert {file.name for file in backup.parent.iterdir()} == {"b.tar", data.name}
    assert [*members(backup)] == ["manifest.json", "cloud.db", "activity.db"]
    manifest = json.loads(members(backup)["manifest.json"])
    assert (manifest["made_at"], [*manifest["files"]]) == ("2027-01-15T08:00:00Z", ["cloud", "activity"])


def test_existing_file_is_replaced_only_with_force(backup: Path, data: Path) -> None:
    backup.write_text("precious")
    with pytest.raises(OperatorError, match="already exists: choose another name, or pass --force to replace it"):
        write_backup(data, backup, now=NOW)
    assert backup.read_text() == "precious"
    write_backup(data, backup, now=NOW, force=True)
    assert tarfile.is_tarfile(backup)


def test_unsafe_target_is_rejected_before_anything_is_written(data: Path, tmp_path: Path) -> None:
    (tmp_path / "b.tar").symlink_to("not there")
    with pytest.raises(OperatorError, match="is a symbolic link"):
        write_backup(data, tmp_path / "b.tar", now=NOW, force=True)
    assert not (tmp_path / "not there").exists()


def test_store_in_a_world_writable_directory_is_rejected(backup: Path, data: Path) -> None:
    data.chmod(0o777)
    with pytest.raises(StoreError, match="chmod o-w"):
        write_backup(data, backup, now=NOW, force=True)
    with pytest.raises(StoreError, match="chmod o-w"), stage_restore(backup, data):
        pass


def test_damaged_store_does_not_replace_the_old_backup(backup: Path, data: Path) -> None:
    before = backup.read_bytes()
    execute(data, "cloud", "UPDATE accounts SET tenant_id = 4711")
    with pytest.raises(StoreError, match=r"the store is damaged; no backup was written: cloud\.db: a row of accounts "):
        write_backup(data, backup, now=NOW, force=True)
    assert backup.read_bytes() == before


def test_backup_has_only_changes_committed_before_it(data: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(data / "cloud.db")) as writer:
        writer.execute("INSERT INTO nodes (name) VALUES ('after')")
        writer.commit()
        write_backup(data, tmp_path / "b.tar", now=NOW)
    execute(data, "cloud", "INSERT INTO nodes (name) VALUES ('later')")
    restore_backup(tmp_path / "b.tar", tmp_path / "new")
    assert "after" in nodes(tmp_path / "new")
    assert "later" not in nodes(tmp_path / "new")


# The restore


def test_restore_replaces_the_contents_of_the_store(backup: Path, data: Path) -> None:
    before = nodes(data)
    execute(data, "cloud", "INSERT INTO nodes (name) VALUES ('since')")
    restore_backup(backup, data)
    assert nodes(data) == before
    assert {file.name for file in data.iterdir()} <= {"cloud.db", "activity.db", "lock"}
    entry = execute(data, "cloud", "SELECT at, actor, change FROM operator_audit ORDER BY id DESC")[0]
    assert entry == (NOW, "ann", "restore")


def add_entry(data: Path, change: str, at: int = NOW) -> None:
    execute(data, "cloud", f"INSERT INTO operator_audit (at, actor, change) VALUES ({at}, 'bob', '{change}')")


def audit_entries(data: Path) -> list[tuple[object, ...]]:
    return execute(data, "cloud", "SELECT id, change FROM operator_audit ORDER BY id")


def test_restore_keeps_audit_entries_since_the_backup(data: Path, tmp_path: Path) -> None:
    add_entry(data, "before")
    write_backup(data, tmp_path / "b.tar", now=NOW)
    add_entry(data, "since")
    add_entry(data, "since then")
    before = audit_entries(data)
    assert restore_backup(tmp_path / "b.tar", data) == 2
    *preserved, (_, newest) = audit_entries(data)
    assert (preserved, newest) == (before, "restore")
    (after,) = execute(data, "cloud", "SELECT after FROM operator_audit ORDER BY id DESC LIMIT 1")[0]
    assert json.loads(str(after))["audit_entries_retained"] == 2
    assert restore_backup(tmp_path / "b.tar", tmp_path / "new") == 0
    assert [change for _, change in audit_entries(tmp_path / "new")] == ["load", "before", "restore"]


def test_audit_entries_survive_restores_in_any_order(data: Path, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        add_entry(data, name)
        write_backup(data, tmp_path / f"{name}.tar", now=NOW)
    preserved = [restore_backup(tmp_path / f"{name}.tar", data) for name in ("one", "three", "two", "two")]
    assert preserved == [2, 1, 3, 4]
    assert [change for _, change in audit_entries(data)][1:] == ["one", "two", "three", *["restore"] * 4]


def test_audit_entries_survive_the_restore_of_another_store(data: Path, tmp_path: Path) -> None:
    other = copytree(data, tmp_path / "other")
    add_entry(data, "here")
    add_entry(other, "there")
    write_backup(other, tmp_path / "other.tar", now=NOW)
    assert restore_backup(tmp_path / "other.tar", data) == 1
    assert [change for _, change in audit_entries(data)] == ["load", "there", "here", "restore"]


def test_restore_keeps_the_access_audit_since_the_backup(backup: Path, data: Path) -> None:
    execute(data, "activity", "INSERT INTO access_audit VALUES (NULL, 1, 'login', 'ann', '192.0.2.1', 'r')")
    restore_backup(backup, data)
    assert execute(data, "activity", "SELECT event, username FROM access_audit") == [("login", "ann")]


def test_callback_of_the_restore_runs_under_the_write_lock(backup: Path, data: Path, tmp_path: Path) -> None:
    with tarfile.open(backup) as tar:
        tar.extract("cloud.db", tmp_path, filter="data")
    counts = []

    def write() -> None:
        with closing(sqlite3.connect(data / "cloud.db", timeout=0)) as writer:
            with pytest.raises(sqlite3.OperationalError, match="database is locked"):
                writer.execute("INSERT INTO nodes (name) VALUES ('never')")
            counts.append(writer.execute("SELECT COUNT(*) FROM nodes").fetchone())
        with closing(sqlite3.connect(tmp_path / "cloud.db")) as file, file:
            file.execute("INSERT INTO nodes (name) VALUES ('at last')")

    overwrite_database(data, "cloud", tmp_path / "cloud.db", when_locked=write)
    assert len(counts) == 1
    assert "at last" in nodes(data)


def test_no_entry_of_concurrent_writers_is_lost(backup: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup_module, "BUSY_SECONDS", 300)
    monkeypatch.setattr(backup_module, "connect", partial(connect, timeout=300))
    written: list[str] = []
    over = threading.Event()

    def keep_writing() -> None:
        while not over.is_set() or len(written) < 20:
            add_entry(data, f"line {len(written)}")
            written.append(f"line {len(written)}")

    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(keep_writing)
        try:
            for _ in range(5):
                restore_backup(backup, data)
        finally:
            over.set()
        writing.result(300)
    assert [change for _, change in audit_entries(data) if str(change).startswith("line")] == written


@pytest.mark.parametrize("keep_sessions", [False, True])
def test_restore_ends_all_sessions_or_keeps_those_of_backup(data: Path, tmp_path: Path, keep_sessions: bool) -> None:
    add_session(data, "before")
    write_backup(data, tmp_path / "b.tar", now=NOW)
    add_session(data, "since")
    restore_backup(tmp_path / "b.tar", data, keep_sessions=keep_sessions)
    left = execute(data, "activity", "SELECT CAST(id_hash AS TEXT) FROM sessions")
    assert left == ([("before",)] if keep_sessions else [])


def test_restore_keeps_the_csrf_key_of_a_store_but_not_of_a_new_one(data: Path, tmp_path: Path) -> None:
    execute(data, "activity", "INSERT INTO secrets VALUES ('csrf', x'01')")
    write_backup(data, tmp_path / "b.tar", now=NOW)
    execute(data, "activity", "UPDATE secrets SET value = x'02'")
    for folder, key in ((data, b"\x02"), (tmp_path / "new", b"\x01")):
        restore_backup(tmp_path / "b.tar", folder)
        assert execute(folder, "activity", "SELECT name, value FROM secrets") == [("csrf", key)]
    assert S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert S_IMODE((tmp_path / "new/cloud.db").stat().st_mode) == 0o600


def test_restore_into_a_store_with_another_page_size(backup: Path, tmp_path: Path) -> None:
    prepare(tmp_path / "new")
    for part in ("cloud", "activity"):
        with closing(sqlite3.connect(tmp_path / f"new/{part}.db", isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA page_size = 8192")
            connection.execute("VACUUM")
            connection.execute("PRAGMA journal_mode = WAL")
    restore_backup(backup, tmp_path / "new")
    assert execute(tmp_path / "new", "cloud", "PRAGMA page_size") == [(8192,)]
    assert nodes(tmp_path / "new")


def test_older_backup_is_migrated(data: Path, tmp_path: Path) -> None:
    usage = execute(data, "cloud", "SELECT * FROM usage")
    make_older(data)
    write_backup(data, tmp_path / "b.tar", now=NOW)
    restore_backup(tmp_path / "b.tar", data)
    assert usage
    assert execute(data, "cloud", "SELECT * FROM usage") == usage
    assert execute(data, "activity", "SELECT * FROM undeclared_proxies") == []


def test_restore_fails_while_a_writer_holds_the_lock(backup: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    execute(data, "cloud", "INSERT INTO nodes (name) VALUES ('since')")
    # SQLite waits for the lock, then the restore gives up.
    monkeypatch.setattr(backup_module, "BUSY_SECONDS", 0)
    monkeypatch.setattr(backup_module, "connect", partial(connect, timeout=0))
    with closing(sqlite3.connect(data / "activity.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="is locked by another writer: try again"):
            restore_backup(backup, data)
    assert "since" in nodes(data)


# Rejected backups, which change nothing


def members(file: Path) -> dict[str, bytes]:
    """Return the contents of a backup's files by name."""
    with tarfile.open(file) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


def rewrite(file: Path, contents: dict[str, bytes]) -> None:
    with tarfile.open(file, "w") as tar:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def plant(file: Path, part: str, sql: str) -> None:
    """Run SQL in a database of a backup and update the manifest to match."""
    contents = members(file)
    database = file.with_suffix(".planted")
    database.write_bytes(contents[f"{part}.db"])
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.executescript(sql)
    content = database.read_bytes()
    manifest = json.loads(contents["manifest.json"])
    manifest["files"][part] |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    rewrite(file, contents | {f"{part}.db": content, "manifest.json": json.dumps(manifest).encode()})


MASTER = "PRAGMA writable_schema = ON; INSERT INTO sqlite_master VALUES "
PROMOTION = (
    "AFTER UPDATE OF password_hash ON accounts BEGIN UPDATE accounts SET role = ''operator'' WHERE id = new.id; END"
)
ENDLESS_VIEW = """
    PRAGMA legacy_alter_table = ON; ALTER TABLE resources RENAME TO held;
    CREATE VIEW resources AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x AS id FROM n"""
REVISION_VIEW = "DROP TABLE alembic_version; CREATE VIEW alembic_version AS SELECT '0004' AS version_num"
STATISTICS_VIEW = f"{MASTER}('view', 'sqlite_stat1', 'sqlite_stat1', 0, 'CREATE VIEW sqlite_stat1 AS SELECT 1 AS tbl')"


def _ignoring(name: str, event: str) -> str:
    return f"CREATE TRIGGER {name} BEFORE {event} BEGIN SELECT RAISE(IGNORE); END"


def _promoting(name: str) -> str:
    return f"{MASTER}('trigger', '{name}', 'accounts', 0, 'CREATE TRIGGER {name} {PROMOTION}')"


@pytest.mark.parametrize(
    ("part", "sql", "named"),
    [
        ("cloud", _ignoring("hush", "INSERT ON operator_audit"), "trigger hush"),
        ("activity", _ignoring("stay", "DELETE ON sessions"), "trigger stay"),
        ("cloud", "CREATE TABLE extra (a INTEGER CHECK (length(hex(zeroblob(450000000))) > a))", "table extra"),
        ("cloud", "DROP INDEX ix_resources_name_id", "index ix_resources_name_id"),
        ("cloud", ENDLESS_VIEW, "index ix_resources"),
        ("cloud", REVISION_VIEW, "alembic_version"),
        ("cloud", _promoting("sqlite_stat_x"), "trigger sqlite_stat_x"),
        ("cloud", _promoting("sqlite_stat1"), "trigger sqlite_stat1"),
        ("cloud", STATISTICS_VIEW, "view sqlite_stat1"),
    ],
)
def test_backup_with_unexpected_schema_is_rejected(backup: Path, data: Path, part: str, sql: str, named: str) -> None:
    plant(backup, part, sql)
    before = nodes(data)
    with pytest.raises(StoreError, match=f"is not a valid Cloud Console backup: .*{named}.* in {part}.db"):
        restore_backup(backup, data)
    assert nodes(data) == before


def test_backup_with_a_wrong_revision_is_rejected(backup: Path, data: Path) -> None:
    plant(backup, "cloud", "UPDATE alembic_version SET version_num = '0001'")
    with pytest.raises(StoreError, match=r"cloud\.db does not have revision"):
        restore_backup(backup, data)


def test_statistics_of_analyze_are_accepted(backup: Path, data: Path) -> None:
    plant(backup, "cloud", "ANALYZE")
    restore_backup(backup, data)


def test_directory_where_others_can_replace_files_is_rejected(backup: Path, data: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(StoreError, match=f"every user can replace files in {shared}"):
        write_backup(data, shared / "b.tar", now=NOW)
    with pytest.raises(StoreError, match=f"every user can replace files in {shared}"):
        restore_backup(backup, shared / "new")
    shared.chmod(0o1777)
    write_backup(data, shared / "b.tar", now=NOW)
    restore_backup(backup, shared / "new")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("manifest.json", None, "is not a backup: it does not start with manifest.json"),
        ("manifest.json", (b"{", b"["), "is not a backup: its manifest cannot be read"),
        ("manifest.json", (b'"format": 1', b'"format": 2'), "was created by a newer Cloud Console"),
        ("activity.db", None, "is not a complete backup: activity.db is missing or has another size"),
        ("cloud.db", (b"\0", b"!"), "is damaged: cloud.db does not match its manifest; use another backup"),
    ],
)
def test_incomplete_or_damaged_backup_is_rejected(
    backup: Path, data: Path, name: str, change: tuple[bytes, bytes] | None, message: str
) -> None:
    """Replace bytes in a file of the backup, or omit the file."""
    execute(data, "cloud", "INSERT INTO nodes (name) VALUES ('since')")
    contents = members(backup)
    if change is None:
        del contents[name]
    else:
        contents[name] = contents[name].replace(*change, 1)
    rewrite(backup, contents)
    with pytest.raises(StoreError, match=message):
        restore_backup(backup, data)
    assert "since" in nodes(data)
    assert not list(data.glob(".restore*"))


def test_backup_of_a_newer_revision_is_rejected(backup: Path, data: Path, tmp_path: Path) -> None:
    newer = copytree(data, tmp_path / "newer")
    execute(newer, "cloud", "UPDATE alembic_version SET version_num = '9999'")
    write_backup(newer, tmp_path / "newer.tar", now=NOW)
    with pytest.raises(StoreError, match=r"newer Cloud Console .*9999.*install that version"):
        restore_backup(tmp_path / "newer.tar", data)
    restore_backup(backup, data)


def test_store_migrated_by_a_newer_version_is_not_replaced(backup: Path, data: Path) -> None:
    make_newer(data, oldest_compatible=CURRENT_REVISION)
    with pytest.raises(StoreError, match=rf"newer Cloud Console \(revision {NEWER_REVISION}\).*--to DIR"):
        restore_backup(backup, data)


def test_missing_backup_file_is_rejected(data: Path, tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="no such file"):
        restore_backup(tmp_path / "none.tar", data)


def test_error_for_an_unreadable_store_suggests_another_target(backup: Path, data: Path) -> None:
    (data / "cloud.db").write_bytes(b"rubbish" * 1000)
    with pytest.raises(StoreError, match="restore into an empty directory instead: --to DIR"):
        restore_backup(backup, data)
