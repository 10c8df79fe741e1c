"""What the commands of a noun do: parse, call the layer of operators' work, print."""

import argparse
import sys
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, Final

from cloudconsole.cli import output, stdout
from cloudconsole.operator.entities import ACCOUNTS, RESOURCES, Done, Noun
from cloudconsole.operator.entities.base import NOTHING_TO_CHANGE, PAST
from cloudconsole.operator.entities.schema import Input
from cloudconsole.operator.serializers import Record
from cloudconsole.operator.transaction import Desk
from cloudconsole.server.commands.admin.flags import as_typed, at_least_one, flag_of, values_of
from cloudconsole.server.commands.admin.stores import looking, store, store_to_read, writing
from cloudconsole.server.commands.passwords import read_new_password
from cloudconsole.server.config.settings import Settings
from cloudconsole.spec.text import visible
from cloudconsole.store.passwords import hash_password

_PAGE: Final = 1000


def change(noun: Noun, verb: str, inputs: tuple[Input, ...], arguments: argparse.Namespace, settings: Settings) -> None:
    values = values_of(arguments, inputs)
    if verb == "change" and not values:
        arguments.parser.error(at_least_one(inputs))
    if verb == "add":
        values |= _named(noun, getattr(arguments, "key", None))
    with store(settings) as engine, as_typed(_typed(noun, inputs)):
        if verb == "add" and noun is ACCOUNTS:
            with looking(engine, settings) as desk:
                ACCOUNTS.check_new(desk, values)
            # Hashed before the transaction: it takes its time, in which others could not write.
            values["password_hash"] = hash_password(
                read_new_password(arguments, settings.password_policy, values.get("role", "tenant"))
            )
        with writing(engine, settings, force=getattr(arguments, "force", False)) as desk:
            done = _do(desk, noun, verb, values, arguments)
    print_done(noun, done, PAST[verb], as_json=arguments.json)


def _typed(noun: Noun, inputs: tuple[Input, ...]) -> dict[str, str]:
    """What the fields are called on the command line: the key stands by its place, and an end is given as `--at`."""
    return {noun.key: noun.key.upper(), "ended": "--at"} | {given.name: flag_of(given.name) for given in inputs}


def _do(desk: Desk, noun: Noun, verb: str, values: dict[str, Any], arguments: argparse.Namespace) -> Done:
    if verb == "add":
        return noun.add(desk, values)
    if verb == "change":
        return noun.change(desk, arguments.key, values)
    if verb == "end":
        return RESOURCES.end(desk, arguments.key, arguments.at)
    done: Done = getattr(noun, verb)(desk, arguments.key)
    return done


def _named(noun: Noun, key: str | None) -> dict[str, Any]:
    """The field that names a new one."""
    if key is None:
        return {}
    is_number = next(given.shape for given in noun.inputs() if given.name == noun.key) == "number"
    return {noun.key: int(key) if is_number and key.isdecimal() else key}


def print_done(noun: Noun, done: Done, past: str, *, as_json: bool) -> None:
    if as_json:
        output.print_json(done.before if done.after is None else done.after)
    else:
        output.print_line(f"{noun.name} {done.subject}: {past if done.changed else NOTHING_TO_CHANGE}")


def show(noun: Noun, arguments: argparse.Namespace, settings: Settings) -> None:
    with store_to_read(settings) as engine, looking(engine, settings) as desk:
        record = noun.show(desk, arguments.key)
    if arguments.json:
        output.print_json(record)
    else:
        output.print_record(record)


def list_them(noun: Noun, arguments: argparse.Namespace, settings: Settings) -> None:
    names = noun.filters()
    filters = {name: value for name in names if (value := getattr(arguments, f"filter_{name}")) not in (None, False)}
    columns = [given.name for given in noun.inputs() if given.shape != "json"]
    with (
        store_to_read(settings) as engine,
        looking(engine, settings) as desk,
        as_typed({name: f"--{name}" for name in names}),
    ):
        found = _all(noun, desk, filters, arguments.after)
        print_some(found, columns, arguments, noun.key_of)


def _all(noun: Noun, desk: Desk, filters: dict[str, Any], after: str | None) -> Iterator[Record]:
    while page := noun.list(desk, filters, after, _PAGE):
        yield from page
        after = noun.key_of(page[-1])
        if len(page) < _PAGE:
            return


def add_limit_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--limit",
        metavar="N",
        type=_limit,
        help=f"so many at the most (default: {output.ON_A_TERMINAL} on a terminal, else all)",
    )


def _limit(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= len(text) <= 9 or int(text) == 0:
        raise argparse.ArgumentTypeError("must be a whole number from 1 on")
    return int(text)


def print_some(found: Iterator[Record], columns: list[str], arguments: argparse.Namespace, key_of: Any) -> None:
    """Print what was found up to the limit, and say on standard error where to go on if there is more."""
    limit = arguments.limit
    if limit is None and output.is_terminal() and not arguments.json:
        limit = output.ON_A_TERMINAL
    # What may be refused is so with the first one: before anything is printed.
    found = chain(list(islice(found, 1)), found)
    last: list[Record] = []

    def kept() -> Iterator[Record]:
        for record in islice(found, limit):
            last[:] = [record]
            yield record

    if arguments.json:
        output.print_json_lines(kept())
    else:
        output.print_records(columns, kept())
    if limit is not None and last and next(found, None) is not None:
        stdout.flush()
        sys.stderr.write(f"there are more: go on with --after {visible(str(key_of(last[0])))}\n")
