"""`cloudconsole call`: call any action, including ones this version does not know."""

import argparse
from typing import TYPE_CHECKING, Any

from cloudconsole.cli import output
from cloudconsole.cli.argument_parser import Parser, add_completion
from cloudconsole.cli.config import DATA_OUTPUTS
from cloudconsole.cli.errors import EXIT_USAGE, UsageError, print_error
from cloudconsole.cli.flags import add_connection_flags
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.runner import run_command
from cloudconsole.cli.tenant import messages

if TYPE_CHECKING:
    from cloudconsole.cli.connection import ConsoleSession


def add_arguments(parser: Parser) -> None:
    add_completion(
        parser.add_argument("action", metavar="ACTION", help=translate(messages.ACTION_ARGUMENT)), _action_names
    )
    parser.add_argument("fields", metavar="NAME=VALUE", nargs="*", default=[], help=translate(messages.FIELDS_ARGUMENT))
    parser.more_of = "fields"
    add_connection_flags(parser, outputs=DATA_OUTPUTS)


def run(arguments: argparse.Namespace) -> int:
    try:
        fields = read_fields(arguments.fields)
    except UsageError as problem:
        print_error(str(problem))
        return EXIT_USAGE

    def command(call: "ConsoleSession") -> None:
        output.print_data(call.settings.output, call.do(lambda console: console.call(arguments.action, **fields)))

    return run_command(arguments, command)


def read_fields(given: list[str]) -> dict[str, Any]:
    """Parse `name=text`, and `name:=JSON` for other types."""
    fields: dict[str, Any] = {}
    for argument in given:
        name, equals, value = argument.partition("=")
        is_json = name.endswith(":")
        name = name.removesuffix(":")
        if not equals or not name:
            raise UsageError(translate(messages.INVALID_FIELD, given=argument))
        if name in fields or name == "action":
            raise UsageError(translate(messages.DUPLICATE_FIELD, name=name))
        fields[name] = _json(name, value) if is_json else value
    return fields


def _json(name: str, value: str) -> Any:
    import msgspec

    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        raise UsageError(translate(messages.INVALID_JSON, name=name)) from None


def _action_names() -> list[str]:
    from cloudconsole.spec.actions import ACTIONS
    from cloudconsole.spec.extensions import EXTENSIONS

    return [action.name for action in (*ACTIONS, *EXTENSIONS)]
