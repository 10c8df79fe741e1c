"""Stores of an older version: read-only commands leave them unchanged, changes migrate them."""

from contextlib import closing
from pathlib import Path
from sqlite3 import connect

import pytest

from tests.older_stores import make_older
from tests.server.commands.conftest import Run

pytestmark = pytest.mark.embedded_only

KEYPAIR = b'{"tenant": "demo", "id": "k-1", "kind": "keypair", "name": "key", "started": "2026-02-01T00:00:00Z"}\n'


@pytest.fixture
def older(data: Path) -> Path:
    """A store as created by an earlier version."""
    make_older(data)
    return data


def revisions(data: Path) -> list[str]:
    found = []
    for part in ("cloud", "activity"):
        with closing(connect(data / f"{part}.db")) as connection:
            found += [str(row[0]) for row in connection.execute("SELECT version_num FROM alembic_version")]
    return found


@pytest.mark.parametrize(
    "arguments",
    [
        ["tenant", "list"],
        ["tenant", "show", "demo"],
        ["quota", "show", "demo"],
        ["audit"],
        ["audit", "--access"],
        ["dump"],
        ["dump", "out.yaml"],
        ["load", "SAMPLE", "--dry-run"],
    ],
    ids=" ".join,
)
def test_read_only_command_rejects_an_older_store(
    cloudconsole: Run, older: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(older.parent)
    (older.parent / "SAMPLE").write_text("version: 1\n")
    done = cloudconsole("admin", *arguments, "--data", older)
    message = (
        f"the store in {older} was created by an older Cloud Console (revision 0002): "
        "take a backup, then restart cloudconsole serve, which migrates it"
    )
    assert (done.code, done.out, done.err) == (1, "", f"cloudconsole: {message}\n")
    assert revisions(older) == ["0002", "0002"]
    assert not (older.parent / "out.yaml").exists()


def test_doctor_does_not_migrate_an_older_store(cloudconsole: Run, older: Path) -> None:
    done = cloudconsole("doctor", "--data", older)
    assert "cloud.db has revision 0002" in done.out
    assert revisions(older) == ["0002", "0002"]


def test_older_store_is_backed_up_unchanged(cloudconsole: Run, older: Path, tmp_path: Path) -> None:
    done = cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", older)
    message = "backup finished but not recorded in the audit log: the store was created by an older Cloud Console"
    assert (done.code, done.err) == (0, f"cloudconsole: {message}\n")
    assert revisions(older) == ["0002", "0002"]


def test_import_dry_run_migrates_only_a_copy(cloudconsole: Run, older: Path) -> None:
    done = cloudconsole("admin", "import", "-", "--dry-run", "--data", older, stdin=KEYPAIR)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("resources: 1 would be added")
    assert revisions(older) == ["0002", "0002"]


def test_change_migrates_an_older_store(cloudconsole: Run, older: Path) -> None:
    assert cloudconsole("admin", "node", "add", "new", "--data", older).code == 0
    assert "0002" not in revisions(older)


def test_missing_access_audit_is_not_created(cloudconsole: Run, data: Path) -> None:
    for file in data.glob("activity.db*"):
        file.unlink()
    done = cloudconsole("admin", "audit", "--access", "--data", data)
    message = f"there is no {data}/activity.db: restore a backup, or start cloudconsole serve, which creates it"
    assert (done.code, done.err) == (1, f"cloudconsole: {message}\n")
    assert not (data / "activity.db").exists()


def test_database_of_another_program_is_rejected(cloudconsole: Run, tmp_path: Path) -> None:
    with closing(connect(tmp_path / "cloud.db")) as connection, connection:
        connection.execute("CREATE TABLE tenants (something_else TEXT)")
    done = cloudconsole("admin", "tenant", "list", "--data", tmp_path)
    message = f"{tmp_path}/cloud.db does not belong to a Cloud Console store: pass a store's directory with --data"
    assert (done.code, done.err) == (1, f"cloudconsole: {message}\n")
