"""`cloudconsole admin` as a process: exit code and both output streams."""

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
from tests.fork_server import ForkedProcess, run_forked
from tests.harness import clean_environment
from tests.server.commands.conftest import Run
from tests.server.doctor.conftest import execute

pytestmark = pytest.mark.embedded_only

SMALL = "version: 1\nnodes: [hk-1]\nnews: [{id: 1, date: 2026-01-01, title: 上线, url: 'https://example.com/'}]\n"


def admin(directory: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_forked(["admin", *arguments], clean_environment(**environment), directory)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A working directory with a small cloud file."""
    (tmp_path / "cloud.yaml").write_text(SMALL, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def loaded_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory whose store has the cloud loaded; copy it, never change it."""
    directory = tmp_path_factory.mktemp("loaded")
    (directory / "cloud.yaml").write_text(SMALL, encoding="utf-8")
    assert admin(directory, "load", "cloud.yaml").returncode == 0
    return directory


@pytest.fixture
def loaded(loaded_once: Path, tmp_path: Path) -> Path:
    return copytree(loaded_once, tmp_path, dirs_exist_ok=True)


def test_load_creates_a_store_and_prints_a_summary(directory: Path) -> None:
    done = admin(directory, "load", "cloud.yaml", "--data", "elsewhere")
    summary = f"nodes: 1 added\nnews: 1 added\ncreated a new store in {directory / 'elsewhere'}\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, summary, "")
    assert (directory / "elsewhere" / "cloud.db").is_file()


def test_invalid_file_leaves_no_store_behind(directory: Path) -> None:
    (directory / "bad.yaml").write_text("version: 2\n")
    assert admin(directory, "load", "bad.yaml", "--data", "elsewhere").returncode == 1
    assert not (directory / "elsewhere").exists()


def test_second_load_changes_nothing(loaded: Path) -> None:
    assert admin(loaded, "load", "cloud.yaml").stdout == "nothing to change\n"


def test_dump_is_unchanged_after_a_round_trip(loaded: Path) -> None:
    first = admin(loaded, "dump").stdout
    (loaded / "again.yaml").write_text(first, encoding="utf-8")
    assert admin(loaded, "load", "again.yaml", "--data", "second").returncode == 0
    assert admin(loaded, "dump", "--data", "second").stdout == first
    assert "上线" in first


def test_dump_is_utf_8_regardless_of_the_locale(loaded: Path) -> None:
    assert "上线" in admin(loaded, "dump", PYTHONIOENCODING="ascii").stdout


def test_a_dry_run_changes_nothing(loaded: Path) -> None:
    before = admin(loaded, "dump").stdout
    (loaded / "less.yaml").write_text("version: 1\n")
    done = admin(loaded, "load", "less.yaml", "--dry-run")
    assert done.stdout == "nodes: 1 removed\nnews: 1 removed\ndry run: nothing was changed\n"
    assert admin(loaded, "dump").stdout == before


def test_dry_run_creates_no_store(directory: Path) -> None:
    assert admin(directory, "load", "cloud.yaml", "--dry-run").returncode == 0
    assert [path.name for path in directory.iterdir()] == ["cloud.yaml"]


def test_dump_file_is_accessible_only_to_its_owner(loaded: Path) -> None:
    (loaded / "out.yaml").write_text("old")
    (loaded / "out.yaml").chmod(0o644)
    done = admin(loaded, "dump", "out.yaml")
    assert (done.returncode, done.stdout) == (0, "")
    assert stat.S_IMODE((loaded / "out.yaml").stat().st_mode) == 0o600
    assert (loaded / "out.yaml").read_text(encoding="utf-8") == admin(loaded, "dump").stdout
    assert sorted(path.name for path in loaded.iterdir()) == ["cloud.yaml", "data", "out.yaml"]


def test_environment_sets_directory_and_time_zone(directory: Path) -> None:
    done = admin(directory, "load", "cloud.yaml", CLOUDCONSOLE_DATA="named", CLOUDCONSOLE_TIME_ZONE="Asia/Shanghai")
    assert done.returncode == 0
    assert "date: 2025-12-31T16:00:00Z" in admin(directory, "dump", "--data", "named").stdout


def test_argument_overrides_the_environment(directory: Path) -> None:
    admin(directory, "load", "cloud.yaml", "--time-zone", "UTC", CLOUDCONSOLE_TIME_ZONE="Asia/Shanghai")
    assert "date: 2026-01-01T00:00:00Z" in admin(directory, "dump").stdout


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
    ("arguments", "message"),
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
def test_failure_is_reported_in_one_line(directory: Path, arguments: list[str], message: str) -> None:
    (directory / "broken").mkdir()
    (directory / "broken" / "cloud.db").write_bytes(b"this is no database " * 100)
    assert admin(directory, "load", "cloud.yaml", "--data", "good").returncode == 0
    done = admin(directory, *arguments)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("cloudconsole: ")
    assert message in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["load"],
        ["lood", "cloud.yaml"],
    ],
)
def test_usage_error_is_explained(directory: Path, arguments: list[str]) -> None:
    done = admin(directory, *arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("cloudconsole: ")
    assert done.stderr.endswith(" --help\n")


def test_full_disk_causes_no_traceback(loaded: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = run_forked(["admin", "dump"], clean_environment(), loaded, stdout=full.fileno())
    assert done.returncode == 1
    assert "No space left on device" in done.stderr.splitlines()[0]
    assert "Traceback" not in done.stderr


def test_closed_pipe_causes_no_traceback(loaded: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = run_forked(["admin", "dump"], clean_environment(), loaded, stdout=write_end)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (1, "")


def test_dump_does_not_follow_symbolic_links(loaded: Path) -> None:
    (loaded / "target.yaml").write_text("old")
    (loaded / "link.yaml").symlink_to("target.yaml")
    done = admin(loaded, "dump", "link.yaml")
    message = "link.yaml is a symbolic link, which is not followed: choose another name or remove it"
    assert (done.returncode, done.stderr) == (1, f"cloudconsole: {message}\n")
    assert (loaded / "link.yaml").is_symlink()
    assert (loaded / "target.yaml").read_text() == "old"


def test_dump_is_not_written_to_a_named_pipe(loaded: Path) -> None:
    os.mkfifo(loaded / "out.yaml")
    done = admin(loaded, "dump", "out.yaml")
    assert done.stderr == "cloudconsole: out.yaml is not a regular file: choose another name\n"


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
def test_dump_accepts_names_of_standard_output(loaded: Path, name: str) -> None:
    done = admin(loaded, "dump", name)
    assert (done.returncode, done.stdout) == (0, admin(loaded, "dump").stdout)
    assert {file.name for file in loaded.iterdir()} == {"cloud.yaml", "data"}


def test_dump_can_be_written_to_a_file_named_dash(loaded: Path) -> None:
    assert admin(loaded, "dump", "./-").stdout == ""
    assert (loaded / "-").read_text(encoding="utf-8") == admin(loaded, "dump").stdout


def test_dump_can_be_written_to_a_process_substitution(loaded: Path) -> None:
    command = f"{sys.executable} -m cloudconsole admin dump >(cat > copy.yaml; echo done > ended)"
    subprocess.run(["bash", "-c", f"{command}; until [ -e ended ]; do sleep 0.05; done"], cwd=loaded, check=True)
    assert (loaded / "copy.yaml").read_text(encoding="utf-8") == admin(loaded, "dump").stdout


def test_store_can_be_dumped_during_a_write(loaded: Path) -> None:
    engine = open_engine(loaded / "data", "cloud")
    with engine.begin() as connection:
        connection.execute(insert(nodes).values(name="not there yet"))
        dumping = ForkedProcess(
            ["admin", "dump"], clean_environment(), loaded, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert dumping.stdout is not None
        first = dumping.stdout.read(20)
    engine.dispose()
    rest, errors = dumping.communicate(timeout=60)
    assert (dumping.returncode, errors) == (0, "")
    assert first == "# A cloud in a file."
    assert "not there yet" not in rest


@pytest.mark.parametrize("part", [("cloud", "operator_audit", ()), ("activity", "access_audit", ("--access",))])
def test_audit_entry_with_an_invalid_time_is_shown(
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
