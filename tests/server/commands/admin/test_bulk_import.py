"""`cloudconsole admin import` on the command line."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from cloudconsole.operator.bulk_import import LINES_PER_TRANSACTION
from cloudconsole.store.base import read_only_engine
from cloudconsole.store.tables import resources
from tests.e2e.processes import eventually
from tests.e2e.test_durability import assert_sound, assert_totals_right
from tests.fork_server import ForkedProcess
from tests.harness import ApiClient, HttpTransport, clean_environment, running_server
from tests.operator import clouds
from tests.server.commands.conftest import Run
from tests.stores import database_flags, opened
from tests.terminal import Terminal

LINE = '{"tenant": "demo", "id": "imp-%d", "kind": "floating_ip", "name": "ip %d", "started": "2026-02-01T00:00:00Z"}\n'
"""Some of the test files have more of these than demo's quota allows."""


def write(directory: Path, count: int, end: str = "") -> Path:
    file = directory / "many.jsonl"
    with file.open("w") as lines:
        lines.writelines(LINE % (number, number) for number in range(count))
        lines.write(end)
    return file


def contents(data: Path) -> dict[str, list[dict[str, Any]]]:
    with opened(data, "cloud") as engine:
        return clouds.contents(engine)


def imported(data: Path) -> int:
    count = select(func.count()).where(resources.c.id.startswith("imp-"))
    with opened(data, "cloud") as engine, read_only_engine(engine).connect() as connection:
        return int(connection.scalar(count) or 0)


def test_import_prints_a_summary(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    done = cloudconsole("admin", "import", write(tmp_path, 5), "--data", data)
    assert (done.code, done.err) == (0, "")
    assert done.out == "resources: 5 added, 0 already there\n"
    assert imported(data) == 5


def test_invalid_line_says_how_to_continue(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    file = write(tmp_path, 3, end='{"tenant": "demo"}\n')
    done = cloudconsole("admin", "import", file, "--data", data)
    assert done.code == 1
    assert done.out == (
        "resources: 3 added, 0 already there\n"
        "stopped at line 4: all lines before it are imported; fix it and run the command again to continue\n"
    )
    assert done.err.splitlines()[0] == f"{file}:4: id: is missing"
    assert imported(data) == 3


def test_invalid_first_line_imports_nothing(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    done = cloudconsole("admin", "import", write(tmp_path, 0, end="\nnonsense\n"), "--data", data)
    assert done.out == (
        "resources: 0 added, 0 already there\n"
        "stopped at line 2: nothing was added; fix it and run the command again to continue\n"
    )


def test_a_dry_run_says_what_would_be_added(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    cloudconsole("admin", "import", write(tmp_path, 1), "--data", data)
    done = cloudconsole("admin", "import", write(tmp_path, 3), "--data", data, "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert done.out == ("resources: 2 would be added, 1 already there\ndry run: nothing was changed\n")


def test_summary_can_be_printed_as_json(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    file = write(tmp_path, 2, end="[]\n")
    cloudconsole("admin", "import", write(tmp_path, 1), "--data", data)
    done = cloudconsole("admin", "import", write(tmp_path, 2, end="[]\n"), "--data", data, "--json")
    summary = json.loads(done.out)
    problems = summary.pop("problems")
    assert summary == {"added": 1, "existing": 1, "complete": False, "dry_run": False}
    assert [(problem["line"], problem["path"]) for problem in problems] == [(3, "")]
    assert str(file) in done.err


def test_import_reads_standard_input(cloudconsole: Run, data: Path) -> None:
    content = LINE % (1, 1) + "nonsense\n"
    done = cloudconsole("admin", "import", "-", "--data", data, stdin=content.encode())
    assert done.err.startswith("standard input:2: is not JSON")
    assert imported(data) == 1


def test_dry_run_reports_errors_and_changes_nothing(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    before = contents(data)
    done = cloudconsole("admin", "import", write(tmp_path, 200), "--data", data, "--dry-run")
    assert done.code == 1
    assert "over quota (floating_ips: 8 of 8 in use, 1 more requested): raise the quota of demo" in done.err
    assert done.out.endswith(
        "invalid lines: the first 100; an import would stop at line 7\ndry run: nothing was changed\n"
    )
    assert contents(data) == before
    assert {file.name for file in data.iterdir()} <= {
        "activity.db",
        "cloud.db",
        "lock",
        "database",
        "database-password",
    }


def test_a_dry_run_lists_the_first_hundred_invalid_lines(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "invalid.jsonl"
    invalid = ['{"tenant": "demo"}\n', "nonsense\n", LINE.replace("demo", "nobody") % (0, 0)]
    file.write_text("".join(LINE % (number, number) + invalid[number % 3] for number in range(150)))
    done = cloudconsole("admin", "import", file, "--data", data, "--dry-run", "--force", "--json")
    summary = json.loads(done.out)
    assert (done.code, summary["added"]) == (1, 150)
    assert sorted({problem["line"] for problem in summary["problems"]}) == list(range(2, 202, 2))
    assert imported(data) == 0


def test_force_is_needed_over_quota(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    file = write(tmp_path, 200)
    assert cloudconsole("admin", "import", file, "--data", data).code == 1
    assert cloudconsole("admin", "import", file, "--data", data, "--force").code == 0
    assert imported(data) == 200


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_unreadable_file_is_rejected(cloudconsole: Run, data: Path, tmp_path: Path, name: str) -> None:
    done = cloudconsole("admin", "import", tmp_path / name, "--data", data)
    assert done.code == 1
    assert done.err.startswith(f"cloudconsole: {tmp_path / name} cannot be read: ")


@pytest.mark.embedded_only
def test_missing_store_is_rejected_and_not_created(cloudconsole: Run, tmp_path: Path) -> None:
    done = cloudconsole("admin", "import", write(tmp_path, 1), "--data", tmp_path / "none")
    assert done.err == f"cloudconsole: no store in {tmp_path / 'none'}: pass its directory with --data\n"
    assert not (tmp_path / "none").exists()


def test_terminal_shows_a_progress_bar_and_a_summary(data: Path, tmp_path: Path) -> None:
    terminal = Terminal(
        tmp_path, "admin", "import", str(write(tmp_path, 5)), "--data", str(data), *database_flags(data)
    )
    assert terminal.end() == 0
    assert "lines/s" in terminal.shown
    assert "resources: 5 added" in terminal.shown


def start_import(file: Path | str, data: Path, *options: str) -> ForkedProcess:
    arguments = ["admin", "import", str(file), "--data", str(data), *database_flags(data), "--force", *options]
    return ForkedProcess(
        arguments, clean_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@pytest.mark.embedded_only
def test_killed_import_can_be_resumed_without_loss(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    count = 8 * LINES_PER_TRANSACTION
    file = write(tmp_path, count)
    process = start_import(file, data)
    eventually(lambda: imported(data))
    process.kill()
    process.communicate(timeout=60)
    so_far = imported(data)
    assert so_far in range(LINES_PER_TRANSACTION, count + 1, LINES_PER_TRANSACTION), (
        "a transaction is applied entirely or not at all"
    )
    assert_sound(data)
    assert_totals_right(data)
    done = cloudconsole("admin", "import", file, "--data", data, "--force")
    assert done.out == f"resources: {count - so_far} added, {so_far} already there\n"
    assert imported(data) == count
    assert_totals_right(data)


@pytest.mark.embedded_only
@pytest.mark.parametrize("as_json", [False, True])
def test_import_is_incomplete_if_the_store_is_restored_meanwhile(
    cloudconsole: Run, data: Path, tmp_path: Path, as_json: bool
) -> None:
    cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data)
    process = start_import("-", data, *(["--json"] if as_json else []))
    assert process.stdin is not None
    process.stdin.writelines(LINE % (number, number) for number in range(LINES_PER_TRANSACTION + 500))
    process.stdin.flush()
    eventually(lambda: imported(data))
    assert cloudconsole("admin", "restore", tmp_path / "b.tar", "--data", data, "--yes").code == 0
    output, errors = process.communicate(timeout=60)
    message = "the store was restored during the import, and imported lines may be gone: run the same command again"
    assert (process.returncode, errors) == (1, f"cloudconsole: {message}\n")
    summary = {"added": 0, "existing": 0, "complete": False, "dry_run": False, "problems": []}
    assert (json.loads(output) if as_json else output) == (summary if as_json else "")
    assert imported(data) == 0


@pytest.mark.embedded_only
def test_leftovers_of_a_killed_dry_run_are_removed(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    process = start_import("-", data, "--dry-run")
    eventually(lambda: list(data.glob(".dry-run-*/cloud.db-wal")))
    (leftovers,) = data.glob(".dry-run-*")
    os.utime(leftovers, (0, 0))
    for argument in ([], ["--dry-run"]):
        assert cloudconsole("admin", "import", write(tmp_path, 1), "--data", data, *argument).code == 0
        assert leftovers.is_dir(), "its dry run is still running"
    process.kill()
    process.communicate(timeout=60)
    assert cloudconsole("admin", "import", write(tmp_path, 1), "--data", data, "--dry-run").code == 0
    assert not list(data.glob(".dry-run-*"))


@pytest.mark.embedded_only
def test_interrupted_import_says_how_to_continue(data: Path) -> None:
    process = start_import("-", data)
    assert process.stdin is not None
    process.stdin.writelines(LINE % (number, number) for number in range(LINES_PER_TRANSACTION + 500))
    process.stdin.flush()
    eventually(lambda: imported(data))
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "")
    assert output == (
        f"resources: {LINES_PER_TRANSACTION} added, 0 already there\n"
        f"stopped after importing {LINES_PER_TRANSACTION} lines: run the command again to continue\n"
    )
    assert_totals_right(data)


@pytest.mark.embedded_only
def test_console_serves_requests_during_an_import(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        transport = HttpTransport(server.base)
        client = ApiClient(transport)
        assert client.login().status == 200
        before = client.call("GetUsageLimits").data["totalFloatingIpsUsed"]
        process = start_import(write(tmp_path, 15_000), tmp_path / "data")
        while process.poll() is None:
            assert client.call("GetUsageLimits").status == 200
            other = ApiClient(transport)
            assert other.login("other", "console-other").status == 200
        assert process.communicate()[0] == "resources: 15000 added, 0 already there\n"
        assert client.call("GetUsageLimits").data["totalFloatingIpsUsed"] == before + 15_000
        transport.close()
    assert_totals_right(tmp_path / "data")
