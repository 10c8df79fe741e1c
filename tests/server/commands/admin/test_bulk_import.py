"""`cloudconsole admin import`: flags, output and exit codes."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloudconsole.operator.bulk_import import LINES_PER_TRANSACTION, ImportCounts, RestoredDuringImport
from cloudconsole.server.commands.admin import bulk_import
from cloudconsole.store.tables import resources
from tests.e2e.test_durability import assert_totals_right
from tests.fork_server import ForkedProcess
from tests.harness import ApiClient, HttpTransport, clean_environment, running_server
from tests.operator import clouds
from tests.server.commands.conftest import Run, admin_on_terminal
from tests.server.http.helpers import rows
from tests.stores import opened

LINE = '{"tenant": "demo", "id": "imp-%d", "kind": "floating_ip", "name": "ip %d", "started": "2026-02-01T00:00:00Z"}\n'
FITS_QUOTA = 6
"""Number of these lines that demo's quota allows."""


def write(directory: Path, count: int, end: str = "") -> Path:
    file = directory / "many.jsonl"
    file.write_text("".join(LINE % (number, number) for number in range(count)) + end)
    return file


def imported(data: Path) -> int:
    return sum(row.id.startswith("imp-") for row in rows(data, resources))


@pytest.mark.parametrize(
    ("count", "stopped"),
    [
        (3, "stopped at line 4: all lines before it are imported; fix it and run the command again to continue\n"),
        (0, "stopped at line 1: nothing was added; fix it and run the command again to continue\n"),
    ],
)
def test_invalid_line_says_how_to_continue(admin: Run, data: Path, tmp_path: Path, count: int, stopped: str) -> None:
    file = write(tmp_path, count, end='{"tenant": "demo"}\n')
    done = admin("import", file)
    assert (done.code, done.out) == (1, f"resources: {count} added, 0 already there\n{stopped}")
    assert done.err.splitlines()[0] == f"{file}:{count + 1}: id: is missing"
    assert imported(data) == count


def test_standard_input_is_read_and_the_summary_printed_as_json(admin: Run, data: Path, tmp_path: Path) -> None:
    admin("import", write(tmp_path, 1))
    done = admin("import", "-", "--json", stdin=write(tmp_path, 2, end="[]\n").read_bytes())
    summary = json.loads(done.out)
    problems = summary.pop("problems")
    assert summary == {"added": 1, "existing": 1, "complete": False, "dry_run": False}
    assert [(problem["line"], problem["path"]) for problem in problems] == [(3, "")]
    assert done.err.startswith("standard input:3: ")
    assert imported(data) == 2


def test_a_dry_run_says_what_would_be_added(admin: Run, data: Path, tmp_path: Path) -> None:
    admin("import", write(tmp_path, 1))
    done = admin("import", write(tmp_path, 3), "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert done.out == "resources: 2 would be added, 1 already there\ndry run: nothing was changed\n"
    assert imported(data) == 1


@pytest.mark.parametrize(("count", "listed"), [(99, "99"), (150, "the first 100")])
def test_dry_run_lists_a_hundred_invalid_lines(admin: Run, data: Path, tmp_path: Path, count: int, listed: str) -> None:
    with opened(data, "cloud") as engine:
        before = clouds.contents(engine)
    file = tmp_path / "invalid.jsonl"
    invalid = ['{"tenant": "demo"}\n', "nonsense\n", LINE.replace("demo", "nobody") % (0, 0)]
    file.write_text("".join(LINE % (number, number) + invalid[number % 3] for number in range(count)))
    command = ("import", file, "--dry-run", "--force")
    assert admin(*command).out == (
        f"resources: {count} would be added, 0 already there\n"
        f"invalid lines: {listed}; an import would stop at line 2\ndry run: nothing was changed\n"
    )
    done = admin(*command, "--json")
    summary = json.loads(done.out)
    assert (done.code, summary["added"]) == (1, count)
    lines = sorted({problem["line"] for problem in summary["problems"]})
    assert lines == list(range(2, 2 * min(count, 100) + 1, 2))
    with opened(data, "cloud") as engine:
        assert clouds.contents(engine) == before
    assert not list(data.glob(".*"))


def test_force_is_needed_over_quota(admin: Run, data: Path, tmp_path: Path) -> None:
    file = write(tmp_path, FITS_QUOTA + 1)
    assert admin("import", file).code == 1
    assert imported(data) == FITS_QUOTA
    assert admin("import", file, "--force").code == 0
    assert imported(data) == FITS_QUOTA + 1


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_unreadable_file_is_rejected(admin: Run, tmp_path: Path, name: str) -> None:
    done = admin("import", tmp_path / name)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"cloudconsole: {tmp_path / name} cannot be read: ")


def test_terminal_shows_a_progress_bar_and_a_summary(data: Path, tmp_path: Path) -> None:
    terminal = admin_on_terminal(data, "import", str(write(tmp_path, 5)))
    assert terminal.end() == 0
    assert "lines/s" in terminal.shown
    assert "resources: 5 added" in terminal.shown


@pytest.mark.parametrize(
    ("counts", "options", "counted", "stopped"),
    [
        (ImportCounts(2, 1), (), "2 added, 1 already there", "stopped after importing 3 lines: {again} to continue"),
        (ImportCounts(), (), "0 added, 0 already there", "stopped before anything was added: {again}"),
        (ImportCounts(2, 1), ("--dry-run",), "2 would be added, 1 already there", "interrupted\n{nothing}"),
    ],
)
def test_interrupted_import_says_how_to_continue(
    admin: Run,
    monkeypatch: pytest.MonkeyPatch,
    counts: ImportCounts,
    options: tuple[str, ...],
    counted: str,
    stopped: str,
) -> None:
    stop_with(monkeypatch, counts, KeyboardInterrupt())
    ending = stopped.format(again="run the command again", nothing="dry run: nothing was changed")
    assert admin("import", "-", *options) == (130, f"resources: {counted}\n{ending}\n", "")


@pytest.mark.parametrize("as_json", [False, True])
def test_import_into_a_restored_store_is_incomplete(admin: Run, monkeypatch: pytest.MonkeyPatch, as_json: bool) -> None:
    stop_with(monkeypatch, ImportCounts(2, 1), RestoredDuringImport())
    done = admin("import", "-", *(["--json"] if as_json else []))
    message = "the store was restored during the import, and imported lines may be gone: run the same command again"
    assert (done.code, done.err) == (1, f"cloudconsole: {message}\n")
    summary = {"added": 0, "existing": 0, "complete": False, "dry_run": False, "problems": []}
    assert (json.loads(done.out) if as_json else done.out) == (summary if as_json else "")


def stop_with(monkeypatch: pytest.MonkeyPatch, counts: ImportCounts, error: BaseException) -> None:
    """Make an import stop with this error after these counts."""

    def steps(*_arguments: object, **_options: object) -> Iterator[ImportCounts]:
        yield counts
        raise error

    monkeypatch.setattr(bulk_import, "import_resources", steps)


@pytest.mark.embedded_only
def test_leftovers_of_a_killed_dry_run_are_removed(admin: Run, data: Path) -> None:
    leftovers = data / ".dry-run-abc"
    leftovers.mkdir()
    os.utime(leftovers, (0, 0))
    assert admin("import", "-", "--dry-run").code == 0
    assert not leftovers.exists()


@pytest.mark.embedded_only
def test_console_serves_requests_during_an_import(tmp_path: Path) -> None:
    count = 10 * LINES_PER_TRANSACTION
    with running_server(tmp_path) as server:
        transport = HttpTransport(server.base)
        client = ApiClient(transport)
        assert client.login().status == 200
        before = client.call("GetUsageLimits").data["totalFloatingIpsUsed"]
        arguments = ["admin", "import", str(write(tmp_path, count)), "--data", str(tmp_path / "data"), "--force"]
        process = ForkedProcess(arguments, clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while process.poll() is None:
            assert client.call("GetUsageLimits").status == 200
            other = ApiClient(transport)
            assert other.login("other", "console-other").status == 200
        assert process.communicate() == (f"resources: {count} added, 0 already there\n", "")
        assert client.call("GetUsageLimits").data["totalFloatingIpsUsed"] == before + count
        transport.close()
    assert_totals_right(tmp_path / "data")
