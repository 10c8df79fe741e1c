"""Test stores and ordinary stores are never mixed, and two test servers cannot share a store."""

from pathlib import Path

import pytest

from tests.e2e.processes import command
from tests.e2e.test_test_mode import TEST_MODE_FLAGS, started
from tests.harness import running_server


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store created in test mode."""
    with started("--sample", "--seed", "7", "--data", "store", cwd=tmp_path) as console, console.client() as client:
        assert client.login().status == 200
    return tmp_path / "store"


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix == ".db"}


@pytest.mark.parametrize("flags", TEST_MODE_FLAGS)
def test_test_mode_rejects_an_ordinary_store(tmp_path: Path, flags: list[str]) -> None:
    with running_server(tmp_path):
        before = content(tmp_path / "data")
        done = command("serve", "--port", "0", "--data", str(tmp_path / "data"), *flags)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            f"cloudconsole: the store in {tmp_path / 'data'} is not a test store and was not changed: "
            "pass --data with an empty directory, or omit it\n"
        )
        assert content(tmp_path / "data") == before


def test_test_mode_rejects_an_ordinary_empty_store(tmp_path: Path) -> None:
    with running_server(tmp_path, sample=False):
        assert command("serve", "--port", "0", "--data", str(tmp_path / "data"), "--test-mode").returncode == 1


def test_ordinary_console_rejects_a_test_store(store: Path) -> None:
    done = command("serve", "--port", "0", "--data", str(store))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"cloudconsole: the store in {store} is a test store, whose sessions and keys are predictable: "
        "pass --data with another directory\n"
    )


def test_ordinary_console_rejects_a_test_store_after_a_reset(tmp_path: Path) -> None:
    with started("--sample", "--test-mode", "--data", "store", cwd=tmp_path) as console:
        console.controls.reset()
    assert command("serve", "--port", "0", "--data", str(tmp_path / "store")).returncode == 1


def test_test_mode_can_reuse_a_test_store(tmp_path: Path, store: Path) -> None:
    with started("--test-mode", "--data", str(store), cwd=tmp_path) as console, console.client() as client:
        assert client.login().status == 200


def test_two_test_servers_cannot_share_a_store(tmp_path: Path, store: Path) -> None:
    with started("--clock-fixed", "--workers", "2", "--data", str(store), cwd=tmp_path):
        done = command("serve", "--port", "0", "--data", str(store), "--test-mode")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"cloudconsole: another test server uses the store in {store}: pass --data with another directory\n"
    )


def test_admin_commands_work_and_doctor_reports_the_test_store(store: Path) -> None:
    assert command("admin", "node", "add", "hk-9", "--data", str(store)).returncode == 0
    doctor = command("doctor", "--quick", "--data", str(store))
    assert doctor.returncode == 1
    assert "problem  databases: the store was created in test mode" in doctor.stdout


class TestBackups:
    @pytest.fixture
    def backup(self, tmp_path: Path, store: Path) -> Path:
        file = tmp_path / "backup.tar"
        assert command("admin", "backup", str(file), "--data", str(store)).returncode == 0
        return file

    def test_store_restored_from_a_test_backup_is_a_test_store(self, tmp_path: Path, backup: Path) -> None:
        assert command("admin", "restore", str(backup), "--to", str(tmp_path / "new")).returncode == 0
        assert "test store" in command("serve", "--port", "0", "--data", str(tmp_path / "new")).stderr

    def test_test_backup_can_be_restored_into_a_test_store(self, store: Path, backup: Path) -> None:
        assert command("admin", "restore", str(backup), "--yes", "--data", str(store)).returncode == 0

    def test_test_backup_is_not_restored_into_an_ordinary_store(self, tmp_path: Path, backup: Path) -> None:
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

    def test_test_store_stays_one_after_restoring_an_ordinary_backup(self, tmp_path: Path, store: Path) -> None:
        file = tmp_path / "ordinary.tar"
        with running_server(tmp_path):
            assert command("admin", "backup", str(file), "--data", str(tmp_path / "data")).returncode == 0
        assert command("admin", "restore", str(file), "--yes", "--data", str(store)).returncode == 0
        assert "test store" in command("serve", "--port", "0", "--data", str(store)).stderr
