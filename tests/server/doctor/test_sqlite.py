"""Doctor checks of a data directory that the user cannot access: the store in it is not called damaged."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloudconsole.store.sqlite.permissions import user_named
from tests.harness import clean_environment

IS_ROOT = os.geteuid() == 0
OWNER, OTHER_USER = (4711, 4712) if IS_ROOT else (os.geteuid(), os.geteuid())
"""Only root can switch users; other users lock themselves out of their own directory."""
SKIPPED = (
    "warning  databases, totals, prices, times in the store, operators, sample passwords, login throttle, proxies, "
    "token keys, cloud: skipped: the data directory cannot be used"
)
# Runs doctor once before switching users, to import everything: the user may not be able to read Python's files.
AS_USER = """
import contextlib, io, os, sys
from cloudconsole.cli.main import main
with contextlib.redirect_stdout(io.StringIO()):
    main(["doctor", "--port", "0", "--quick", "--data", sys.argv[3]])
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(int(sys.argv[1]))
    os.setuid(int(sys.argv[1]))
raise SystemExit(main(["doctor", "--port", "0", "--quick", "--data", sys.argv[2]]))
"""


OWNER_NAME = user_named(OWNER)


def chown_to_owner(path: Path) -> None:
    if IS_ROOT:
        os.chown(path, OWNER, OWNER)


def lock_out(directory: Path) -> str:
    """Deny another user access to a directory; return the fix that doctor suggests."""
    if IS_ROOT:
        return f"         → run doctor as {user_named(directory.stat().st_uid)}"
    directory.chmod(0)
    return f"           chmod 700 {directory}"


@pytest.fixture
def store(data: Path) -> Iterator[Path]:
    """A store of another user, below directories that every user can access: those of pytest are private."""
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name)
        parent.chmod(0o755)
        shutil.copytree(data, parent / "data")
        shutil.copytree(data, parent / "another")
        (parent / "data").chmod(0o700)
        for path in (parent / "data", *(parent / "data").iterdir()):
            chown_to_owner(path)
        yield parent / "data"
        for directory in (parent, parent / "data"):
            directory.chmod(0o700)


def doctor(user: int, directory: Path) -> tuple[int, list[str]]:
    completed = subprocess.run(
        [sys.executable, "-c", AS_USER, str(user), str(directory), str(directory.parent / "another")],
        cwd="/", env=clean_environment(), capture_output=True, encoding="utf-8", check=False, timeout=60,
    )  # fmt: skip
    assert completed.stderr == ""
    return completed.returncode, completed.stdout.splitlines()


def problems(lines: list[str]) -> list[str]:
    return [line.removeprefix("problem  ") for line in lines if line.startswith("problem  ")]


def test_read_only_directory_is_not_reported_as_damaged(store: Path) -> None:
    store.chmod(0o500)
    code, lines = doctor(OWNER, store)
    assert code == 1
    assert problems(lines) == [f"data directory: this user cannot write to {store}, which belongs to {OWNER_NAME}"]
    assert f"           chmod 700 {store}" in lines
    assert SKIPPED in lines


def test_inaccessible_directory_is_reported_with_its_owner(store: Path) -> None:
    fix = lock_out(store)
    code, lines = doctor(OTHER_USER, store)
    assert code == 1
    assert problems(lines) == [f"data directory: this user cannot access {store}, which belongs to {OWNER_NAME}"]
    assert fix in lines
    assert SKIPPED in lines


def test_inaccessible_parent_directory_is_the_one_reported(store: Path) -> None:
    store.parent.chmod(0o700)
    lock_out(store.parent)
    code, lines = doctor(OWNER, store)
    assert (code, problems(lines)) == (
        1,
        [f"data directory: this user cannot access {store.parent}, which belongs to {user_named(os.geteuid())}"],
    )


def test_link_to_an_inaccessible_directory_is_followed(store: Path) -> None:
    link = store.parent / "link"
    link.symlink_to(store)
    lock_out(store)
    code, lines = doctor(OTHER_USER, link)
    assert (code, problems(lines)) == (
        1,
        [f"data directory: this user cannot access {store}, which belongs to {OWNER_NAME}"],
    )


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_read_only_file_is_not_reported_as_damaged(store: Path, suffix: str) -> None:
    file = Path(f"{store / 'cloud.db'}{suffix}")
    file.touch()
    file.chmod(0o400)
    chown_to_owner(file)
    code, lines = doctor(OWNER, store)
    assert code == 1
    assert f"problem  databases: this user cannot write to {file}, which belongs to {OWNER_NAME}" in lines
    assert not any("damaged" in line for line in lines)
    assert f"           chmod 600 {file}" in lines
    assert "ok       databases: activity.db is intact and up to date" in lines


# Simulates a read-only file system where mounting is not permitted.
READ_ONLY = """
import os, sys
from cloudconsole.cli.main import main
access = os.access
os.access = lambda path, mode, **more: not mode & os.W_OK and access(path, mode, **more)
os.statvfs = lambda path: type("Stat", (), {"f_flag": os.ST_RDONLY})
raise SystemExit(main(["doctor", "--port", "0", "--data", sys.argv[1]]))
"""


def doctor_on_read_only(directory: Path) -> "subprocess.CompletedProcess[str]":
    mount = f"mount --bind {directory} {directory} && mount -o remount,ro,bind {directory}"
    # In a separate mount namespace, which ends with the process.
    unshare = ["unshare", *([] if IS_ROOT else ["-r"]), "-m", "sh", "-c"]
    command = [sys.executable, "-c", READ_ONLY, str(directory)]
    if subprocess.run([*unshare, mount], capture_output=True, check=False).returncode == 0:
        command = [*unshare, f'{mount} && exec "$0" -m cloudconsole doctor --port 0 --data {directory}', sys.executable]
    return subprocess.run(
        command, env=clean_environment(), capture_output=True, encoding="utf-8", check=False, timeout=60
    )


def test_read_only_file_system_is_reported(store: Path) -> None:
    completed = doctor_on_read_only(store)
    assert (completed.returncode, completed.stderr) == (1, "")
    assert problems(completed.stdout.splitlines()) == [
        f"data directory: {store} is on a read-only file system, where no store can be used"
    ]
    assert "damage" not in completed.stdout
