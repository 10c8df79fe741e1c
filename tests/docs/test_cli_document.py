"""The page on the CLI: every command is listed, and every example works unchanged."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cloudconsole.cli.commands import COMMANDS
from cloudconsole.cli.completion import SCRIPTS
from cloudconsole.cli.config import VARIABLES, read_profiles
from tests.cli.users import PASSWORD, CliUser
from tests.docs.code_blocks import ROOT, blocks
from tests.fork_server import MAX_WAIT_SECONDS
from tests.harness import RunningServer, clean_environment

PAGE = "docs/guide/cli.md"
DOCUMENT = (ROOT / PAGE).read_text()
EXAMPLES = [*blocks(PAGE, "sh"), *(block for block in blocks("README.md", "sh") if "cloudconsole login" in block)]


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_works_unchanged(server: RunningServer, tmp_path: Path, example: str) -> None:
    program = tmp_path / "cloudconsole"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cloudconsole "$@"\n')
    program.chmod(0o755)
    environment = CliUser(tmp_path).environment(CLOUDCONSOLE_PASSWORD=PASSWORD)
    variables = clean_environment(**environment)
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail"],
        input=example.replace("http://127.0.0.1:8000", server.base),
        env=variables | {"PATH": f"{tmp_path}:{variables['PATH']}"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=MAX_WAIT_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "logged in as demo at " in done.stdout


@pytest.mark.parametrize("command", [command.name for command in COMMANDS if ".tenant." in command.module])
def test_every_command_is_listed(command: str) -> None:
    assert re.search(rf"^\| .*`{command}\b.*\|$", DOCUMENT, re.MULTILINE)


@pytest.mark.parametrize("name", [*sorted(VARIABLES), "OS_USERNAME", "OS_PASSWORD", "OS_AUTH_URL", *SCRIPTS])
def test_every_variable_and_shell_is_documented(name: str) -> None:
    assert f"`{name}`" in DOCUMENT or f"| {name} |" in DOCUMENT


def test_example_profiles_are_valid(tmp_path: Path) -> None:
    (example,) = blocks(PAGE, "toml")
    file = tmp_path / "config.toml"
    file.write_text(example)
    profiles = read_profiles(file)
    assert (profiles.default, list(profiles.named)) == ("work", ["work", "local"])
    assert all(value is not None for value in profiles.named["work"])
