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
from cloudconsole.cli.i18n import sentence, translate
from cloudconsole.cli.messages import COMMANDS
from cloudconsole.operator.entities import ACCOUNTS, ENTITY_TYPES, PRICES, RESOURCES, ChangeResult, EntityType
from cloudconsole.operator.entities.fields_and_filters import InputField
from cloudconsole.operator.entities.pagination import Order
from cloudconsole.operator.entities.prices import KEY_FORM
from cloudconsole.operator.errors import OperatorError, Path, ValidationError, cannot_read, format_path
from cloudconsole.operator.parsing import parse_json, parse_number, parse_switch
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.admin_ui.names import NOTHING_TO_CHANGE
from cloudconsole.server.commands.admin import accounts, messages
from cloudconsole.server.commands.admin.entity_texts import PAST, entity_name, entity_plural, headings_of, result
from cloudconsole.server.commands.admin.field_helps import help_of
from cloudconsole.server.commands.admin.store import (
    add_json_argument,
    add_store_arguments,
    add_zone_argument,
    reading_transaction,
    store,
    store_to_read,
    writing_transaction,
)
from cloudconsole.server.commands.i18n import argument_error, joined, localized
from cloudconsole.server.commands.passwords import add_password_arguments, read_new_password
from cloudconsole.server.config.settings import Settings
from cloudconsole.spec.i18n import Text
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
        parser.add_argument(flag_of(given.name), help=help_of(given.help), **more)


def at_least_one(inputs: Iterable[InputField]) -> str:
    return translate(messages.AT_LEAST_ONE, flags=", ".join(flag_of(given.name) for given in inputs))


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
        raise OperatorError(joined(_message(names, path, message) for path, message in error.errors)) from None


def _message(names: Mapping[str, str], path: Path, message: str) -> str:
    field, *inner = path
    where = format_path(path)
    if field in names:
        where = ": ".join(part for part in (names[str(field)], format_path(tuple(inner))) if part)
    return translate(messages.PROBLEM, field=where, problem=localized(message))


def _number(text: str) -> int:
    return _parse(parse_number, text)


def _switch(text: str) -> bool:
    return _parse(parse_switch, text)


def _parse(parser: Callable[[str], Value], text: str) -> Value:
    try:
        return parser(text)
    except ValueError as problem:
        raise argument_error(problem) from None


def _json(text: str) -> Any:
    """Parse JSON, or the file named after an @."""
    try:
        content = FilePath(text[1:]).read_bytes() if text.startswith("@") else text.encode()
        return parse_json(content)
    except OSError as problem:
        raise argparse.ArgumentTypeError(localized(cannot_read(text[1:], problem))) from None
    except ValueError:
        raise argparse.ArgumentTypeError(translate(messages.NOT_JSON)) from None


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
    print_done(entity, done, PAST[verb], as_json=arguments.json)


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


def print_done(entity: EntityType, done: ChangeResult, past: Text, *, as_json: bool) -> None:
    if as_json:
        output.print_json(done.before if done.after is None else done.after)
    else:
        output.print_line(result(entity, done.subject, past if done.changed else NOTHING_TO_CHANGE))


def show(entity: EntityType, arguments: argparse.Namespace, settings: Settings) -> None:
    with store_to_read(settings) as engine, reading_transaction(engine, settings) as tx:
        record = entity.show(tx, arguments.key)
    if arguments.json:
        output.print_json(record)
    else:
        headings = headings_of(entity, record)
        output.print_record({headings[name]: value for name, value in record.items()})


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
        print_some(records, headings_of(entity, columns), arguments, entity.key_of)


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
        help=translate(messages.LIMIT_FLAG, limit=output.ON_A_TERMINAL),
    )


def _limit(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= len(text) <= 9 or int(text) == 0:
        raise argparse.ArgumentTypeError(translate(messages.POSITIVE_NUMBER))
    return int(text)


def print_some(
    records: Iterator[Record], headings: Mapping[str, str], arguments: argparse.Namespace, key_of: Any
) -> None:
    """Print the fields that have a heading, up to the limit of records; say on standard error how to continue."""
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
        output.print_records(headings, limited())
    if limit is not None and last and next(records, None) is not None:
        stdout.flush()
        sys.stderr.write(f"{translate(messages.MORE_RESULTS, key=escape(str(key_of(last[0]))))}\n")


def add_commands(commands: Any) -> None:
    for entity in ENTITY_TYPES:
        extra = accounts.VERBS if entity is ACCOUNTS else ()
        verbs = ", ".join((*entity.verbs, *extra))
        purpose = translate(messages.GROUP, entities=entity_plural(entity), verbs=verbs)
        parser = commands.add_parser(entity.name, help=purpose, description=sentence(purpose), allow_abbrev=False)
        parser.add_when_called(partial(_add_verbs, entity))


def _add_verbs(entity: EntityType, parser: Parser) -> None:
    group = parser.add_subparsers(title=translate(COMMANDS), metavar=translate(messages.VERB), required=True)
    for verb in entity.verbs:
        purpose = translate(messages.PURPOSES[verb])
        description = sentence(translate(messages.GROUP, entities=entity_plural(entity), verbs=purpose))
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
        parser.add_argument("--at", metavar="TIME", help=translate(messages.END_FLAG))
    if entity is ACCOUNTS and verb == "add":
        add_password_arguments(parser)
    if verb in entity.overridable:
        parser.add_argument("--force", action="store_true", help=translate(messages.FORCE_FLAG))
    add_zone_argument(parser)
    parser.set_defaults(admin_command=partial(change, entity, verb, inputs))


def _add_key(parser: argparse.ArgumentParser, entity: EntityType, given: InputField | None = None) -> None:
    """Add the positional key; for a new entity, with the help of its field."""
    metavar = "KEY" if entity is PRICES else entity.key.upper()
    text = translate(messages.PRICE_KEY, form=KEY_FORM) if entity is PRICES else _key_help(entity)
    if given is not None and not given.is_required:
        parser.add_argument("key", metavar=metavar, nargs="?", help=help_of(given.help))
    else:
        parser.add_argument("key", metavar=metavar, help=text if given is None else help_of(given.help))


def _key_help(entity: EntityType) -> str:
    (key,) = headings_of(entity, [entity.key]).values()
    return translate(messages.KEY_OF, key=key, entity=entity_name(entity))


def _add_list_arguments(parser: argparse.ArgumentParser, entity: EntityType) -> None:
    for name, criterion in entity.filters().items():
        more: dict[str, Any] = {"action": "store_true"} if criterion.is_switch else {"metavar": name.upper()}
        parser.add_argument(f"--{name}", dest=f"filter_{name}", help=help_of(criterion.help), **more)
    fields = entity.sort_fields()
    sort = translate(messages.SORT_FLAG, fields=translate(messages.OR).join(fields), default=fields[0])
    parser.add_argument("--sort", metavar="FIELD", help=sort)
    parser.add_argument("--descending", action="store_true", help=translate(messages.DESCENDING_FLAG))
    parser.add_argument("--after", metavar="KEY", help=translate(messages.AFTER_FLAG))
    add_limit_argument(parser)
