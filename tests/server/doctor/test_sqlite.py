"""What the doctor says where its user cannot get at the folder; of a store that it cannot see, it says nothing."""

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
OWNER, STRANGER = (4711, 4712) if IS_ROOT else (os.geteuid(), os.geteuid())
"""Only root can be others; anyone else is shut out of a folder of their own."""
NOT_LOOKED_AT = (
    "warning  databases, totals, prices, times in the store, operators, sample passwords, login throttle, proxies, "
    "token keys, cloud: skipped: the data directory cannot be used"
)
# Run once before the user is changed, who may not be able to read where Python is: then everything is imported.
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


def give(path: Path) -> None:
    if IS_ROOT:
        os.chown(path, OWNER, OWNER)


def shut_out(folder: Path) -> str:
    """Let a folder be closed to a stranger; gives what opens it."""
    if IS_ROOT:
        return f"         → run doctor as {user_named(folder.stat().st_uid)}"
    folder.chmod(0)
    return f"           chmod 700 {folder}"


@pytest.fixture
def store(data: Path) -> Iterator[Path]:
    """A store of another user, where everybody can get at it: the tests' own folders are closed."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        shutil.copytree(data, place / "data")
        shutil.copytree(data, place / "another")
        (place / "data").chmod(0o700)
        for path in (place / "data", *(place / "data").iterdir()):
            give(path)
        yield place / "data"
        for folder in (place, place / "data"):
            folder.chmod(0o700)


def doctor(user: int, folder: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", AS_USER, str(user), str(folder), str(folder.parent / "another")],
        cwd="/", env=clean_environment(), capture_output=True, encoding="utf-8", check=False, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def problems(lines: list[str]) -> list[str]:
    return [line.removeprefix("problem  ") for line in lines if line.startswith("problem  ")]


def test_a_folder_that_its_owner_cannot_write_to_is_not_damaged(store: Path) -> None:
    store.chmod(0o500)
    code, lines = doctor(OWNER, store)
    assert code == 1
    assert problems(lines) == [f"data directory: this user cannot write to {store}, which belongs to {OWNER_NAME}"]
    assert f"           chmod 700 {store}" in lines
    assert NOT_LOOKED_AT in lines


def test_who_may_not_look_into_the_folder_is_told_whose_it_is(store: Path) -> None:
    mend = shut_out(store)
    code, lines = doctor(STRANGER, store)
    assert code == 1
    assert problems(lines) == [f"data directory: this user cannot access {store}, which belongs to {OWNER_NAME}"]
    assert mend in lines
    assert NOT_LOOKED_AT in lines


def test_a_folder_above_that_is_closed_is_the_one_that_is_named(store: Path) -> None:
    store.parent.chmod(0o700)
    shut_out(store.parent)
    code, lines = doctor(OWNER, store)
    assert (code, problems(lines)) == (
        1,
        [f"data directory: this user cannot access {store.parent}, which belongs to {user_named(os.geteuid())}"],
    )


def test_a_link_to_a_closed_folder_is_followed(store: Path) -> None:
    link = store.parent / "link"
    link.symlink_to(store)
    shut_out(store)
    code, lines = doctor(STRANGER, link)
    assert (code, problems(lines)) == (
        1,
        [f"data directory: this user cannot access {store}, which belongs to {OWNER_NAME}"],
    )


@pytest.mark.parametrize("end", ["", "-wal"])
def test_a_file_that_cannot_be_written_to_is_not_damaged(store: Path, end: str) -> None:
    file = Path(f"{store / 'cloud.db'}{end}")
    file.touch()
    file.chmod(0o400)
    give(file)
    code, lines = doctor(OWNER, store)
    assert code == 1
    assert f"problem  databases: this user cannot write to {file}, which belongs to {OWNER_NAME}" in lines
    assert not any("damaged" in line for line in lines)
    assert f"           chmod 600 {file}" in lines
    assert "ok       databases: activity.db is intact and up to date" in lines


# Where nothing can be mounted: what Python is told by a file system that is read-only.
READ_ONLY = """
import os, sys
from cloudconsole.cli.main import main
access = os.access
os.access = lambda path, mode, **more: not mode & os.W_OK and access(path, mode, **more)
os.statvfs = lambda path: type("Told", (), {"f_flag": os.ST_RDONLY})
raise SystemExit(main(["doctor", "--port", "0", "--data", sys.argv[1]]))
"""


def doctor_on_read_only(folder: Path) -> "subprocess.CompletedProcess[str]":
    mount = f"mount --bind {folder} {folder} && mount -o remount,ro,bind {folder}"
    # In a namespace of its own, which ends with it.
    own = ["unshare", *([] if IS_ROOT else ["-r"]), "-m", "sh", "-c"]
    command = [sys.executable, "-c", READ_ONLY, str(folder)]
    if subprocess.run([*own, mount], capture_output=True, check=False).returncode == 0:
        command = [*own, f'{mount} && exec "$0" -m cloudconsole doctor --port 0 --data {folder}', sys.executable]
    return subprocess.run(
        command, env=clean_environment(), capture_output=True, encoding="utf-8", check=False, timeout=60
    )


def test_a_read_only_file_system_is_told(store: Path) -> None:
    done = doctor_on_read_only(store)
    assert (done.returncode, done.stderr) == (1, "")
    assert problems(done.stdout.splitlines()) == [
        f"data directory: {store} is on a read-only file system, where no store can be used"
    ]
    assert "damage" not in done.stdout
