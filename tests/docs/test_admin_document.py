"""The document of the operators' commands: every command is in it, and every example works as it stands there."""

import io
import shlex
from pathlib import Path

import pytest

from cloudconsole.cli.main import main
from cloudconsole.operator.nouns import NOUNS
from cloudconsole.server.commands.admin.accounts import VERBS

DOCUMENT = (Path(__file__).parents[2] / "docs/admin.md").read_text()
EXAMPLES = [
    line
    for block in DOCUMENT.split("```sh\n")[1:]
    for line in block.partition("```")[0].splitlines()
    if "NOUN VERB" not in line
]
COMMANDS = [(noun.name, verb) for noun in NOUNS for verb in (*noun.verbs, *(VERBS if noun.name == "account" else ()))]


@pytest.mark.parametrize(("noun", "verb"), COMMANDS)
def test_every_command_has_an_example(noun: str, verb: str) -> None:
    assert any(f"cloudconsole admin {noun} {verb} " in f"{line} " for line in EXAMPLES)


def test_every_example_works(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLOUDCONSOLE_DATA", str(data))
    (tmp_path / "ben.txt").write_text("a password\n")
    (tmp_path / "rules.json").write_text("[]")
    for line in EXAMPLES:
        program, *arguments = shlex.split(line.rpartition("| ")[2])
        assert program == "cloudconsole"
        if arguments[1:3] == ["account", "add"] and "--password-file" not in arguments:
            # Typed at a terminal, as tests of the terminal do.
            arguments += ["--password-file", "ben.txt"]
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"another password\n")))
        assert main(arguments) == 0, line
