"""`admin NOUN VERB`: the commands of every noun, made from the table of nouns."""

import argparse
from functools import partial
from typing import Any, Final

from cloudconsole.cli.parser import Parser
from cloudconsole.operator.entities import ACCOUNTS, NOUNS, PRICES, RESOURCES, Noun
from cloudconsole.operator.entities.prices import KEY_FORM
from cloudconsole.operator.entities.schema import Input
from cloudconsole.server.commands.admin import accounts, verbs
from cloudconsole.server.commands.admin.flags import add_flags, at_least_one
from cloudconsole.server.commands.admin.stores import add_json_argument, add_store_arguments, add_zone_argument
from cloudconsole.server.commands.passwords import add_password_arguments

_PURPOSES: Final = {
    "add": "add one",
    "change": "change one's fields",
    "disable": "disable one",
    "enable": "enable one again",
    "end": "end one",
    "reset": "go back to the defaults",
    "remove": "remove one",
    "show": "show one",
    "list": "list them",
}


def add_commands(commands: Any) -> None:
    for noun in NOUNS:
        extra = accounts.VERBS if noun is ACCOUNTS else ()
        purpose = f"{noun.plural}: {', '.join((*noun.verbs, *extra))}"
        parser = commands.add_parser(noun.name, help=purpose, description=f"{purpose}.", allow_abbrev=False)
        parser.add_when_called(partial(_add_verbs, noun))


def _add_verbs(noun: Noun, parser: Parser) -> None:
    group = parser.add_subparsers(title="commands", metavar="VERB", required=True)
    for verb in noun.verbs:
        purpose = _PURPOSES[verb]
        of_verb = group.add_parser(verb, help=purpose, description=f"{noun.plural}: {purpose}.", allow_abbrev=False)
        of_verb.add_when_called(partial(_add_arguments, noun, verb))
    if noun is ACCOUNTS:
        accounts.add_verbs(group)


def _add_arguments(noun: Noun, verb: str, parser: Parser) -> None:
    parser.set_defaults(parser=parser)
    if verb == "list":
        _add_list_arguments(parser, noun)
        parser.set_defaults(admin_command=partial(verbs.list_them, noun))
    elif verb == "show":
        _add_key(parser, noun)
        parser.set_defaults(admin_command=partial(verbs.show, noun))
    else:
        _add_change_arguments(parser, noun, verb)
    add_store_arguments(parser)
    add_json_argument(parser)


def _add_change_arguments(parser: Parser, noun: Noun, verb: str) -> None:
    inputs: tuple[Input, ...] = ()
    if verb == "add":
        inputs = noun.inputs()
        if noun is not PRICES:
            # The name of what is added comes first, as with every other verb.
            key = next(given for given in inputs if given.name == noun.key)
            inputs = tuple(given for given in inputs if given is not key)
            _add_key(parser, noun, key)
        add_flags(parser, inputs)
    else:
        _add_key(parser, noun)
    if verb == "change":
        inputs = noun.changeable()
        add_flags(parser, inputs, all_optional=True)
        parser.epilog = at_least_one(inputs).capitalize()
        if noun is RESOURCES:
            parser.elsewhere = {"--ended": "cloudconsole admin resource end"}
    if verb == "end":
        parser.add_argument("--at", metavar="TIME", help="the moment (default: now)")
    if noun is ACCOUNTS and verb == "add":
        add_password_arguments(parser)
    if verb in noun.overridable:
        parser.add_argument("--force", action="store_true", help="override the rule that may refuse this")
    add_zone_argument(parser)
    parser.set_defaults(admin_command=partial(verbs.change, noun, verb, inputs))


def _add_key(parser: argparse.ArgumentParser, noun: Noun, given: Input | None = None) -> None:
    """The positional argument that names one; for a new one, its field says what it may be."""
    metavar = "KEY" if noun is PRICES else noun.key.upper()
    text = KEY_FORM if noun is PRICES else f"its {noun.key}"
    if given is not None and not given.is_required:
        parser.add_argument("key", metavar=metavar, nargs="?", help=given.help)
    else:
        parser.add_argument("key", metavar=metavar, help=text if given is None else given.help)


def _add_list_arguments(parser: argparse.ArgumentParser, noun: Noun) -> None:
    for name, chosen in noun.filters().items():
        more: dict[str, Any] = {"action": "store_true"} if chosen.is_switch else {"metavar": name.upper()}
        parser.add_argument(f"--{name}", dest=f"filter_{name}", help=chosen.help, **more)
    parser.add_argument("--after", metavar="KEY", help="go on behind this one")
    verbs.add_limit_argument(parser)
