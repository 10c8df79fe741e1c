"""`admin ENTITY VERB`: one command per verb of each entity type."""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path as FilePath
from typing import Any, Final, TypeVar

from cloudconsole.cli import output, stdout
from cloudconsole.cli.argument_parser import Parser
from cloudconsole.cli.i18n import sentence
from cloudconsole.operator.entities import ACCOUNTS, ENTITY_TYPES, PRICES, RESOURCES, ChangeResult, EntityType
from cloudconsole.operator.entities.base import NOTHING_TO_CHANGE, PAST_TENSE
from cloudconsole.operator.entities.fields_and_filters import InputField
from cloudconsole.operator.entities.pagination import Order
from cloudconsole.operator.entities.prices import KEY_FORM
from cloudconsole.operator.errors import OperatorError, Path, ValidationError, format_path
from cloudconsole.operator.parsing import parse_json, parse_number, parse_switch
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.commands.admin import accounts
from cloudconsole.server.commands.admin.store import (
    add_json_argument,
    add_store_arguments,
    add_zone_argument,
    reading_transaction,
    store,
    store_to_read,
    writing_transaction,
)
from cloudconsole.server.commands.passwords import add_password_arguments, read_new_password
from cloudconsole.server.config.settings import Settings
from cloudconsole.spec.text_escaping import escape
from cloudconsole.store.passwords import hash_password

_PREFIX: Final = "field_"
Value = TypeVar("Value")


def flag_of(name: str) -> str:
    """Return `--service-areas` for `serviceAreas`, `--floating-ips` for `floating_ips`."""
    return "--" + re.sub(r"[A-Z]", lambda capital: f"-{capital.group().lower()}", name).replace("_", "-")


def add_flags(parser: argparse.ArgumentParser, inputs: Iterable[InputField], *, all_optional: bool = False) -> None:
    for given in inputs:
        required = given.is_required and not all_optional
        more: dict[str, Any] = {"dest": _PREFIX + given.name, "required": required, "default": None}
        if given.shape == "number":
            more |= {"type": _number, "metavar": "N"}
        elif given.shape == "switch":
            more |= {"type": _switch, "metavar": "true|false", "nargs": "?", "const": True}
        elif given.shape == "json":
            more |= {"type": _json, "metavar": "JSON|@FILE"}
        else:
            more |= {"metavar": given.name.upper()}
        parser.add_argument(flag_of(given.name), help=given.help, **more)


def at_least_one(inputs: Iterable[InputField]) -> str:
    return f"specify at least one of {', '.join(flag_of(given.name) for given in inputs)}"


def values_of(arguments: argparse.Namespace, inputs: Iterable[InputField]) -> dict[str, Any]:
    """Return the given values; an empty string clears an optional one."""
    values: dict[str, Any] = {}
    for given in inputs:
        value = getattr(arguments, _PREFIX + given.name, None)
        if value is not None:
            values[given.name] = None if value == "" and given.may_be_nothing else value
    return values


@contextmanager
def as_typed(names: Mapping[str, str]) -> Iterator[None]:
    """Report validation errors by the names used on the command line; `names` maps fields to flags."""
    try:
        yield
    except ValidationError as error:
        raise OperatorError("; ".join(_message(names, path, message) for path, message in error.errors)) from None


def _message(names: Mapping[str, str], path: Path, message: str) -> str:
    field, *inner = path
    if field not in names:
        return f"{format_path(path)}: {message}"
    return ": ".join(part for part in (names[str(field)], format_path(tuple(inner)), message) if part)


def _number(text: str) -> int:
    return _parse(parse_number, text)


def _switch(text: str) -> bool:
    return _parse(parse_switch, text)


def _parse(parser: Callable[[str], Value], text: str) -> Value:
    """Parse the text; convert the error, since argparse prints only the message of its own error type."""
    try:
        return parser(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def _json(text: str) -> Any:
    """Parse JSON, or the file named after an @."""
    try:
        content = FilePath(text[1:]).read_bytes() if text.startswith("@") else text.encode()
        return parse_json(content)
    except OSError as problem:
        raise argparse.ArgumentTypeError(f"{text[1:]} cannot be read: {problem.strerror}") from None
    except ValueError:
        raise argparse.ArgumentTypeError("must be JSON, or @FILE with JSON in the file") from None


_PAGE: Final = 1000


def change(
    entity: EntityType, verb: str, inputs: tuple[InputField, ...], arguments: argparse.Namespace, settings: Settings
) -> None:
    values = values_of(arguments, inputs)
    if verb == "change" and not values:
        arguments.parser.error(at_least_one(inputs))
    if verb == "add":
        values |= _key_value(entity, getattr(arguments, "key", None))
    with store(settings) as engine, as_typed(_argument_names(entity, inputs)):
        if verb == "add" and entity is ACCOUNTS:
            with reading_transaction(engine, settings) as tx:
                ACCOUNTS.check_new(tx, values)
            # Hashed before the transaction: hashing is slow, and a transaction blocks other writers.
            values["password_hash"] = hash_password(
                read_new_password(arguments, settings.password_policy, values.get("role", "tenant"))
            )
        with writing_transaction(engine, settings, force=getattr(arguments, "force", False)) as tx:
            done = _apply(tx, entity, verb, values, arguments)
    print_done(entity, done, PAST_TENSE[verb], as_json=arguments.json)


def _argument_names(entity: EntityType, inputs: tuple[InputField, ...]) -> dict[str, str]:
    """Map fields to arguments: the key is positional, and `ended` is `--at`."""
    return {entity.key: entity.key.upper(), "ended": "--at"} | {given.name: flag_of(given.name) for given in inputs}


def _apply(
    tx: OperatorTransaction, entity: EntityType, verb: str, values: dict[str, Any], arguments: argparse.Namespace
) -> ChangeResult:
    if verb == "add":
        return entity.add(tx, values)
    if verb == "change":
        return entity.change(tx, arguments.key, values)
    if verb == "end":
        return RESOURCES.end(tx, arguments.key, arguments.at)
    done: ChangeResult = getattr(entity, verb)(tx, arguments.key)
    return done


def _key_value(entity: EntityType, key: str | None) -> dict[str, Any]:
    """Return the key field of a new entity."""
    if key is None:
        return {}
    is_number = next(given.shape for given in entity.inputs() if given.name == entity.key) == "number"
    return {entity.key: int(key) if is_number and key.isdecimal() else key}


def print_done(entity: EntityType, done: ChangeResult, past: str, *, as_json: bool) -> None:
    if as_json:
        output.print_json(done.before if done.after is None else done.after)
    else:
        output.print_line(f"{entity.name} {done.subject}: {past if done.changed else NOTHING_TO_CHANGE}")


def show(entity: EntityType, arguments: argparse.Namespace, settings: Settings) -> None:
    with store_to_read(settings) as engine, reading_transaction(engine, settings) as tx:
        record = entity.show(tx, arguments.key)
    if arguments.json:
        output.print_json(record)
    else:
        output.print_record(record)


def list_them(entity: EntityType, arguments: argparse.Namespace, settings: Settings) -> None:
    names = entity.filters()
    filters = {name: value for name in names if (value := getattr(arguments, f"filter_{name}")) not in (None, False)}
    columns = [given.name for given in entity.inputs() if given.shape != "json"]
    with (
        store_to_read(settings) as engine,
        reading_transaction(engine, settings) as tx,
        as_typed({name: f"--{name}" for name in (*names, "sort")}),
    ):
        records = _all(entity, tx, filters, arguments.after, _order_in(entity, arguments))
        print_some(records, columns, arguments, entity.key_of)


def _order_in(entity: EntityType, arguments: argparse.Namespace) -> Order:
    return Order(entity.sort_fields()[0] if arguments.sort is None else arguments.sort, arguments.descending)


def _all(
    entity: EntityType, tx: OperatorTransaction, filters: dict[str, Any], after: str | None, order: Order
) -> Iterator[Record]:
    while page := entity.list(tx, filters, after, _PAGE, order=order):
        yield from page
        after = entity.key_of(page[-1])
        if len(page) < _PAGE:
            return


def add_limit_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--limit",
        metavar="N",
        type=_limit,
        help=f"print at most N (default: {output.ON_A_TERMINAL} on a terminal, otherwise all)",
    )


def _limit(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= len(text) <= 9 or int(text) == 0:
        raise argparse.ArgumentTypeError("must be a positive whole number")
    return int(text)


def print_some(records: Iterator[Record], columns: list[str], arguments: argparse.Namespace, key_of: Any) -> None:
    """Print records up to the limit; if there are more, say on standard error how to continue."""
    limit = arguments.limit
    if limit is None and output.is_terminal() and not arguments.json:
        limit = output.ON_A_TERMINAL
    # Errors occur with the first record, so fetch it before printing anything.
    records = chain(list(islice(records, 1)), records)
    last: list[Record] = []

    def limited() -> Iterator[Record]:
        for record in islice(records, limit):
            last[:] = [record]
            yield record

    if arguments.json:
        output.print_json_lines(limited())
    else:
        output.print_records(columns, limited())
    if limit is not None and last and next(records, None) is not None:
        stdout.flush()
        sys.stderr.write(f"more results: continue with --after {escape(str(key_of(last[0])))}\n")


_PURPOSES: Final = {
    "add": "add one",
    "change": "change fields of one",
    "disable": "disable one",
    "enable": "enable one again",
    "end": "end one",
    "reset": "reset to the defaults",
    "remove": "remove one",
    "show": "show one",
    "list": "list all",
}


def add_commands(commands: Any) -> None:
    for entity in ENTITY_TYPES:
        extra = accounts.VERBS if entity is ACCOUNTS else ()
        purpose = f"{entity.plural}: {', '.join((*entity.verbs, *extra))}"
        parser = commands.add_parser(entity.name, help=purpose, description=sentence(purpose), allow_abbrev=False)
        parser.add_when_called(partial(_add_verbs, entity))


def _add_verbs(entity: EntityType, parser: Parser) -> None:
    group = parser.add_subparsers(title="commands", metavar="VERB", required=True)
    for verb in entity.verbs:
        purpose = _PURPOSES[verb]
        description = sentence(f"{entity.plural}: {purpose}")
        command = group.add_parser(verb, help=purpose, description=description, allow_abbrev=False)
        command.add_when_called(partial(_add_arguments, entity, verb))
    if entity is ACCOUNTS:
        accounts.add_verbs(group)


def _add_arguments(entity: EntityType, verb: str, parser: Parser) -> None:
    parser.set_defaults(parser=parser)
    if verb == "list":
        _add_list_arguments(parser, entity)
        parser.set_defaults(admin_command=partial(list_them, entity))
    elif verb == "show":
        _add_key(parser, entity)
        parser.set_defaults(admin_command=partial(show, entity))
    else:
        _add_change_arguments(parser, entity, verb)
    add_store_arguments(parser)
    add_json_argument(parser)


def _add_change_arguments(parser: Parser, entity: EntityType, verb: str) -> None:
    inputs: tuple[InputField, ...] = ()
    if verb == "add":
        inputs = entity.inputs()
        if entity is not PRICES:
            # The key is the first argument, as with every other verb.
            key = next(given for given in inputs if given.name == entity.key)
            inputs = tuple(given for given in inputs if given is not key)
            _add_key(parser, entity, key)
        add_flags(parser, inputs)
    else:
        _add_key(parser, entity)
    if verb == "change":
        inputs = entity.changeable()
        add_flags(parser, inputs, all_optional=True)
        parser.epilog = sentence(at_least_one(inputs))
        if entity is RESOURCES:
            parser.elsewhere = {"--ended": "cloudconsole admin resource end"}
    if verb == "end":
        parser.add_argument("--at", metavar="TIME", help="time of the end (default: now)")
    if entity is ACCOUNTS and verb == "add":
        add_password_arguments(parser)
    if verb in entity.overridable:
        parser.add_argument("--force", action="store_true", help="override the rule that rejects this")
    add_zone_argument(parser)
    parser.set_defaults(admin_command=partial(change, entity, verb, inputs))


def _add_key(parser: argparse.ArgumentParser, entity: EntityType, given: InputField | None = None) -> None:
    """Add the positional key; for a new entity, with the help of its field."""
    metavar = "KEY" if entity is PRICES else entity.key.upper()
    text = KEY_FORM if entity is PRICES else f"{entity.key} of the {entity.name}"
    if given is not None and not given.is_required:
        parser.add_argument("key", metavar=metavar, nargs="?", help=given.help)
    else:
        parser.add_argument("key", metavar=metavar, help=text if given is None else given.help)


def _add_list_arguments(parser: argparse.ArgumentParser, entity: EntityType) -> None:
    for name, criterion in entity.filters().items():
        more: dict[str, Any] = {"action": "store_true"} if criterion.is_switch else {"metavar": name.upper()}
        parser.add_argument(f"--{name}", dest=f"filter_{name}", help=criterion.help, **more)
    fields = entity.sort_fields()
    parser.add_argument("--sort", metavar="FIELD", help=f"sort by {' or '.join(fields)} (default: {fields[0]})")
    parser.add_argument("--descending", action="store_true", help="sort in descending order")
    parser.add_argument("--after", metavar="KEY", help="continue after this one")
    add_limit_argument(parser)
