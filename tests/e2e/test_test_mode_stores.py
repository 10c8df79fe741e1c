"""A desk's store and an ordinary console's are never one: each is refused to the other, and to two desks at once."""

from pathlib import Path

import pytest

from tests.e2e.processes import command
from tests.e2e.test_test_mode import DESK_FLAGS, started
from tests.harness import running_server


@pytest.fixture
def desks(tmp_path: Path) -> Path:
    """A store that a desk has made."""
    with started("--sample", "--seed", "7", "--data", "desks", cwd=tmp_path) as console, console.caller() as caller:
        assert caller.login().status == 200
    return tmp_path / "desks"


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix == ".db"}


@pytest.mark.parametrize("flags", DESK_FLAGS)
def test_a_desk_takes_no_store_of_others(tmp_path: Path, flags: list[str]) -> None:
    with running_server(tmp_path):
        before = content(tmp_path / "data")
        done = command("serve", "--port", "0", "--data", str(tmp_path / "data"), *flags)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            f"cloudconsole: the store in {tmp_path / 'data'} is not a test store and was not changed: "
            "pass --data with an empty directory, or omit it\n"
        )
        assert content(tmp_path / "data") == before


def test_nor_one_with_nothing_in_it_that_another_may_serve(tmp_path: Path) -> None:
    with running_server(tmp_path, sample=False):
        assert command("serve", "--port", "0", "--data", str(tmp_path / "data"), "--test-mode").returncode == 1


def test_an_ordinary_console_takes_no_store_of_a_desk(desks: Path) -> None:
    done = command("serve", "--port", "0", "--data", str(desks))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"cloudconsole: the store in {desks} is a test store, whose sessions and keys are predictable: "
        "pass --data with another directory\n"
    )


def test_not_even_after_a_reset(tmp_path: Path) -> None:
    with started("--sample", "--test-mode", "--data", "desks", cwd=tmp_path) as console:
        console.controls.reset()
    assert command("serve", "--port", "0", "--data", str(tmp_path / "desks")).returncode == 1


def test_a_desk_takes_its_store_again(tmp_path: Path, desks: Path) -> None:
    with started("--test-mode", "--data", str(desks), cwd=tmp_path) as console, console.caller() as caller:
        assert caller.login().status == 200


def test_two_desks_do_not_share_a_store(tmp_path: Path, desks: Path) -> None:
    with started("--clock-fixed", "--workers", "2", "--data", str(desks), cwd=tmp_path):
        done = command("serve", "--port", "0", "--data", str(desks), "--test-mode")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"cloudconsole: another test server uses the store in {desks}: pass --data with another directory\n"
    )


def test_operators_work_there_and_the_doctor_tells_what_it_is(desks: Path) -> None:
    assert command("admin", "node", "add", "hk-9", "--data", str(desks)).returncode == 0
    told = command("doctor", "--quick", "--data", str(desks))
    assert told.returncode == 1
    assert "problem  databases: the store was created in test mode" in told.stdout


class TestBackups:
    @pytest.fixture
    def backup(self, tmp_path: Path, desks: Path) -> Path:
        file = tmp_path / "backup.tar"
        assert command("admin", "backup", str(file), "--data", str(desks)).returncode == 0
        return file

    def test_a_new_store_of_a_desks_backup_is_a_desks(self, tmp_path: Path, backup: Path) -> None:
        assert command("admin", "restore", str(backup), "--to", str(tmp_path / "new")).returncode == 0
        assert "test store" in command("serve", "--port", "0", "--data", str(tmp_path / "new")).stderr

    def test_it_goes_back_into_a_desks_store(self, desks: Path, backup: Path) -> None:
        assert command("admin", "restore", str(backup), "--yes", "--data", str(desks)).returncode == 0

    def test_but_not_into_an_ordinary_one(self, tmp_path: Path, backup: Path) -> None:
        ordinary = tmp_path / "data"
        with running_server(tmp_path):
            before = content(ordinary)
            done = command("admin", "restore", str(backup), "--yes", "--keep-sessions", "--data", str(ordinary))
            assert content(ordinary) == before
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            f"cloudconsole: backup.tar is a backup of a test store, and {ordinary} is not a test store: "
            "restore it into an empty directory instead: --to DIR\n"
        )

    def test_an_ordinary_backup_makes_no_desks_store_an_ordinary_one(self, tmp_path: Path, desks: Path) -> None:
        file = tmp_path / "ordinary.tar"
        with running_server(tmp_path):
            assert command("admin", "backup", str(file), "--data", str(tmp_path / "data")).returncode == 0
        assert command("admin", "restore", str(file), "--yes", "--data", str(desks)).returncode == 0
        assert "test store" in command("serve", "--port", "0", "--data", str(desks)).stderr
