"""Parsers of the server's commands, for completion only: importing the server would take a second.

`server_words.json` is generated from the commands by `make docs`.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any, Final

from cloudconsole.cli.argument_parser import Parser
from cloudconsole.cli.i18n import translate
from cloudconsole.spec.i18n import Text

FILE: Final = Path(__file__).with_suffix(".json")

Words = dict[str, dict[str, Any]]
"""Help in both languages and arguments of each command, by its words."""


def parser_for(command: str) -> Parser:
    parser = Parser(add_help=False)
    _add_words(json.loads(FILE.read_text("utf-8")), command, parser)
    return parser


def _add_words(words: Words, command: str, parser: Parser) -> None:
    for argument in words[command]["arguments"]:
        names = argument.pop("names")
        argument["help"] = translate(Text(*argument["help"]))
        options = {"action": "store_true", "help": argument["help"]} if argument.get("nargs") == 0 else argument
        parser.add_argument(*names, **options)
    below = [name for name in words if name.rpartition(" ")[0] == command]
    if below:
        commands = parser.add_subparsers()
        for name in below:
            help_text = translate(Text(*words[name]["help"]))
            subcommand = commands.add_parser(name.split()[-1], help=help_text, add_help=False)
            subcommand.add_when_called(partial(_add_words, words, name))
