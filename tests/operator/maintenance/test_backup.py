"""Backup and restore of a store that nobody serves: what is kept, what is refused, and what a failure leaves."""

import bz2
import gzip
import hashlib
import io
import json
import sqlite3
import tarfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC
from pathlib import Path
from shutil import copytree
from stat import S_IMODE

import pytest

from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.maintenance.backup import restore, stage_restore, write_backup
from cloudconsole.store.base import BUSY_SECONDS, StoreError
from cloudconsole.store.sqlite.backup import overwrite_database
from cloudconsole.store.sqlite.store import prepare
from tests.newer_version import NEWER, OWN, make_newer
from tests.older_stores import make_older

pytestmark = pytest.mark.embedded_only

NOW = 1_800_000_000


def execute(data: Path, part: str, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(data / f"{part}.db")) as connection, connection:
        return connection.execute(sql).fetchall()


def bring_back(file: Path, folder: Path, *, keep_sessions: bool = False) -> int:
    with stage_restore(file, folder) as backup:
        return restore(backup, folder, actor="ann", now=NOW, zone=UTC, keep_sessions=keep_sessions)


def nodes(data: Path) -> set[object]:
    return {name for (name,) in execute(data, "cloud", "SELECT name FROM nodes")}


def add_session(data: Path, name: str) -> None:
    execute(data, "activity", f"INSERT INTO sessions VALUES (CAST('{name}' AS BLOB), 1, 1, 'seed', 1, 99999999999)")


def sessions(data: Path) -> set[object]:
    return {name for (name,) in execute(data, "activity", "SELECT CAST(id_hash AS TEXT) FROM sessions")}


@pytest.fixture
def backup(data: Path, tmp_path: Path) -> Path:
    write_backup(data, tmp_path / "b.tar", now=NOW)
    return tmp_path / "b.tar"


# The backup


def test_a_backup_is_for_its_owner_alone_and_leaves_nothing_beside_it(backup: Path, data: Path) -> None:
    assert S_IMODE(backup.stat().st_mode) == 0o600
    assert {file.name for file in backup.parent.iterdir()} == {"b.tar", data.name}


def test_a_manifest_leads_it_and_says_what_it_is(backup: Path) -> None:
    with tarfile.open(backup) as tar:
        assert tar.getnames() == ["manifest.json", "cloud.db", "activity.db"]
        head = tar.extractfile("manifest.json")
        assert head is not None
        manifest = json.load(head)
    assert manifest["made_at"] == "2027-01-15T08:00:00Z"
    assert set(manifest["files"]) == {"cloud", "activity"}


def test_a_file_that_is_there_is_replaced_only_when_told(backup: Path, data: Path) -> None:
    backup.write_text("precious")
    with pytest.raises(OperatorError, match="already exists: choose another name, or pass --force to replace it"):
        write_backup(data, backup, now=NOW)
    assert backup.read_text() == "precious"
    write_backup(data, backup, now=NOW, force=True)
    assert tarfile.is_tarfile(backup)


def test_a_folder_in_its_place_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="is not a regular file"):
        write_backup(data, tmp_path, now=NOW, force=True)


def test_a_link_in_its_place_is_not_followed(data: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "b.tar").symlink_to("precious")
    (tmp_path / "loose.tar").symlink_to("not there")
    for name in ("b.tar", "loose.tar"):
        with pytest.raises(OperatorError, match="is a symbolic link, which is not followed: choose another name"):
            write_backup(data, tmp_path / name, now=NOW, force=True)
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "not there").exists()


def test_a_folder_that_is_not_there_is_named(data: Path, tmp_path: Path) -> None:
    with pytest.raises(OperatorError) as refused:
        write_backup(data, tmp_path / "none/b.tar", now=NOW)
    words = f"{tmp_path}/none/b.tar cannot be written: there is no directory {tmp_path}/none: create it first"
    assert str(refused.value) == words


def test_a_store_in_a_dangerous_folder_is_neither_copied_nor_replaced(backup: Path, data: Path) -> None:
    data.chmod(0o777)
    with pytest.raises(StoreError, match="chmod o-w"):
        write_backup(data, backup, now=NOW, force=True)
    with pytest.raises(StoreError, match="chmod o-w"), stage_restore(backup, data):
        pass


def test_a_damaged_store_is_not_backed_up_and_the_old_backup_stands(backup: Path, data: Path) -> None:
    before = backup.read_bytes()
    execute(data, "cloud", "UPDATE accounts SET tenant_id = 4711")
    with pytest.raises(StoreError, match=r"the store is damaged; no backup was written: cloud\.db: a row of accounts "):
        write_backup(data, backup, now=NOW, force=True)
    assert backup.read_bytes() == before


def test_someone_who_writes_has_not_written_yet(data: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(data / "cloud.db")) as writer:
        writer.execute("INSERT INTO nodes (name) VALUES ('after')")
        writer.commit()
        write_backup(data, tmp_path / "b.tar", now=NOW)
    execute(data, "cloud", "INSERT INTO nodes (name) VALUES ('later')")
    bring_back(tmp_path / "b.tar", tmp_path / "new")
    assert "after" in nodes(tmp_path / "new")
    assert "later" not in nodes(tmp_path / "new")


# The restore


def test_the_store_becomes_what_the_backup_holds(backup: Path, data: Path) -> None:
    before = nodes(data)
    execute(data, "cloud", "INSERT INTO nodes (name) VALUES ('since')")
    bring_back(backup, data)
    assert nodes(data) == before
    assert {file.name for file in data.iterdir()} <= {"cloud.db", "activity.db", "lock"}


def test_it_leaves_a_line_in_the_trail(backup: Path, data: Path) -> None:
    bring_back(backup, data)
    line = execute(data, "cloud", "SELECT at, actor, change FROM operator_audit ORDER BY id DESC")[0]
    assert line == (NOW, "ann", "restore")


def add_line(data: Path, change: str, at: int = NOW) -> None:
    execute(data, "cloud", f"INSERT INTO operator_audit (at, actor, change) VALUES ({at}, 'bob', '{change}')")


def trail(data: Path) -> list[tuple[object, ...]]:
    return execute(data, "cloud", "SELECT id, change FROM operator_audit ORDER BY id")


def test_lines_since_the_backup_stay_in_the_trail(data: Path, tmp_path: Path) -> None:
    add_line(data, "before")
    write_backup(data, tmp_path / "b.tar", now=NOW)
    add_line(data, "since")
    add_line(data, "since then")
    before = trail(data)
    assert bring_back(tmp_path / "b.tar", data) == 2
    *kept, (_, newest) = trail(data)
    assert (kept, newest) == (before, "restore")
    (after,) = execute(data, "cloud", "SELECT after FROM operator_audit ORDER BY id DESC LIMIT 1")[0]
    assert json.loads(str(after))["audit_entries_retained"] == 2


def test_lines_stay_however_often_and_in_which_order_backups_are_restored(data: Path, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        add_line(data, name)
        write_backup(data, tmp_path / f"{name}.tar", now=NOW)
    kept = [bring_back(tmp_path / f"{name}.tar", data) for name in ("one", "three", "two", "two")]
    assert kept == [2, 1, 3, 4]
    assert [change for _, change in trail(data)][1:] == ["one", "two", "three", *["restore"] * 4]


def test_lines_stay_when_another_stores_backup_is_restored(data: Path, tmp_path: Path) -> None:
    other = copytree(data, tmp_path / "other")
    add_line(data, "here")
    add_line(other, "there")
    write_backup(other, tmp_path / "other.tar", now=NOW)
    assert bring_back(tmp_path / "other.tar", data) == 1
    assert [change for _, change in trail(data)] == ["load", "there", "here", "restore"]


def test_accesses_since_the_backup_stay_in_their_trail(backup: Path, data: Path) -> None:
    execute(data, "activity", "INSERT INTO access_audit VALUES (NULL, 1, 'login', 'ann', '192.0.2.1', 'r')")
    bring_back(backup, data)
    assert execute(data, "activity", "SELECT event, username FROM access_audit") == [("login", "ann")]


def test_a_new_store_keeps_no_lines_of_another(backup: Path, data: Path, tmp_path: Path) -> None:
    add_line(data, "since")
    assert bring_back(backup, tmp_path / "new") == 0
    assert [change for _, change in trail(tmp_path / "new")] == ["load", "restore"]


def test_nobody_writes_while_the_last_is_done_for_what_is_put_back(backup: Path, data: Path, tmp_path: Path) -> None:
    with tarfile.open(backup) as tar:
        tar.extract("cloud.db", tmp_path, filter="data")
    met = []

    def write() -> None:
        with closing(sqlite3.connect(data / "cloud.db", timeout=0)) as writer:
            with pytest.raises(sqlite3.OperationalError, match="database is locked"):
                writer.execute("INSERT INTO nodes (name) VALUES ('never')")
            met.append(writer.execute("SELECT COUNT(*) FROM nodes").fetchone())
        with closing(sqlite3.connect(tmp_path / "cloud.db")) as file, file:
            file.execute("INSERT INTO nodes (name) VALUES ('at last')")

    overwrite_database(data, "cloud", tmp_path / "cloud.db", when_locked=write)
    assert len(met) == 1
    assert "at last" in nodes(data)


def test_no_line_is_lost_of_those_who_write_meanwhile(backup: Path, data: Path) -> None:
    written: list[str] = []
    over = threading.Event()

    def keep_writing() -> None:
        while not over.is_set() or len(written) < 20:
            add_line(data, f"line {len(written)}")
            written.append(f"line {len(written)}")

    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(keep_writing)
        for _ in range(5):
            bring_back(backup, data)
        over.set()
        writing.result(60)
    assert [change for _, change in trail(data) if str(change).startswith("line")] == written


def test_all_sessions_end(data: Path, tmp_path: Path) -> None:
    add_session(data, "before")
    write_backup(data, tmp_path / "b.tar", now=NOW)
    add_session(data, "since")
    bring_back(tmp_path / "b.tar", data)
    assert sessions(data) == set()


def test_the_backups_sessions_can_be_kept(data: Path, tmp_path: Path) -> None:
    add_session(data, "before")
    write_backup(data, tmp_path / "b.tar", now=NOW)
    add_session(data, "since")
    bring_back(tmp_path / "b.tar", data, keep_sessions=True)
    assert sessions(data) == {"before"}


def test_a_store_keeps_its_own_key(data: Path, tmp_path: Path) -> None:
    execute(data, "activity", "INSERT INTO secrets VALUES ('csrf', x'01')")
    write_backup(data, tmp_path / "b.tar", now=NOW)
    execute(data, "activity", "UPDATE secrets SET value = x'02'")
    bring_back(tmp_path / "b.tar", data)
    assert execute(data, "activity", "SELECT name, value FROM secrets") == [("csrf", b"\x02")]


def test_a_new_store_gets_the_backups_key(data: Path, tmp_path: Path) -> None:
    execute(data, "activity", "INSERT INTO secrets VALUES ('csrf', x'01')")
    write_backup(data, tmp_path / "b.tar", now=NOW)
    bring_back(tmp_path / "b.tar", tmp_path / "new")
    assert execute(tmp_path / "new", "activity", "SELECT name, value FROM secrets") == [("csrf", b"\x01")]
    assert S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert S_IMODE((tmp_path / "new/cloud.db").stat().st_mode) == 0o600


def test_a_store_of_another_page_size_takes_it(backup: Path, tmp_path: Path) -> None:
    prepare(tmp_path / "new")
    for part in ("cloud", "activity"):
        with closing(sqlite3.connect(tmp_path / f"new/{part}.db", isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA page_size = 8192")
            connection.execute("VACUUM")
            connection.execute("PRAGMA journal_mode = WAL")
    bring_back(backup, tmp_path / "new")
    assert execute(tmp_path / "new", "cloud", "PRAGMA page_size") == [(8192,)]
    assert nodes(tmp_path / "new")


def test_a_gzipped_backup_is_taken(backup: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "b.tar.gz").write_bytes(gzip.compress(backup.read_bytes()))
    bring_back(tmp_path / "b.tar.gz", data)


def test_an_older_backup_is_brought_up_to_date(data: Path, tmp_path: Path) -> None:
    usage = execute(data, "cloud", "SELECT * FROM usage")
    make_older(data)
    write_backup(data, tmp_path / "b.tar", now=NOW)
    bring_back(tmp_path / "b.tar", data)
    assert usage
    assert execute(data, "cloud", "SELECT * FROM usage") == usage
    assert execute(data, "activity", "SELECT * FROM undeclared_proxies") == []


def test_a_store_that_someone_keeps_writing_to_is_left_as_it_is(
    backup: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(data, "cloud", "INSERT INTO nodes (name) VALUES ('since')")
    monkeypatch.setattr("cloudconsole.store.sqlite.backup.BUSY_SECONDS", BUSY_SECONDS / 1000)
    with closing(sqlite3.connect(data / "activity.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="is locked by another writer: try again"):
            bring_back(backup, data)
    assert "since" in nodes(data)


# What is refused, and changes nothing


def rewrite(file: Path, change: Callable[[str, bytes], bytes | None]) -> None:
    """Write a backup anew with other contents; None leaves a file out."""
    with tarfile.open(file) as tar:
        contents = {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]
    with tarfile.open(file, "w") as tar:
        for name, content in contents.items():
            changed = change(name, content)
            if changed is not None:
                member = tarfile.TarInfo(name)
                member.size = len(changed)
                tar.addfile(member, io.BytesIO(changed))


def plant(file: Path, part: str, sql: str) -> None:
    """Run some SQL in a database of a backup, with a manifest that fits."""
    changed: dict[str, bytes] = {}

    def change(name: str, content: bytes) -> bytes:
        return changed.get(name, content)

    def look(name: str, content: bytes) -> bytes:
        changed[name] = content
        return content

    rewrite(file, look)
    database = file.with_suffix(".planted")
    database.write_bytes(changed[f"{part}.db"])
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.executescript(sql)
    content = changed[f"{part}.db"] = database.read_bytes()
    manifest = json.loads(changed["manifest.json"])
    manifest["files"][part] |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    changed["manifest.json"] = json.dumps(manifest).encode()
    rewrite(file, change)


@pytest.mark.parametrize(
    ("part", "sql", "names"),
    [
        (
            "cloud",
            "CREATE TRIGGER hush BEFORE INSERT ON operator_audit BEGIN SELECT RAISE(IGNORE); END",
            "trigger hush",
        ),
        (
            "activity",
            "CREATE TRIGGER stay BEFORE DELETE ON sessions BEGIN SELECT RAISE(IGNORE); END",
            "trigger stay",
        ),
        ("cloud", "CREATE TABLE extra (a INTEGER CHECK (length(hex(zeroblob(450000000))) > a))", "table extra"),
        ("cloud", "DROP INDEX ix_resources_name_id", "index ix_resources_name_id"),
        (
            "cloud",
            "PRAGMA legacy_alter_table = ON; ALTER TABLE resources RENAME TO held; CREATE VIEW resources AS "
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x AS id FROM n",
            "index ix_resources",
        ),
        (
            "cloud",
            "DROP TABLE alembic_version; CREATE VIEW alembic_version AS SELECT '0004' AS version_num",
            "alembic_version",
        ),
        *(
            (
                "cloud",
                "PRAGMA writable_schema = ON; INSERT INTO sqlite_master VALUES "
                f"('trigger', '{name}', 'accounts', 0, 'CREATE TRIGGER {name} AFTER UPDATE OF password_hash "
                "ON accounts BEGIN UPDATE accounts SET role = ''operator'' WHERE id = new.id; END')",
                f"trigger {name}",
            )
            for name in ("sqlite_stat_x", "sqlite_stat1")
        ),
        (
            "cloud",
            "PRAGMA writable_schema = ON; INSERT INTO sqlite_master VALUES "
            "('view', 'sqlite_stat1', 'sqlite_stat1', 0, 'CREATE VIEW sqlite_stat1 AS SELECT 1 AS tbl')",
            "view sqlite_stat1",
        ),
    ],
)
def test_a_backup_with_more_or_less_than_ours_is_refused(
    backup: Path, data: Path, part: str, sql: str, names: str
) -> None:
    plant(backup, part, sql)
    before = nodes(data)
    with pytest.raises(StoreError, match=f"is not a valid Cloud Console backup: .*{names}.* in {part}.db"):
        bring_back(backup, data)
    assert nodes(data) == before


def test_a_backup_that_lies_about_its_revision_is_refused(backup: Path, data: Path) -> None:
    plant(backup, "cloud", "UPDATE alembic_version SET version_num = '0001'")
    with pytest.raises(StoreError, match=r"cloud\.db does not have revision"):
        bring_back(backup, data)


def test_what_sqlite_keeps_for_its_planner_is_fine(backup: Path, data: Path) -> None:
    plant(backup, "cloud", "ANALYZE")
    bring_back(backup, data)


def test_a_folder_where_everyone_could_swap_what_is_put_there_is_refused(
    backup: Path, data: Path, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(StoreError, match=f"every user can replace files in {shared}"):
        write_backup(data, shared / "b.tar", now=NOW)
    with pytest.raises(StoreError, match=f"every user can replace files in {shared}"):
        bring_back(backup, shared / "new")
    shared.chmod(0o1777)
    write_backup(data, shared / "b.tar", now=NOW)
    bring_back(backup, shared / "new")


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def nonsense(file: Path) -> None:
    file.write_bytes(b"this is no backup" * 1000)


def gzipped_and_cut(file: Path) -> None:
    file.write_bytes(gzip.compress(file.read_bytes())[:-3000])


def gzipped_and_spoilt(file: Path) -> None:
    content = bytearray(gzip.compress(file.read_bytes()))
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    file.write_bytes(content)


def bzipped_and_spoilt(file: Path) -> None:
    content = bz2.compress(file.read_bytes())
    file.write_bytes(content[:200] + b"spoilt" + content[206:])


def without_manifest(file: Path) -> None:
    rewrite(file, lambda name, content: None if name == "manifest.json" else content)


def bad_manifest(file: Path) -> None:
    rewrite(file, lambda name, content: b"{}" if name == "manifest.json" else content)


def of_the_future(file: Path) -> None:
    rewrite(file, lambda _, content: content.replace(b'"format": 1', b'"format": 2'))


def without_activity(file: Path) -> None:
    rewrite(file, lambda name, content: None if name == "activity.db" else content)


def one_bit_changed(file: Path) -> None:
    rewrite(file, lambda name, content: content[:-1] + b"!" if name == "cloud.db" else content)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (cut, "is not a"),
        (nonsense, "is not a complete backup"),
        (gzipped_and_cut, "is not a"),
        (gzipped_and_spoilt, "is not a|is damaged"),
        (bzipped_and_spoilt, "is not a"),
        (without_manifest, "is not a backup: it does not start with manifest.json"),
        (bad_manifest, "is not a backup: its manifest cannot be read"),
        (of_the_future, "was created by a newer Cloud Console"),
        (without_activity, "is not a complete backup: activity.db is missing or has another size"),
        (one_bit_changed, "is damaged: cloud.db does not match its manifest; use another backup"),
    ],
)
def test_what_is_no_good_backup_is_refused(backup: Path, data: Path, spoil: Callable[[Path], None], said: str) -> None:
    execute(data, "cloud", "INSERT INTO nodes (name) VALUES ('since')")
    spoil(backup)
    with pytest.raises(StoreError, match=said):
        bring_back(backup, data)
    assert "since" in nodes(data)
    assert not list(data.glob(".restore*"))


def test_a_backup_of_a_newer_revision_is_refused(backup: Path, data: Path, tmp_path: Path) -> None:
    newer = copytree(data, tmp_path / "newer")
    execute(newer, "cloud", "UPDATE alembic_version SET version_num = '9999'")
    write_backup(newer, tmp_path / "newer.tar", now=NOW)
    with pytest.raises(StoreError, match=r"newer Cloud Console .*9999.*install that version"):
        bring_back(tmp_path / "newer.tar", data)
    bring_back(backup, data)


def test_a_store_that_a_newer_version_migrated_is_not_replaced(backup: Path, data: Path) -> None:
    make_newer(data, oldest_compatible=OWN)
    with pytest.raises(StoreError, match=rf"newer Cloud Console \(revision {NEWER}\).*--to DIR"):
        bring_back(backup, data)


def test_a_missing_file_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="no such file"):
        bring_back(tmp_path / "none.tar", data)


def test_a_store_that_cannot_be_opened_says_where_to_go_instead(backup: Path, data: Path) -> None:
    (data / "cloud.db").write_bytes(b"rubbish" * 1000)
    with pytest.raises(StoreError, match="restore into an empty directory instead: --to DIR"):
        bring_back(backup, data)
