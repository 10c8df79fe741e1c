"""The generated documents are those that the code gives now, and name every action, field and error there is."""

import subprocess
import sys
from pathlib import Path
from shutil import copytree
from typing import NamedTuple

import msgspec
import pytest

from cloudconsole.spec.actions import ACTIONS, Action
from cloudconsole.spec.errors import ApiError

ROOT = Path(__file__).parents[2]
ACTIONS_PAGE = (ROOT / "docs/reference/actions.md").read_text("utf-8")
ERRORS_PAGE = (ROOT / "docs/reference/errors.md").read_text("utf-8")


def build_docs(root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tools.build_docs", *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


class Renewed(NamedTuple):
    folder: Path
    check: "subprocess.CompletedProcess[str]"
    write: "subprocess.CompletedProcess[str]"


@pytest.fixture(scope="module")
def renewed(tmp_path_factory: pytest.TempPathFactory) -> Renewed:
    """A copy of what is generated and of what generates it: a changed and a missing one, looked for, then written."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("tools", "docs", "src"):
        copytree(ROOT / name, folder / name)
    (folder / "docs/reference/errors.md").write_text(ERRORS_PAGE.replace("not_found", "lost"), "utf-8")
    (folder / "docs/reference/actions.md").unlink()
    return Renewed(folder, build_docs(folder, "--check"), build_docs(folder))


def test_they_are_up_to_date() -> None:
    done = build_docs(ROOT, "--check")
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_those_that_differ_or_are_missing_are_named(renewed: Renewed) -> None:
    differs = "".join(f"docs/reference/{name}.md: differs; run: make docs\n" for name in ("actions", "errors"))
    assert (renewed.check.returncode, renewed.check.stdout) == (1, differs)


def test_they_are_written_and_no_others(renewed: Renewed) -> None:
    assert (renewed.write.returncode, renewed.write.stdout) == (
        0,
        "docs/reference/actions.md: written\ndocs/reference/errors.md: written\n",
    )


@pytest.mark.parametrize(("name", "page"), [("actions", ACTIONS_PAGE), ("errors", ERRORS_PAGE)])
def test_what_is_written_is_the_page(renewed: Renewed, name: str, page: str) -> None:
    assert (renewed.folder / f"docs/reference/{name}.md").read_text("utf-8") == page


def test_another_argument_is_refused() -> None:
    done = build_docs(ROOT, "--chekc")
    assert (done.returncode, done.stderr) == (2, "usage: python -m tools.build_docs [--check]\n")


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
