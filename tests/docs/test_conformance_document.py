"""The page on the conformance suite: its examples work, and every check refers to an existing section."""

import json
import re
import shlex
from pathlib import Path

import pytest

from cloudconsole.conformance.runner import EXTENDED, INTERFACE
from tests.e2e.processes import command
from tests.harness import RunningServer

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "guide/conformance.md").read_text("utf-8")
PAGES = {"api": "guide/http-api", "actions": "reference/actions", "errors": "reference/errors"}


@pytest.mark.parametrize("section", sorted({check.section for check in EXTENDED}))
def test_every_section_is_a_heading_of_the_documentation(section: str) -> None:
    page, _, heading = section.partition(": ")
    document = (DOCS / f"{PAGES[page]}.md").read_text("utf-8")
    assert f"\n## {heading}\n" in document if heading else document.startswith("# ")


def test_check_ids_are_unique_and_follow_their_dependencies() -> None:
    seen: set[str] = set()
    for check in (*INTERFACE, *EXTENDED):
        assert check.id not in seen
        assert set(check.needs) <= seen, check.id
        assert check.title.endswith("."), check.id
        seen.add(check.id)


def test_examples_work(server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    block = (
        PAGE.partition("```sh\n")[2]
        .partition("```")[0]
        .replace("\\\n", "")
        .replace("http://127.0.0.1:8000", server.base)
    )
    exported, *examples = block.splitlines()
    variables = dict(pair.split("=") for pair in shlex.split(exported)[1:])
    for example in examples:
        done = command(*shlex.split(example)[1:], **variables)
        assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "report.json").read_text())["ok"]
    assert (tmp_path / "report.xml").read_text().startswith("<?xml ")


def test_output_matches_the_documented_lines(server: RunningServer) -> None:
    account = ("--region", f"{server.base}/v3", "--username", "demo")
    done = command("conformance", server.base, *account, CLOUDCONSOLE_PASSWORD="console-demo")
    shown = re.findall("^(?:interface:.*|  (?:ok|skipped) .*)$", PAGE, re.MULTILINE)
    assert len(shown) == 3
    for line in shown:
        assert f"{line}\n" in done.stdout
