"""The pages for users and the README: every name is listed, every example works and prints the documented output."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.cli.argument_parser import Parser
from cloudconsole.cli.commands import COMMANDS
from cloudconsole.cli.completion import SCRIPTS
from cloudconsole.cli.config import VARIABLES, read_profiles
from cloudconsole.conformance.runner import EXTENDED, EXTENSIONS, PROFILES
from cloudconsole.pytest_plugin import OPTIONS
from cloudconsole.server.commands import serve
from cloudconsole.server.commands.test_mode_flags import FLAGS, UNTIL_STDIN_ENDS
from cloudconsole.server.test_mode.controls import FAULT_FIELDS
from cloudconsole.testing import ConsoleServer, ReceivedRequest
from tests.cli.users import PASSWORD, CliUser, install_program
from tests.docs.code_blocks import ROOT, blocks
from tests.e2e.processes import command, needs_curl
from tests.fork_server import MAX_WAIT_SECONDS
from tests.harness import RunningServer, clean_environment
from tests.test_pytest_plugin import forked_consoles, run_pytest

__all__ = ["forked_consoles"]

CLI_PAGE, CONFORMANCE_PAGE = "docs/guide/cli.md", "docs/guide/conformance.md"
CLIENT_PAGE, TESTING_PAGE = "docs/guide/python-client.md", "docs/guide/testing.md"
SECTION_PAGES = {"api": "guide/http-api", "actions": "reference/actions", "errors": "reference/errors"}
CAPTURED: dict[str, Any] = {"capture_output": True, "text": True, "check": False, "timeout": MAX_WAIT_SECONDS}
LOGIN_EXAMPLES = [block for block in blocks("README.md", "sh") if "cloudconsole login" in block]
MEMBERS_OF_SERVER = r"\| of `cloudconsole_server` \| \|\n(?:.+\n)*?"
TEST_MODE_FLAGS = (*FLAGS, UNTIL_STDIN_ENDS, "--sample", "--cloud", "--json")
LISTED = [
    *((CLI_PAGE, rf"^\| .*`{command.name}\b.*\|$") for command in COMMANDS if ".tenant." in command.module),
    *((CLI_PAGE, f"`{name}`") for name in (*sorted(VARIABLES), "OS_USERNAME", "OS_PASSWORD", "OS_AUTH_URL")),
    *((CLI_PAGE, rf"\| {shell} \|") for shell in SCRIPTS),
    *((TESTING_PAGE, rf"^\| `{flag}[` ]") for flag in TEST_MODE_FLAGS),
    *((TESTING_PAGE, rf"^\| `{field}` \|") for field in FAULT_FIELDS),
    *((TESTING_PAGE, rf"^\| .*`{name}`.*\|$") for name in ReceivedRequest.__struct_fields__),
    *((TESTING_PAGE, rf"{MEMBERS_OF_SERVER}.*`{name}[`(]") for name in vars(ConsoleServer) if not name.startswith("_")),
]


@pytest.mark.parametrize(("page", "pattern"), LISTED)
def test_every_name_is_listed(page: str, pattern: str) -> None:
    assert re.search(pattern, (ROOT / page).read_text(), re.MULTILINE)


def run_shell(folder: Path, script: str, *options: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        ["bash", *options], input=script, env=clean_environment(**environment), cwd=folder, **CAPTURED
    )
    assert done.returncode == 0, done.stderr
    return done


class TestCli:
    @pytest.mark.parametrize("example", [*blocks(CLI_PAGE, "sh"), *LOGIN_EXAMPLES])
    def test_every_example_works_unchanged(self, server: RunningServer, tmp_path: Path, example: str) -> None:
        path = install_program(tmp_path)
        environment = CliUser(tmp_path).environment(CLOUDCONSOLE_PASSWORD=PASSWORD, PATH=path)
        script = example.replace("http://127.0.0.1:8000", server.base)
        done = run_shell(ROOT, script, "-eu", "-o", "pipefail", **environment)
        # In a pipe, `estimate` keeps its verdict out of the table.
        unexpected = [line for line in done.stderr.splitlines() if "The quotas allow this." not in line]
        assert unexpected == []
        assert "logged in as demo at " in done.stdout

    def test_example_profiles_are_valid(self, tmp_path: Path) -> None:
        (example,) = blocks(CLI_PAGE, "toml")
        (tmp_path / "config.toml").write_text(example)
        profiles = read_profiles(tmp_path / "config.toml")
        assert (profiles.default, list(profiles.named)) == ("work", ["work", "local"])
        assert all(value is not None for value in profiles.named["work"])


class TestConformance:
    @pytest.mark.parametrize("section", sorted({check.section for check in EXTENDED + EXTENSIONS}))
    def test_every_section_is_a_heading_of_the_documentation(self, section: str) -> None:
        page, _, heading = section.partition(": ")
        document = (ROOT / f"docs/{SECTION_PAGES[page]}.md").read_text("utf-8")
        assert f"\n## {heading}\n" in document.replace("\n### ", "\n## ") if heading else document.startswith("# ")

    def test_check_ids_are_unique_and_follow_their_dependencies(self) -> None:
        seen: set[str] = set()
        for check in PROFILES["all"]:
            assert check.id not in seen
            assert set(check.needs) <= seen, check.id
            assert check.title.endswith("."), check.id
            seen.add(check.id)

    def test_examples_work(self, server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        block = blocks(CONFORMANCE_PAGE, "sh")[0].replace("\\\n", "").replace("http://127.0.0.1:8000", server.base)
        exported, *examples = block.splitlines()
        variables = dict(pair.split("=") for pair in shlex.split(exported)[1:])
        for example in examples:
            done = command(*shlex.split(example)[1:], **variables)
            assert done.returncode == 0, done.stdout + done.stderr
        assert json.loads((tmp_path / "report.json").read_text())["ok"]
        assert (tmp_path / "report.xml").read_text().startswith("<?xml ")


PROGRAMS = [*blocks("README.md", "python"), *blocks(CLIENT_PAGE, "python")]
HOOKED_CALLS = [("welcome", "GET"), ("login", "POST"), ("GetNews", "POST")]
PRINTED = [
    "16 1131.6834\n",
    "4 of 20 hosts, 16 free\n(4096, 8192, 16384)\ninstance 915.408\nimage 7.1064\nvolume 209.169\n",
    "0.203125 Sixteen-core configurations for everyone\n",
    r"There is no domain with this ID\. 404 domain_not_found domainId [0-9a-f]{16}" + "\n",
    "4\n",
    r"\d+\n4\n",
    "".join(f"-> {call} 1 {method} http://.*\n<- {call} 200\n" for call, method in HOOKED_CALLS),
]


@pytest.mark.parametrize(("program", "printed"), list(zip(PROGRAMS, PRINTED, strict=True)))
def test_every_program_prints_the_expected_output(server: RunningServer, program: str, printed: str) -> None:
    arguments = [sys.executable, "-W", "error", "-c", program.replace("http://127.0.0.1:8000", server.base)]
    done = subprocess.run(arguments, env=clean_environment(), **CAPTURED)
    assert done.stderr == ""
    assert done.stdout == printed or re.fullmatch(printed, done.stdout), done.stdout


class TestTesting:
    @pytest.mark.usefixtures("forked_consoles")
    @pytest.mark.parametrize("has_options", [False, True])
    def test_every_example_passes(self, tmp_path: Path, has_options: bool) -> None:
        (ini,) = blocks(TESTING_PAGE, "ini")
        if has_options:
            # The others are about a cloud file that the examples are not made for.
            lines = [
                line for line in ini.splitlines() if line.startswith(("[", "cloudconsole_clock", "cloudconsole_s"))
            ]
            (tmp_path / "pytest.ini").write_text("\n".join(lines))
        examples = "".join(blocks(TESTING_PAGE, "python"))
        run_pytest(tmp_path, examples).assert_passed(examples.count("def test_"))

    def test_every_plugin_option_is_documented(self, tmp_path: Path) -> None:
        (ini,) = blocks(TESTING_PAGE, "ini")
        shown = {line.partition(" = ")[0] for line in ini.splitlines()[1:]}
        assert shown == {f"cloudconsole_{name}" for name in (*OPTIONS, "clock_fixed", "in_process", "flags")}
        (tmp_path / "pytest.ini").write_text(ini)
        run_pytest(tmp_path, "def test_example(): pass\n", "--strict-config").assert_passed(1)

    @needs_curl
    def test_shell_session_prints_the_documented_output(self, tmp_path: Path) -> None:
        _, *session = blocks(TESTING_PAGE, "sh")
        line, *shown = blocks(TESTING_PAGE, "json")
        script = "".join(session) + "wait\n"
        done = run_shell(tmp_path, script, "-eum", PATH=install_program(tmp_path), TMPDIR=str(tmp_path))
        assert done.stdout == "200\n" + "".join(shown)
        announced = json.loads((tmp_path / "console.json").read_text())
        assert announced.keys() == json.loads(line).keys()
        assert announced["accounts"] == json.loads(line)["accounts"]
        assert not Path(announced["data"]).exists()

    def test_every_test_mode_flag_is_in_the_help(self) -> None:
        parser = Parser()
        serve.add_arguments(parser)
        assert [flag for flag in TEST_MODE_FLAGS if flag not in parser.format_help()] == []
