"""A console whose standard streams systemd connects to the journal."""

import json
import os
import re
from pathlib import Path

from tests.e2e.processes import eventually
from tests.fork_server import MAX_WAIT_SECONDS, ForkedProcess
from tests.harness import clean_environment


def run_under_journal(journal: Path, *arguments: str) -> ForkedProcess:
    """Start a command with both streams on one file, which replaces the journal's socket."""
    with journal.open("w") as stream:
        status = os.fstat(stream.fileno())
        environment = clean_environment(JOURNAL_STREAM=f"{status.st_dev}:{status.st_ino}")
        return ForkedProcess(arguments, environment, stdout=stream.fileno(), stderr=stream.fileno())


def test_every_line_is_a_priority_and_json(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    process = run_under_journal(journal, "serve", "--port", "0", "--data", str(tmp_path / "data"), "--workers", "2")
    try:
        eventually(lambda: '"event":"start"' in journal.read_text())
        process.terminate()
        assert process.wait(MAX_WAIT_SECONDS) == 0
    finally:
        process.kill()
    lines = journal.read_text().splitlines()
    assert [json.loads(line.removeprefix("<6>"))["event"] for line in lines] == ["start", "stop"]
    assert all(line.startswith("<6>") for line in lines)


def test_startup_error_has_priority_error(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    process = run_under_journal(journal, "serve", "--port", "70000", "--data", str(tmp_path / "data"))
    assert process.wait(MAX_WAIT_SECONDS) == 1
    assert re.fullmatch(r"<3>cloudconsole: --port: [^\n]+\n", journal.read_text())
