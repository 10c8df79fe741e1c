"""The document of the operators' commands: every command is in it, and every example works as it stands there."""

import io
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from cloudconsole.cli.main import main
from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator.entities import ENTITY_TYPES
from cloudconsole.server.commands.admin.accounts import VERBS
from tests.harness import running_server

DOCUMENT = (Path(__file__).parents[2] / "docs/operations/admin.md").read_text()
EXAMPLES = [line for block in DOCUMENT.split("```sh\n")[1:] for line in block.partition("```")[0].splitlines()]
COMMANDS = [
    (noun.name, verb) for noun in ENTITY_TYPES for verb in (*noun.verbs, *(VERBS if noun.name == "account" else ()))
]


@pytest.mark.parametrize(("noun", "verb"), COMMANDS)
def test_every_command_has_an_example(noun: str, verb: str) -> None:
    assert any(f"cloudconsole admin {noun} {verb} " in f"{line} " for line in EXAMPLES)


def test_every_example_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "\ncloudconsole serve --sample\n" in DOCUMENT
    with running_server(tmp_path, is_first=True):
        for line in EXAMPLES:
            if not line.startswith("cloudconsole "):
                subprocess.run(["sh", "-c", line], check=True)
                continue
            command, _, source = line.partition(" < ")
            arguments = shlex.split(command)[1:]
            content = Path(source).read_bytes() if source else b""
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
            assert main(arguments) == 0, line


def test_the_default_quotas_are_those_that_tenants_get() -> None:
    section = DOCUMENT.partition("\n## Quotas\n")[2].partition("\n## ")[0]
    defaults = {name: int(number) for name, number in re.findall(r"`(\w+)`\s+(\d+)", section)}
    assert defaults == QUOTA_DEFAULTS
