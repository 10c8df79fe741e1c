"""What the doctor says where its user cannot get at the folder; of a store that it cannot see, it says nothing."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import clean_environment

OWNER, STRANGER = 4711, 4712
NOT_LOOKED_AT = (
    "warning  databases, totals, times in the store, operators, sample passwords, login throttle, proxies: "
    "not looked at: the data folder cannot be used"
)
# Run once before the user is changed, who may not be able to read where Python is: then everything is imported.
AS_USER = """
import contextlib, io, os, sys
from cloudconsole.cli.main import main
with contextlib.redirect_stdout(io.StringIO()):
    main(["doctor", "--port", "0", "--quick", "--data", sys.argv[3]])
os.setgroups([])
os.setgid(int(sys.argv[1]))
os.setuid(int(sys.argv[1]))
raise SystemExit(main(["doctor", "--port", "0", "--quick", "--data", sys.argv[2]]))
"""

pytestmark = pytest.mark.skipif(
    os.getuid() != 0 and os.environ.get("CI") != "true", reason="only root can be someone else"
)


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
            os.chown(path, OWNER, OWNER)
        yield place / "data"


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
    assert problems(lines) == [f"data folder: {store}, which belongs to {OWNER}, cannot be written to by this user"]
    assert f"         → chmod 700 {store}" in lines
    assert NOT_LOOKED_AT in lines


def test_who_may_not_look_into_the_folder_is_told_whose_it_is(store: Path) -> None:
    code, lines = doctor(STRANGER, store)
    assert code == 1
    assert problems(lines) == [f"data folder: this user may not look into {store}, which belongs to {OWNER}"]
    assert f"         → run doctor as {OWNER}" in lines
    assert NOT_LOOKED_AT in lines


def test_a_folder_above_that_is_closed_is_the_one_that_is_named(store: Path) -> None:
    store.parent.chmod(0o700)
    code, lines = doctor(OWNER, store)
    assert (code, problems(lines)) == (
        1,
        [f"data folder: this user may not look into {store.parent}, which belongs to root"],
    )


def test_a_link_to_a_closed_folder_is_followed(store: Path) -> None:
    link = store.parent / "link"
    link.symlink_to(store)
    code, lines = doctor(STRANGER, link)
    assert (code, problems(lines)) == (
        1,
        [f"data folder: this user may not look into {store}, which belongs to {OWNER}"],
    )


@pytest.mark.parametrize("end", ["", "-wal"])
def test_a_file_that_cannot_be_written_to_is_not_damaged(store: Path, end: str) -> None:
    file = Path(f"{store / 'cloud.db'}{end}")
    file.touch()
    file.chmod(0o400)
    os.chown(file, OWNER, OWNER)
    code, lines = doctor(OWNER, store)
    assert code == 1
    assert f"problem  databases: {file}, which belongs to {OWNER}, cannot be written to by this user" in lines
    assert not any("damaged" in line for line in lines)
    assert f"         → chmod 600 {file}" in lines
    assert "ok       databases: activity.db is sound and up to date" in lines


def test_a_read_only_file_system_is_told(store: Path) -> None:
    mount = f"mount --bind {store} {store} && mount -o remount,ro,bind {store}"
    # In a namespace of its own, which ends with it.
    if subprocess.run(["unshare", "-m", "sh", "-c", mount], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    command = f'{mount} && exec "$0" -m cloudconsole doctor --port 0 --data {store}'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", command, sys.executable],
        env=clean_environment(), capture_output=True, encoding="utf-8", check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert problems(done.stdout.splitlines()) == [
        f"data folder: {store} is on a file system that is read-only, and no store can be used there"
    ]
    assert "damage" not in done.stdout
