"""The table of commands: each can be loaded, and none is until it is called."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from cloudconsole.cli.commands import COMMANDS, Command
from tests.cli.users import Person
from tests.harness import clean_environment

HEAVY = {"asyncio", "httpx2", "msgspec", "rich", "ssl", "http.client", "email", "tomllib"}
EACH = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)

LOADED = """
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
        [sys.executable, "-c", LOADED, *arguments],
        env=clean_environment(LC_ALL="C.UTF-8"),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.startswith("usage: ")
    return set(json.loads(done.stderr))


@EACH
def test_a_command_can_be_loaded(command: Command) -> None:
    module = import_module(command.module)
    assert callable(module.add_arguments)
    assert callable(module.run)


@EACH
def test_a_command_has_help(person: Person, command: Command) -> None:
    done = person.run(command.name, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: cloudconsole {command.name}")


def test_help_loads_no_command_and_no_library() -> None:
    loaded = loaded_by("--help")
    assert not loaded & HEAVY
    assert not {name for name in loaded if name.startswith(("cloudconsole.cli.tenant", "cloudconsole.server"))}


@pytest.mark.parametrize("command", [command.name for command in COMMANDS if not command.in_english])
def test_a_tenant_s_command_loads_no_http_library_for_its_help_and_never_the_server(command: str) -> None:
    loaded = loaded_by(command, "--help")
    assert not loaded & {"httpx2", "rich", "asyncio"}
    assert not {name for name in loaded if name.startswith("cloudconsole.server")}


def test_every_module_of_a_tenant_s_command_is_in_the_table() -> None:
    folder = Path(str(import_module("cloudconsole.cli.tenant").__file__)).parent
    there = {f"cloudconsole.cli.tenant.{file.stem}" for file in folder.glob("[!_]*.py")}
    assert there == {command.module for command in COMMANDS if ".tenant." in command.module}


def test_nothing_at_all_is_help(person: Person) -> None:
    assert person.run() == person.run("--help")


def test_a_command_that_is_not_there_is_told(person: Person) -> None:
    for name, told in (("uasge", "unknown command 'uasge' (did you mean usage?)"), ("quotas", "'quotas'")):
        done = person.run(name)
        assert done.code == 2
        assert told in done.err
        assert done.err.count("\n") == 1
