"""`cloudconsole admin` as an operator meets it: a process with an exit code and two streams."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest
from sqlalchemy import insert

from cloudconsole.store.sqlite.engine import open_engine
from cloudconsole.store.tables import nodes
from tests.fork_server import WarmProcess, run_warm
from tests.harness import clean_environment
from tests.server.commands.conftest import Run
from tests.server.doctor.conftest import execute

pytestmark = pytest.mark.embedded_only

SMALL = "version: 1\nnodes: [hk-1]\nnews: [{id: 1, date: 2026-01-01, title: 上线, url: 'https://example.com/'}]\n"


def admin(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_warm(["admin", *arguments], clean_environment(**environment), folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with a small cloud in a file."""
    (tmp_path / "cloud.yaml").write_text(SMALL, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def once_loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Such a folder with a store that holds the cloud; copy it, never change it."""
    folder = tmp_path_factory.mktemp("loaded")
    (folder / "cloud.yaml").write_text(SMALL, encoding="utf-8")
    assert admin(folder, "load", "cloud.yaml").returncode == 0
    return folder


@pytest.fixture
def loaded(once_loaded: Path, tmp_path: Path) -> Path:
    return copytree(once_loaded, tmp_path, dirs_exist_ok=True)


def test_load_makes_a_store_and_says_what_it_did(folder: Path) -> None:
    done = admin(folder, "load", "cloud.yaml", "--data", "elsewhere")
    said = f"nodes: 1 added\nnews: 1 added\ncreated a new store in {folder / 'elsewhere'}\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")
    assert (folder / "elsewhere" / "cloud.db").is_file()


def test_a_file_with_problems_leaves_no_store_behind(folder: Path) -> None:
    (folder / "bad.yaml").write_text("version: 2\n")
    assert admin(folder, "load", "bad.yaml", "--data", "elsewhere").returncode == 1
    assert not (folder / "elsewhere").exists()


def test_load_again_has_nothing_to_change(loaded: Path) -> None:
    assert admin(loaded, "load", "cloud.yaml").stdout == "nothing to change\n"


def test_a_dump_loads_and_gives_the_same_dump(loaded: Path) -> None:
    first = admin(loaded, "dump").stdout
    (loaded / "again.yaml").write_text(first, encoding="utf-8")
    assert admin(loaded, "load", "again.yaml", "--data", "second").returncode == 0
    assert admin(loaded, "dump", "--data", "second").stdout == first
    assert "上线" in first


def test_a_dump_is_utf_8_whatever_the_terminal_speaks(loaded: Path) -> None:
    assert "上线" in admin(loaded, "dump", PYTHONIOENCODING="ascii").stdout


def test_a_dry_run_changes_nothing(loaded: Path) -> None:
    before = admin(loaded, "dump").stdout
    (loaded / "less.yaml").write_text("version: 1\n")
    done = admin(loaded, "load", "less.yaml", "--dry-run")
    assert done.stdout == "nodes: 1 removed\nnews: 1 removed\ndry run: nothing was changed\n"
    assert admin(loaded, "dump").stdout == before


def test_a_dry_run_without_a_store_makes_none(folder: Path) -> None:
    assert admin(folder, "load", "cloud.yaml", "--dry-run").returncode == 0
    assert [path.name for path in folder.iterdir()] == ["cloud.yaml"]


def test_a_dump_to_a_file_is_for_its_owner_alone(loaded: Path) -> None:
    (loaded / "out.yaml").write_text("old")
    (loaded / "out.yaml").chmod(0o644)
    done = admin(loaded, "dump", "out.yaml")
    assert (done.returncode, done.stdout) == (0, "")
    assert stat.S_IMODE((loaded / "out.yaml").stat().st_mode) == 0o600
    assert (loaded / "out.yaml").read_text(encoding="utf-8") == admin(loaded, "dump").stdout
    assert sorted(path.name for path in loaded.iterdir()) == ["cloud.yaml", "data", "out.yaml"]


def test_the_environment_names_folder_and_zone(folder: Path) -> None:
    done = admin(folder, "load", "cloud.yaml", CLOUDCONSOLE_DATA="named", CLOUDCONSOLE_TIME_ZONE="Asia/Shanghai")
    assert done.returncode == 0
    assert "date: 2025-12-31T16:00:00Z" in admin(folder, "dump", "--data", "named").stdout


def test_an_argument_goes_before_the_environment(folder: Path) -> None:
    admin(folder, "load", "cloud.yaml", "--time-zone", "UTC", CLOUDCONSOLE_TIME_ZONE="Asia/Shanghai")
    assert "date: 2026-01-01T00:00:00Z" in admin(folder, "dump").stdout


def test_problems_are_listed_on_standard_error(loaded: Path) -> None:
    before = admin(loaded, "dump").stdout
    (loaded / "bad.yaml").write_text("version: 1\nnodes: [a, a]\nnews: 5\n")
    done = admin(loaded, "load", "bad.yaml")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "bad.yaml:2: nodes[1]: duplicates nodes[0] on line 2",
        "bad.yaml:3: news: must be a list",
    ]
    assert admin(loaded, "dump").stdout == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["load", "missing.yaml"], "missing.yaml cannot be read: No such file or directory"),
        (["load", "."], "cannot be read: Is a directory"),
        (["load", "cloud.yaml", "--data", "cloud.yaml"], "--data: cloud.yaml is a file, not a directory"),
        (["load", "cloud.yaml", "--data", "/dev/null/x"], "cannot be used"),
        (["load", "cloud.yaml", "--data", "broken"], "file is not a database"),
        (["dump", "--data", "nowhere"], "no store in nowhere"),
        (["dump", "missing/out.yaml", "--data", "good"], "there is no directory missing: create it first"),
        (["dump", "good", "--data", "good"], "good is not a regular file: choose another name"),
        (["load", "cloud.yaml", "--time-zone", "Mars/Olympus"], "--time-zone: must be a time zone name"),
        (["load", "cloud.yaml", "--time-zone", "../etc/passwd"], "--time-zone: must be a time zone name"),
        (["load", "cloud.yaml", "--time-zone", "America"], "--time-zone: must be a time zone name"),
        (["load", "cloud.yaml", "--data", ""], "--data: must be a directory"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(folder: Path, arguments: list[str], words: str) -> None:
    (folder / "broken").mkdir()
    (folder / "broken" / "cloud.db").write_bytes(b"this is no database " * 100)
    assert admin(folder, "load", "cloud.yaml", "--data", "good").returncode == 0
    done = admin(folder, *arguments)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("cloudconsole: ")
    assert words in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["load"],
        ["lood", "cloud.yaml"],
    ],
)
def test_wrong_usage_is_explained(folder: Path, arguments: list[str]) -> None:
    done = admin(folder, *arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("cloudconsole: ")
    assert done.stderr.endswith(" --help\n")


def test_a_full_disk_is_said_in_one_line(loaded: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = run_warm(["admin", "dump"], clean_environment(), loaded, stdout=full.fileno())
    assert done.returncode == 1
    assert "No space left on device" in done.stderr.splitlines()[0]
    assert "Traceback" not in done.stderr


def test_a_reader_that_leaves_early_causes_no_traceback(loaded: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = run_warm(["admin", "dump"], clean_environment(), loaded, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_dump_does_not_follow_a_link(loaded: Path) -> None:
    (loaded / "target.yaml").write_text("old")
    (loaded / "link.yaml").symlink_to("target.yaml")
    done = admin(loaded, "dump", "link.yaml")
    words = "link.yaml is a symbolic link, which is not followed: choose another name or remove it"
    assert (done.returncode, done.stderr) == (1, f"cloudconsole: {words}\n")
    assert (loaded / "link.yaml").is_symlink()
    assert (loaded / "target.yaml").read_text() == "old"


def test_a_dump_is_not_told_to_a_pipe_that_someone_put_there(loaded: Path) -> None:
    os.mkfifo(loaded / "out.yaml")
    done = admin(loaded, "dump", "out.yaml")
    assert done.stderr == "cloudconsole: out.yaml is not a regular file: choose another name\n"


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
def test_a_dump_to_standard_output_by_its_names(loaded: Path, name: str) -> None:
    done = admin(loaded, "dump", name)
    assert (done.returncode, done.stdout) == (0, admin(loaded, "dump").stdout)
    assert {file.name for file in loaded.iterdir()} == {"cloud.yaml", "data"}


def test_a_file_whose_name_is_a_dash_can_be_written(loaded: Path) -> None:
    assert admin(loaded, "dump", "./-").stdout == ""
    assert (loaded / "-").read_text(encoding="utf-8") == admin(loaded, "dump").stdout


def test_a_dump_goes_to_a_file_that_the_shell_has_opened(loaded: Path) -> None:
    command = f"{sys.executable} -m cloudconsole admin dump >(cat > copy.yaml; echo done > ended)"
    subprocess.run(["bash", "-c", f"{command}; until [ -e ended ]; do sleep 0.05; done"], cwd=loaded, check=True)
    assert (loaded / "copy.yaml").read_text(encoding="utf-8") == admin(loaded, "dump").stdout


def test_a_store_can_be_dumped_while_another_writes(loaded: Path) -> None:
    engine = open_engine(loaded / "data", "cloud")
    with engine.begin() as connection:
        connection.execute(insert(nodes).values(name="not there yet"))
        dumping = WarmProcess(
            ["admin", "dump"], clean_environment(), loaded, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert dumping.stdout is not None
        first = dumping.stdout.read(20)
    engine.dispose()
    rest, said = dumping.communicate(timeout=60)
    assert (dumping.returncode, said) == (0, "")
    assert first == "# A cloud in a file."
    assert "not there yet" not in rest


@pytest.mark.parametrize("part", [("cloud", "operator_audit", ()), ("activity", "access_audit", ("--access",))])
def test_a_line_of_a_time_that_can_be_none_is_shown(
    cloudconsole: Run, data: Path, part: tuple[str, str, tuple[str, ...]]
) -> None:
    database, table, flags = part
    if flags:
        execute(
            data, database, "INSERT INTO access_audit (at, event, address, request_id) VALUES (1, 'login', 'a', 'r')"
        )
    execute(data, database, f"UPDATE {table} SET at = 1763204400000000")
    done = cloudconsole("admin", "audit", *flags, "--data", data)
    assert (done.code, done.err) == (0, "")
    assert "\tno time (1763204400000000)\t" in done.out
