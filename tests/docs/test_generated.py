"""The generated documents are up to date and list every action, field and error."""

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


class Rebuilt(NamedTuple):
    folder: Path
    check: "subprocess.CompletedProcess[str]"
    write: "subprocess.CompletedProcess[str]"


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Rebuilt:
    """A copy of the documents and their generator, checked and rebuilt with one document changed and one missing."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("tools", "docs", "src"):
        copytree(ROOT / name, folder / name)
    (folder / "docs/reference/errors.md").write_text(ERRORS_PAGE.replace("not_found", "lost"), "utf-8")
    (folder / "docs/reference/actions.md").unlink()
    return Rebuilt(folder, build_docs(folder, "--check"), build_docs(folder))


def test_generated_documents_are_up_to_date() -> None:
    done = build_docs(ROOT, "--check")
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_check_lists_outdated_and_missing_documents(rebuilt: Rebuilt) -> None:
    differs = "".join(f"docs/reference/{name}.md: differs; run: make docs\n" for name in ("actions", "errors"))
    assert (rebuilt.check.returncode, rebuilt.check.stdout) == (1, differs)


def test_only_outdated_and_missing_documents_are_written(rebuilt: Rebuilt) -> None:
    assert (rebuilt.write.returncode, rebuilt.write.stdout) == (
        0,
        "docs/reference/actions.md: written\ndocs/reference/errors.md: written\n",
    )


@pytest.mark.parametrize(("name", "page"), [("actions", ACTIONS_PAGE), ("errors", ERRORS_PAGE)])
def test_written_documents_match_the_committed_ones(rebuilt: Rebuilt, name: str, page: str) -> None:
    assert (rebuilt.folder / f"docs/reference/{name}.md").read_text("utf-8") == page


def test_unknown_argument_is_rejected() -> None:
    done = build_docs(ROOT, "--chekc")
    assert (done.returncode, done.stderr) == (2, "usage: python -m tools.build_docs [--check]\n")


@pytest.mark.parametrize("error", ApiError.__subclasses__(), ids=lambda error: error.error)
def test_every_error_is_documented_with_code_and_messages(error: type[ApiError]) -> None:
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
