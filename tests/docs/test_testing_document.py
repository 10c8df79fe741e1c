"""The page on testing: every example works unchanged and prints the documented output."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cloudconsole.cli.argument_parser import Parser
from cloudconsole.pytest_plugin import OPTIONS
from cloudconsole.server.commands import serve
from cloudconsole.server.commands.test_mode_flags import FLAGS, UNTIL_STDIN_ENDS
from cloudconsole.server.test_mode.controls import FAULT_FIELDS
from cloudconsole.testing import ConsoleServer
from tests.docs.code_blocks import ROOT, blocks
from tests.e2e.test_pasted_sessions import needs_curl
from tests.fork_server import MAX_WAIT_SECONDS
from tests.harness import clean_environment
from tests.test_pytest_plugin import forked_consoles, run_pytest

__all__ = ["forked_consoles"]

PAGE = "docs/guide/testing.md"
DOCUMENT = (ROOT / PAGE).read_text()


@pytest.mark.usefixtures("forked_consoles")
def test_every_example_passes(tmp_path: Path) -> None:
    first, others = blocks(PAGE, "python")
    assert len(first.splitlines()) == 5
    run_pytest(tmp_path, first + others).assert_passed(1 + others.count("def test_"))


def test_every_plugin_option_is_documented(tmp_path: Path) -> None:
    (ini,) = blocks(PAGE, "ini")
    shown = {line.partition(" = ")[0] for line in ini.splitlines()[1:]}
    assert shown == {f"cloudconsole_{name}" for name in (*OPTIONS, "clock_fixed", "flags")}
    (tmp_path / "pytest.ini").write_text(ini)
    run_pytest(tmp_path, "def test_example(): pass\n", "--strict-config").assert_passed(1)


@needs_curl
def test_shell_session_prints_the_documented_output(tmp_path: Path) -> None:
    bin_directory = tmp_path / "bin"
    bin_directory.mkdir()
    (bin_directory / "cloudconsole").write_text(f'#!/bin/sh\nexec {sys.executable} -m cloudconsole "$@"\n')
    (bin_directory / "cloudconsole").chmod(0o700)
    _, *session = blocks(PAGE, "sh")
    line, *shown = blocks(PAGE, "json")
    environment = clean_environment(PATH=f"{bin_directory}:{os.environ['PATH']}", TMPDIR=str(tmp_path))
    done = subprocess.run(
        ["bash", "-eum"],
        input="".join(session) + "wait\n",
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=MAX_WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "200\n" + "".join(shown)
    announced = json.loads((tmp_path / "console.json").read_text())
    assert announced.keys() == json.loads(line).keys()
    assert announced["accounts"] == json.loads(line)["accounts"]
    assert not Path(announced["data"]).exists()


@pytest.mark.parametrize("flag", [*FLAGS, UNTIL_STDIN_ENDS, "--sample", "--cloud", "--json"])
def test_every_test_mode_flag_is_in_the_table_and_the_help(flag: str) -> None:
    assert re.search(rf"^\| `{flag}[` ]", DOCUMENT, re.MULTILINE)
    parser = Parser()
    serve.add_arguments(parser)
    assert flag in parser.format_help()


@pytest.mark.parametrize("field", FAULT_FIELDS)
def test_every_fault_field_is_in_the_table(field: str) -> None:
    assert f"\n| `{field}` |" in DOCUMENT


@pytest.mark.parametrize("name", [name for name in vars(ConsoleServer) if not name.startswith("_")])
def test_every_member_of_the_server_fixture_is_in_the_table(name: str) -> None:
    table = DOCUMENT.partition("| of `cloudconsole_server` | |")[2].partition("\n\n")[0]
    assert re.search(rf"`{name}[`(]", table)
