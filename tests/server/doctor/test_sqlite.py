"""Doctor checks of a data directory that the user cannot access: the store in it is not called damaged."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from cloudconsole.server.config.settings import Settings
from cloudconsole.server.doctor.context_and_findings import DoctorContext, Finding
from cloudconsole.server.doctor.runner import CHECKS, run_checks
from cloudconsole.store.sqlite.permissions import user_named
from tests.conftest import SAMPLE_TIME

pytestmark = pytest.mark.embedded_only

IS_ROOT = os.geteuid() == 0
OWNER, OTHER_USER = (4711, 4712) if IS_ROOT else (os.geteuid(), os.geteuid())
"""Only root can switch users; other users lock themselves out of their own directory."""
OWNER_NAME = user_named(OWNER)


def chown_to_owner(path: Path) -> None:
    if IS_ROOT:
        os.chown(path, OWNER, OWNER)


def lock_out(directory: Path) -> tuple[str, str]:
    """Deny another user access to a directory; return the fix that doctor suggests, as text and command."""
    if IS_ROOT:
        return f"run doctor as {user_named(directory.stat().st_uid)}", ""
    directory.chmod(0)
    return "grant its owner access", f"chmod 700 {directory}"


@pytest.fixture
def store(data: Path) -> Iterator[Path]:
    """A store of another user, below directories that every user can access: those of pytest are private."""
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name)
        parent.chmod(0o755)
        shutil.copytree(data, parent / "data")
        (parent / "data").chmod(0o700)
        for path in (parent / "data", *(parent / "data").iterdir()):
            chown_to_owner(path)
        yield parent / "data"
        for directory in (parent, parent / "data"):
            directory.chmod(0o700)


@contextmanager
def as_user(user: int) -> Iterator[None]:
    """Switch to this user; the saved user id stays root's, to switch back."""
    if not IS_ROOT:
        yield
        return
    groups = os.getgroups()
    os.setgroups([])
    os.setresgid(user, user, 0)
    os.setresuid(user, user, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)
        os.setgroups(groups)


def context(directory: Path) -> DoctorContext:
    return DoctorContext(Settings(data=directory, port=0), [], SAMPLE_TIME, quick=True)


def access_finding(user: int, directory: Path) -> Finding:
    """Return the only problem that this user has, and check that the checks of the store are skipped."""
    with as_user(user):
        results = run_checks(context(directory))
    skipped = {result.check for result in results if result.text == "skipped: the data directory cannot be used"}
    assert skipped == {name for name, check in CHECKS.items() if "data" in check.needs} - {"data directory"}
    (found,) = (result for result in results if result.level == "problem")
    assert found.check == "data directory"
    return Finding(*found[1:])


def test_read_only_directory_is_not_reported_as_damaged(store: Path) -> None:
    store.chmod(0o500)
    finding = access_finding(OWNER, store)
    assert finding.text == f"this user cannot write to {store}, which belongs to {OWNER_NAME}"
    assert finding.command == f"chmod 700 {store}"


@pytest.mark.parametrize("name", ["data", "link"])
def test_inaccessible_directory_is_reported_with_its_owner(store: Path, name: str) -> None:
    (store.parent / "link").symlink_to(store)
    fix = lock_out(store)
    finding = access_finding(OTHER_USER, store.parent / name)
    assert finding.text == f"this user cannot access {store}, which belongs to {OWNER_NAME}"
    assert (finding.fix, finding.command) == fix


def test_inaccessible_parent_directory_is_the_one_reported(store: Path) -> None:
    store.parent.chmod(0o700)
    lock_out(store.parent)
    owner = user_named(os.geteuid())
    assert access_finding(OWNER, store).text == f"this user cannot access {store.parent}, which belongs to {owner}"


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_read_only_file_is_not_reported_as_damaged(store: Path, suffix: str) -> None:
    check = CHECKS["databases"].run
    # Imports everything: the user may not be able to read Python's files.
    list(check(context(store)))
    file = Path(f"{store / 'cloud.db'}{suffix}")
    file.touch()
    file.chmod(0o400)
    for path in store.iterdir():
        chown_to_owner(path)
    with as_user(OWNER):
        cloud, activity = check(context(store))
    assert (cloud.level, cloud.command) == ("problem", f"chmod 600 {file}")
    assert cloud.text == f"this user cannot write to {file}, which belongs to {OWNER_NAME}"
    assert activity.level == "ok"


def test_read_only_file_system_is_reported(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK and access(path, mode))
    monkeypatch.setattr(os, "statvfs", lambda _path: SimpleNamespace(f_flag=os.ST_RDONLY))
    finding = access_finding(os.geteuid(), store)
    assert finding.text == f"{store} is on a read-only file system, where no store can be used"
