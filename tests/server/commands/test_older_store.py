"""A store of an older version: what only reads leaves it as it is, what changes it brings it up to date."""

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
    """The store as an earlier version made it."""
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
def test_what_only_reads_refuses_it(
    cloudconsole: Run, older: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(older.parent)
    (older.parent / "SAMPLE").write_text("version: 1\n")
    done = cloudconsole("admin", *arguments, "--data", older)
    words = (
        f"the store in {older} was created by an older Cloud Console (revision 0002): "
        "take a backup, then restart cloudconsole serve, which migrates it"
    )
    assert (done.code, done.out, done.err) == (1, "", f"cloudconsole: {words}\n")
    assert revisions(older) == ["0002", "0002"]
    assert not (older.parent / "out.yaml").exists()


def test_the_doctor_leaves_it_as_it_is(cloudconsole: Run, older: Path) -> None:
    done = cloudconsole("doctor", "--data", older)
    assert "cloud.db has revision 0002" in done.out
    assert revisions(older) == ["0002", "0002"]


def test_a_backup_of_it_is_taken(cloudconsole: Run, older: Path, tmp_path: Path) -> None:
    done = cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", older)
    words = "backup finished but not recorded in the audit log: the store was created by an older Cloud Console"
    assert (done.code, done.err) == (0, f"cloudconsole: {words}\n")
    assert revisions(older) == ["0002", "0002"]


def test_an_import_is_tried_on_a_copy_that_is_up_to_date(cloudconsole: Run, older: Path) -> None:
    done = cloudconsole("admin", "import", "-", "--dry-run", "--data", older, stdin=KEYPAIR)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("resources: 1 would be added")
    assert revisions(older) == ["0002", "0002"]


def test_a_change_brings_it_up_to_date(cloudconsole: Run, older: Path) -> None:
    assert cloudconsole("admin", "node", "add", "new", "--data", older).code == 0
    assert "0002" not in revisions(older)


def test_an_access_trail_that_is_not_there_is_not_made(cloudconsole: Run, data: Path) -> None:
    for file in data.glob("activity.db*"):
        file.unlink()
    done = cloudconsole("admin", "audit", "--access", "--data", data)
    words = f"there is no {data}/activity.db: restore a backup, or start cloudconsole serve, which creates it"
    assert (done.code, done.err) == (1, f"cloudconsole: {words}\n")
    assert not (data / "activity.db").exists()


def test_a_database_of_something_else_is_refused(cloudconsole: Run, tmp_path: Path) -> None:
    with closing(connect(tmp_path / "cloud.db")) as connection, connection:
        connection.execute("CREATE TABLE tenants (something_else TEXT)")
    done = cloudconsole("admin", "tenant", "list", "--data", tmp_path)
    words = f"{tmp_path}/cloud.db does not belong to a Cloud Console store: pass a store's directory with --data"
    assert (done.code, done.err) == (1, f"cloudconsole: {words}\n")
