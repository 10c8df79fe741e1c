"""The command table: every command can be loaded, and is loaded only when run."""

import json
import subprocess
import sys

import pytest

from cloudconsole.cli.commands import COMMANDS, Command
from tests.cli.users import CliUser
from tests.harness import clean_environment

HEAVY = {"asyncio", "httpx2", "msgspec", "rich", "ssl", "http.client", "email", "tomllib"}
EACH_COMMAND = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)

LIST_MODULES = """
import json, sys
from contextlib import suppress
from cloudconsole.cli.main import main
for command in sys.argv[1:]:
    with suppress(SystemExit):
        main([*command.split(), "--help"])
sys.stderr.write(json.dumps(sorted(sys.modules)))
"""


def loaded_by_help(*commands: str) -> set[str]:
    command = [sys.executable, "-c", LIST_MODULES, *commands]
    environment = clean_environment(LC_ALL="C.UTF-8")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.count("usage: ") == len(commands)
    return set(json.loads(done.stderr))


@EACH_COMMAND
def test_a_command_has_help(cli_user: CliUser, command: Command) -> None:
    done = cli_user.run(command.name, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: cloudconsole {command.name}")


def test_help_loads_no_command_and_no_library() -> None:
    loaded = loaded_by_help("")
    assert not loaded & HEAVY
    assert not {name for name in loaded if name.startswith(("cloudconsole.cli.tenant", "cloudconsole.server"))}


def test_tenant_command_help_loads_no_http_library_and_no_server() -> None:
    loaded = loaded_by_help(*(command.name for command in COMMANDS if not command.in_english))
    assert not loaded & {"httpx2", "rich", "asyncio"}
    assert not {name for name in loaded if name.startswith("cloudconsole.server")}


def test_no_arguments_show_help(cli_user: CliUser) -> None:
    assert cli_user.run() == cli_user.run("--help")
