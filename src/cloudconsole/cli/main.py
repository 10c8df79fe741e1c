"""`cloudconsole`: chooses the command."""

import os
import sys
from collections.abc import Sequence
from typing import Final

from cloudconsole import __version__
from cloudconsole.cli import output, texts
from cloudconsole.cli.commands import COMMANDS, NeedsServer, command_named, loaded
from cloudconsole.cli.parsing import Parser
from cloudconsole.cli.speaking import FLAG, LANGUAGES, language_of, say, speak

INTERRUPTED: Final = 130
COMPLETING: Final = "__complete"
"""What a shell's script calls; nobody else does."""


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with output.whole_output():
            return _run(given)
    except output.OutputError as problem:
        output.give_up()
        if problem.has_reader:
            sys.stderr.write(f"cloudconsole: output: {problem}\n")
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(given: list[str]) -> int:
    speak(language_of(given, os.environ))
    if given[:1] == [COMPLETING]:
        from cloudconsole.cli.completion.scripts import complete

        return complete(given[1:])
    command = command_named(given[0]) if given else None
    if command is None:
        top_parser().parse_args(given)
        top_parser().print_help()
        return 0
    try:
        module, parser = loaded(command)
    except NeedsServer:
        sys.stderr.write(f"cloudconsole: '{command.name}' needs the server: pip install 'cloudconsole[server]'\n")
        return 1
    return int(module.run(parser.parse_args(given[1:])))


def top_parser() -> Parser:
    parser = Parser(prog="cloudconsole", description=say(texts.TOP))
    parser.add_argument(
        "--version", action="version", version=f"cloudconsole {__version__}", help=say(texts.VERSION_FLAG)
    )
    parser.add_argument(FLAG, choices=LANGUAGES, help=say(texts.LANG_FLAG))
    commands = parser.add_subparsers(title=say(texts.COMMANDS), metavar=say(texts.COMMAND))
    for command in COMMANDS:
        commands.add_parser(command.name, help=say(command.purpose), add_help=False)
    return parser
