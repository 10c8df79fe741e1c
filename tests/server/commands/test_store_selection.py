"""The store of a command: only the specified one, and only if it exists, is safe and, for reading, up to date."""

from contextlib import closing
from pathlib import Path
from sqlite3 import connect

import pytest

from tests.e2e.processes import command
from tests.older_stores import make_older
from tests.server.commands.conftest import Run

pytestmark = pytest.mark.embedded_only

READING = ["tenant list", "tenant show demo", "audit", "audit --access", "dump", "dump out.yaml", "prune --dry-run"]
WRITING = ["node add new", "import -", "backup b.tar", "recount", "prune", "end-sessions"]
KEYPAIR = b'{"tenant": "demo", "id": "k-1", "kind": "keypair", "name": "key", "started": "2026-02-01T00:00:00Z"}\n'


@pytest.fixture(autouse=True)
def in_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text("version: 1\n")


@pytest.mark.parametrize("command", [*READING, *WRITING, "import - --dry-run", "token-keys rotate"])
def test_missing_store_is_rejected_and_not_created(cloudconsole: Run, tmp_path: Path, command: str) -> None:
    done = cloudconsole("admin", *command.split(), "--data", "none")
    assert (done.code, done.err) == (1, "cloudconsole: no store in none: pass its directory with --data\n")
    assert [file.name for file in tmp_path.iterdir()] == ["small.yaml"]


@pytest.mark.parametrize("command", ["admin tenant list", "admin dump", "init"])
def test_data_flag_is_rejected_if_settings_select_a_database(
    command: str, cloudconsole: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLOUDCONSOLE_DATABASE", "postgresql://127.0.0.1:1/nowhere")
    done = cloudconsole(*command.split(), "--data", tmp_path / "new")
    assert done.code == 1
    assert done.err.startswith("cloudconsole: --data: the settings select a PostgreSQL database:")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("command", [*READING, *WRITING, "load -", "import - --dry-run", "restore ok.tar --yes", None])
def test_world_writable_store_is_rejected(cloudconsole: Run, data: Path, tmp_path: Path, command: str | None) -> None:
    assert cloudconsole("admin", "backup", "ok.tar", "--data", data).code == 0
    before = sorted(tmp_path.rglob("*"))
    data.chmod(0o777)
    words = ["init", "--password-stdin"] if command is None else ["admin", *command.split()]
    done = cloudconsole(*words, "--data", data, stdin=b"version: 1\n")
    message = f"every user can write to the data directory {data} and replace its files: chmod o-w {data}"
    assert (done.code, done.out, done.err) == (1, "", f"cloudconsole: {message}\n")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.fixture
def older(data: Path) -> Path:
    make_older(data)
    return data


def revisions(data: Path) -> list[str]:
    found = []
    for part in ("cloud", "activity"):
        with closing(connect(data / f"{part}.db")) as connection:
            found += [str(row[0]) for row in connection.execute("SELECT version_num FROM alembic_version")]
    return found


@pytest.mark.parametrize("command", [*READING, "load small.yaml --dry-run"])
def test_read_only_command_rejects_an_older_store(cloudconsole: Run, older: Path, command: str) -> None:
    done = cloudconsole("admin", *command.split(), "--data", older)
    message = (
        f"the store in {older} was created by an older Cloud Console (revision 0002): "
        "take a backup, then restart cloudconsole serve, which migrates it"
    )
    assert (done.code, done.out, done.err) == (1, "", f"cloudconsole: {message}\n")
    assert revisions(older) == ["0002", "0002"]
    assert not Path("out.yaml").exists()


def test_doctor_does_not_migrate_an_older_store(cloudconsole: Run, older: Path) -> None:
    assert "cloud.db has revision 0002" in cloudconsole("doctor", "--data", older).out
    assert revisions(older) == ["0002", "0002"]


def test_older_store_is_backed_up_unchanged(cloudconsole: Run, older: Path) -> None:
    done = cloudconsole("admin", "backup", "b.tar", "--data", older)
    message = "backup finished but not recorded in the audit log: the store was created by an older Cloud Console"
    assert (done.code, done.err) == (0, f"cloudconsole: {message}\n")
    assert revisions(older) == ["0002", "0002"]


def test_import_dry_run_migrates_only_a_copy(cloudconsole: Run, older: Path) -> None:
    done = cloudconsole("admin", "import", "-", "--dry-run", "--data", older, stdin=KEYPAIR)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("resources: 1 would be added")
    assert revisions(older) == ["0002", "0002"]


@pytest.mark.parametrize("command", ["node add new", "import -", "recount", "prune"])
def test_change_migrates_an_older_store(cloudconsole: Run, older: Path, command: str) -> None:
    assert cloudconsole("admin", *command.split(), "--data", older).code == 0
    assert "0002" not in revisions(older)


def test_missing_access_audit_is_not_created(cloudconsole: Run, data: Path) -> None:
    for file in data.glob("activity.db*"):
        file.unlink()
    done = cloudconsole("admin", "audit", "--access", "--data", data)
    message = f"there is no {data}/activity.db: restore a backup, or start cloudconsole serve, which creates it"
    assert (done.code, done.err) == (1, f"cloudconsole: {message}\n")
    assert not (data / "activity.db").exists()


NOWHERE = "postgresql://console{password}@127.0.0.1:1/cloud"
WARNING = "cloudconsole: other users of this machine can see a password on the command line"


@pytest.mark.parametrize("words", ["admin node list --database", "init --password-stdin --database", "admin copy-to"])
@pytest.mark.parametrize(("password", "is_warned"), [(":secret-1", True), ("", False)])
def test_password_in_a_flag_causes_a_warning(cloudconsole: Run, words: str, password: str, is_warned: bool) -> None:
    done = cloudconsole(*words.split(), NOWHERE.format(password=password), stdin=b"long-enough-1\n")
    assert done.code == 1
    assert (WARNING in done.err) is is_warned
    assert "secret-1" not in done.err


def test_serve_warns_about_a_password_in_a_flag() -> None:
    done = command("serve", "--port", "0", "--database", NOWHERE.format(password=":secret-1"))
    assert done.returncode == 1
    assert WARNING in done.stderr


def test_password_in_a_variable_causes_no_warning(cloudconsole: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDCONSOLE_DATABASE", NOWHERE.format(password=":secret-1"))
    done = cloudconsole("admin", "node", "list")
    assert done.code == 1
    assert WARNING not in done.err
