"""`cloudconsole`: chooses the command; each command's module is loaded only when it is called."""

import sys
from collections.abc import Sequence
from importlib import import_module

from cloudconsole import __version__
from cloudconsole.cli import output
from cloudconsole.cli.parsing import Parser

SERVER_COMMANDS = {
    "serve": ("cloudconsole.server.commands.serve", "serve a console"),
    "init": ("cloudconsole.server.commands.init", "make a store and its first operator"),
    "admin": ("cloudconsole.server.commands.admin", "manage a console's store"),
    "doctor": ("cloudconsole.server.commands.doctor", "say what is wrong with a console, and what mends it"),
    "conformance": ("cloudconsole.cli.conformance", "check any console from outside against the interface"),
}


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
        return 130


def _run(given: list[str]) -> int:
    name = given[0] if given and not given[0].startswith("-") else None
    if name not in SERVER_COMMANDS:
        _top_parser().parse_args(given)
        _top_parser().print_help()
        return 0
    module_name, purpose = SERVER_COMMANDS[name]
    try:
        command = import_module(module_name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("cloudconsole"):
            raise
        sys.stderr.write(f"cloudconsole: '{name}' needs the server: pip install 'cloudconsole[server]'\n")
        return 1
    parser = Parser(prog=f"cloudconsole {name}", description=purpose.capitalize() + ".")
    command.add_arguments(parser)
    return int(command.run(parser.parse_args(given[1:])))


def _top_parser() -> Parser:
    parser = Parser(prog="cloudconsole", description="Cloud Console: the programmatic interface of a cloud.")
    parser.add_argument("--version", action="version", version=f"cloudconsole {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, (_, purpose) in SERVER_COMMANDS.items():
        commands.add_parser(name, help=purpose, add_help=False)
    return parser
