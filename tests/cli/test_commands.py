"""The command table: every command can be loaded, and is loaded only when run."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from cloudconsole.cli.commands import COMMANDS, Command
from tests.cli.users import CliUser
from tests.harness import clean_environment

HEAVY = {"asyncio", "httpx2", "msgspec", "rich", "ssl", "http.client", "email", "tomllib"}
EACH_COMMAND = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)

LIST_MODULES = """
import json, sys
from cloudconsole.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
sys.stderr.write(json.dumps(sorted(sys.modules)))
"""


def loaded_by(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LIST_MODULES, *arguments],
        env=clean_environment(LC_ALL="C.UTF-8"),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.startswith("usage: ")
    return set(json.loads(done.stderr))


@EACH_COMMAND
def test_a_command_can_be_loaded(command: Command) -> None:
    module = import_module(command.module)
    assert callable(module.add_arguments)
    assert callable(module.run)


@EACH_COMMAND
def test_a_command_has_help(cli_user: CliUser, command: Command) -> None:
    done = cli_user.run(command.name, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: cloudconsole {command.name}")


def test_help_loads_no_command_and_no_library() -> None:
    loaded = loaded_by("--help")
    assert not loaded & HEAVY
    assert not {name for name in loaded if name.startswith(("cloudconsole.cli.tenant", "cloudconsole.server"))}


@pytest.mark.parametrize("command", [command.name for command in COMMANDS if not command.in_english])
def test_tenant_command_help_loads_no_http_library_and_no_server(command: str) -> None:
    loaded = loaded_by(command, "--help")
    assert not loaded & {"httpx2", "rich", "asyncio"}
    assert not {name for name in loaded if name.startswith("cloudconsole.server")}


def test_every_tenant_command_module_is_in_the_table() -> None:
    directory = Path(str(import_module("cloudconsole.cli.tenant").__file__)).parent
    modules = {f"cloudconsole.cli.tenant.{file.stem}" for file in directory.glob("[!_]*.py")}
    assert modules == {command.module for command in COMMANDS if ".tenant." in command.module}


def test_no_arguments_show_help(cli_user: CliUser) -> None:
    assert cli_user.run() == cli_user.run("--help")


def test_unknown_command_is_rejected(cli_user: CliUser) -> None:
    for name, message in (("uasge", "unknown command 'uasge' (did you mean usage?)"), ("quotas", "'quotas'")):
        done = cli_user.run(name)
        assert done.code == 2
        assert message in done.err
        assert done.err.count("\n") == 1
