"""The generated documents are those that the code gives now, and name every action, field and error there is."""

import subprocess
import sys
from pathlib import Path
from shutil import copytree

import msgspec
import pytest

from cloudconsole.spec.actions import ACTIONS, Action
from cloudconsole.spec.errors import ApiError

ROOT = Path(__file__).parents[2]
ACTIONS_PAGE = (ROOT / "docs/actions.md").read_text("utf-8")
ERRORS_PAGE = (ROOT / "docs/errors.md").read_text("utf-8")


def write_documents(root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tools.write_documents", *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of what is generated and of what generates it, to be changed."""
    copytree(ROOT / "tools", tmp_path / "tools")
    copytree(ROOT / "docs", tmp_path / "docs")
    copytree(ROOT / "src", tmp_path / "src")
    return tmp_path


def test_they_are_up_to_date() -> None:
    done = write_documents(ROOT, "--check")
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_one_that_differs_is_named_and_then_written(copy: Path) -> None:
    changed = copy / "docs/errors.md"
    good = changed.read_text("utf-8")
    changed.write_text(good.replace("not_found", "lost"), "utf-8")
    check = write_documents(copy, "--check")
    assert (check.returncode, check.stdout) == (1, "docs/errors.md: differs; run: make docs\n")
    written = write_documents(copy)
    assert (written.returncode, written.stdout) == (0, "docs/errors.md: written\n")
    assert changed.read_text("utf-8") == good


def test_a_missing_one_is_written(copy: Path) -> None:
    (copy / "docs/actions.md").unlink()
    assert write_documents(copy, "--check").returncode == 1
    write_documents(copy)
    assert (copy / "docs/actions.md").read_text("utf-8") == ACTIONS_PAGE


def test_another_argument_is_refused() -> None:
    done = write_documents(ROOT, "--chekc")
    assert (done.returncode, done.stderr) == (2, "usage: python -m tools.write_documents [--check]\n")


@pytest.mark.parametrize("error", ApiError.__subclasses__(), ids=lambda error: error.error)
def test_every_error_is_documented_with_its_code_and_words(error: type[ApiError]) -> None:
    rows = [line for line in ERRORS_PAGE.splitlines() if f"| `{error.error}` |" in line]
    assert rows[0].startswith(f"| {error.code} |")
    assert error.text.en in rows[-1]
    assert error.text.zh in rows[-1]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.name)
def test_every_action_is_documented_with_its_fields(action: Action) -> None:
    section = ACTIONS_PAGE.partition(f"\n## {action.name}\n")[2].partition("\n## ")[0]
    assert action.purpose.en in section
    record = action.record if isinstance(action.record, type) else action.record.__args__[0]
    for field in msgspec.structs.fields(record):
        assert f"| `{field.encode_name}` |" in section
    for parameter in action.parameters:
        assert f"| `{parameter}` |" in section
