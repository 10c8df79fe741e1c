"""The page on `admin` commands: every command is listed, and every example works unchanged."""

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
    (entity.name, verb)
    for entity in ENTITY_TYPES
    for verb in (*entity.verbs, *(VERBS if entity.name == "account" else ()))
]


@pytest.mark.parametrize(("entity", "verb"), COMMANDS)
def test_every_command_has_an_example(entity: str, verb: str) -> None:
    assert any(f"cloudconsole admin {entity} {verb} " in f"{line} " for line in EXAMPLES)


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


def test_documented_default_quotas_match_the_code() -> None:
    section = DOCUMENT.partition("\n## Quotas\n")[2].partition("\n## ")[0]
    defaults = {name: int(number) for name, number in re.findall(r"`(\w+)`\s+(\d+)", section)}
    assert defaults == QUOTA_DEFAULTS
