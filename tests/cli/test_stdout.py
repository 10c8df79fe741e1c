"""Standard output: write errors are one line, and unencodable characters are escaped."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.fork_server import run_forked
from tests.harness import clean_environment

COMMANDS = [
    ("doctor", "--port", "0", "--quick"),
    ("serve", "--print-config"),
    ("admin", "tenant", "list", "--json"),
    ("admin", "dump"),
    ("--version",),
]
EACH_COMMAND = pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)


def run(
    data: Path, *arguments: str, stdout: int | None = None, **environment: str
) -> "subprocess.CompletedProcess[str]":
    variables = clean_environment(CLOUDCONSOLE_DATA=str(data), **{"PYTHONUNBUFFERED": "", **environment})
    return run_forked(arguments, variables, data.parent, stdout=stdout)


@EACH_COMMAND
def test_full_disk_is_a_one_line_error(data: Path, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = run(data, *arguments, stdout=full.fileno())
    assert (done.returncode, done.stderr) == (1, "cloudconsole: output: No space left on device\n")


def test_full_disk_is_a_one_line_error_when_unbuffered(data: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = run(data, "admin", "dump", stdout=full.fileno(), PYTHONUNBUFFERED="1")
    assert (done.returncode, done.stderr) == (1, "cloudconsole: output: No space left on device\n")


@EACH_COMMAND
def test_closed_pipe_is_silent(data: Path, arguments: tuple[str, ...]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = run(data, *arguments, stdout=write_end)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (1, "")


def test_doctor_output_is_escaped_for_ascii(data: Path) -> None:
    data.chmod(0o755)
    done = run(data, "doctor", "--port", "0", "--quick", PYTHONIOENCODING="ascii")
    assert done.stderr == ""
    assert f"         \\u2192 restrict its permissions:\n           chmod 700 {data}" in done.stdout


def test_names_are_escaped_for_ascii(data: Path) -> None:
    assert run(data, "admin", "tenant", "add", "中é🙂").returncode == 0
    listed = run(data, "admin", "tenant", "list", "--prefix", "中", PYTHONIOENCODING="ascii")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert r"\u4e2d\xe9\U0001f642" in listed.stdout


@pytest.mark.parametrize("arguments", [("list", "--prefix", "中"), ("show", "中é🙂")])
def test_json_in_ascii_is_still_json(data: Path, arguments: tuple[str, ...]) -> None:
    assert run(data, "admin", "tenant", "add", "中é🙂").returncode == 0
    done = run(data, "admin", "tenant", *arguments, "--json", PYTHONIOENCODING="ascii")
    found = json.loads(done.stdout)
    assert (found[0] if isinstance(found, list) else found) == {"name": "中é🙂"}
