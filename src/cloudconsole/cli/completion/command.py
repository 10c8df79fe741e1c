"""`cloudconsole completion`."""

import argparse

from cloudconsole.cli import output, texts
from cloudconsole.cli.completion.scripts import SCRIPTS
from cloudconsole.cli.speaking import FLAG, LANGUAGES, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SCRIPTS, help=say(texts.SHELL_ARGUMENT))
    parser.add_argument(FLAG, choices=LANGUAGES, help=say(texts.LANG_FLAG))


def run(arguments: argparse.Namespace) -> int:
    output.write(SCRIPTS[arguments.shell])
    return 0
