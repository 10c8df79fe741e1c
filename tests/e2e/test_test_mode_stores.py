"""Test stores and ordinary stores are never mixed, and two test servers cannot share a store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cloudconsole.server.commands.serve import _prepare_store
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.test_mode.runtime import ServerRuntime
from cloudconsole.store.base import StoreError
from cloudconsole.store.sqlite.store import prepare
from cloudconsole.store.sqlite.test_marker import is_test_store
from tests.e2e.processes import command
from tests.e2e.test_test_mode import TEST_MODE_FLAGS, Started, runtime_of, started


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store created in test mode."""
    prepare(tmp_path / "store", test_mode=True)
    return tmp_path / "store"


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix == ".db"}


@pytest.mark.parametrize("flags", TEST_MODE_FLAGS)
def test_test_mode_rejects_an_ordinary_store(folder: Path, flags: list[str]) -> None:
    before = content(folder)
    with pytest.raises(StoreError) as error:
        _prepare_store(Settings(data=folder), runtime_of(*flags))
    assert str(error.value) == (
        f"the store in {folder} is not a test store and was not changed: "
        "pass --data with an empty directory, or omit it"
    )
    assert content(folder) == before


def test_ordinary_console_rejects_a_test_store(store: Path) -> None:
    with pytest.raises(StoreError) as error:
        _prepare_store(Settings(data=store), ServerRuntime())
    assert str(error.value) == (
        f"the store in {store} is a test store, whose sessions and keys are predictable: "
        "pass --data with another directory"
    )


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """A console in test mode that uses an existing test store."""
    folder = tmp_path_factory.mktemp("console")
    prepare(folder / "store", test_mode=True)
    with started("--test-mode", "--data", "store", cwd=folder) as console:
        yield console


def test_two_test_servers_cannot_share_a_store(console: Started) -> None:
    store = console.announced["data"]
    done = command("serve", "--port", "0", "--data", store, "--clock-fixed")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"cloudconsole: another test server uses the store in {store}: pass --data with another directory\n"
    )


def test_store_is_a_test_store_after_a_reset(console: Started) -> None:
    console.controls.reset()
    assert is_test_store(Path(console.announced["data"]))


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

    def test_restored_test_backup_is_a_test_store(self, tmp_path: Path, store: Path, backup: Path) -> None:
        assert command("admin", "restore", str(backup), "--to", str(tmp_path / "new")).returncode == 0
        assert is_test_store(tmp_path / "new")
        assert command("admin", "restore", str(backup), "--yes", "--data", str(store)).returncode == 0
        assert is_test_store(store)

    def test_test_backup_is_not_restored_into_an_ordinary_store(self, backup: Path, folder: Path) -> None:
        before = content(folder)
        done = command("admin", "restore", str(backup), "--yes", "--keep-sessions", "--data", str(folder))
        assert content(folder) == before
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            f"cloudconsole: backup.tar is a backup of a test store, and {folder} is not a test store: "
            "restore it into an empty directory instead: --to DIR\n"
        )

    def test_test_store_stays_one_after_restoring_an_ordinary_backup(
        self, tmp_path: Path, folder: Path, store: Path
    ) -> None:
        file = str(tmp_path / "ordinary.tar")
        assert command("admin", "backup", file, "--data", str(folder)).returncode == 0
        assert command("admin", "restore", file, "--yes", "--data", str(store)).returncode == 0
        assert is_test_store(store)
