"""Every command rejects a data directory that others can write to, before it reads or creates anything."""

from pathlib import Path

import pytest

from tests.fork_server import run_forked
from tests.harness import clean_environment
from tests.other_users import chown_to_other_user
from tests.server.commands.conftest import Run

pytestmark = pytest.mark.embedded_only

COMMANDS = {
    "init": ["init", "--password-stdin"],
    "list": ["admin", "tenant", "list"],
    "add": ["admin", "node", "add", "new"],
    "audit": ["admin", "audit", "--access"],
    "dump": ["admin", "dump"],
    "load": ["admin", "load", "-"],
    "dry run": ["admin", "import", "-", "--dry-run"],
    "import": ["admin", "import", "-"],
    "backup": ["admin", "backup", "b.tar"],
    "restore": ["admin", "restore", "good.tar", "--yes"],
    "recount": ["admin", "recount"],
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_world_writable_data_directory_is_rejected(
    cloudconsole: Run, data: Path, tmp_path: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cloudconsole("admin", "backup", "good.tar", "--data", data).code == 0
    before = sorted(data.iterdir())
    data.chmod(0o777)
    done = cloudconsole(*arguments, "--data", data, stdin=b"version: 1\n")
    message = f"every user can write to the data directory {data} and replace its files: chmod o-w {data}"
    assert (done.code, done.out, done.err) == (1, "", f"cloudconsole: {message}\n")
    assert sorted(data.iterdir()) == before
    assert not (tmp_path / "b.tar").exists()


def test_data_directory_of_another_user_is_rejected(
    cloudconsole: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, current_user = chown_to_other_user(data, monkeypatch)
    done = cloudconsole("admin", "tenant", "list", "--data", data)
    message = f"the data directory {data} belongs to {owner}, who can replace its files: run this as {owner}, "
    assert (done.code, done.err) == (1, f"cloudconsole: {message}or chown -R {current_user} {data}\n")


def test_serve_rejects_a_world_writable_data_directory(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    done = run_forked(["serve", "--port", "0", "--data", str(tmp_path)], clean_environment())
    message = f"every user can write to the data directory {tmp_path} and replace its files: chmod o-w {tmp_path}"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"cloudconsole: {message}\n")
    assert list(tmp_path.iterdir()) == []


def test_doctor_reports_a_world_writable_data_directory(cloudconsole: Run, data: Path) -> None:
    data.chmod(0o777)
    done = cloudconsole("doctor", "--data", data)
    assert (
        f"problem  data directory: every user can write to the data directory {data} and replace its files\n"
        in done.out
    )
    assert f"           chmod o-w {data}\n" in done.out
    assert "chmod 700" not in done.out
