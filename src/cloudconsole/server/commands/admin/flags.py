"""Flags for the fields of a noun: made from its inputs, and read back as values."""

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Any, Final, TypeVar

from cloudconsole.operator.entities.schema import Input
from cloudconsole.operator.errors import OperatorError, Unfit
from cloudconsole.operator.parsing import json_of, number_of, switch_of
from cloudconsole.operator.validation import Path, path_text

_PREFIX: Final = "field_"
Value = TypeVar("Value")


def flag_of(name: str) -> str:
    """`--service-areas` for `serviceAreas`, `--floating-ips` for `floating_ips`."""
    return "--" + re.sub(r"[A-Z]", lambda capital: f"-{capital.group().lower()}", name).replace("_", "-")


def add_flags(parser: argparse.ArgumentParser, inputs: Iterable[Input], *, all_optional: bool = False) -> None:
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


def at_least_one(inputs: Iterable[Input]) -> str:
    return f"give at least one of {', '.join(flag_of(given.name) for given in inputs)}"


def values_of(arguments: argparse.Namespace, inputs: Iterable[Input]) -> dict[str, Any]:
    """The values that were given; an empty text takes a value away where there may be none."""
    values: dict[str, Any] = {}
    for given in inputs:
        value = getattr(arguments, _PREFIX + given.name, None)
        if value is not None:
            values[given.name] = None if value == "" and given.may_be_nothing else value
    return values


@contextmanager
def as_typed(names: Mapping[str, str]) -> Iterator[None]:
    """Within, a field that does not fit is named as it was typed; these are the fields and their flags or places."""
    try:
        yield
    except Unfit as refused:
        raise OperatorError("; ".join(_said(names, path, message) for path, message in refused.findings)) from None


def _said(names: Mapping[str, str], path: Path, message: str) -> str:
    field, *inner = path
    if field not in names:
        return f"{path_text(path)}: {message}"
    return ": ".join(part for part in (names[str(field)], path_text(tuple(inner)), message) if part)


def _number(text: str) -> int:
    return _in_words(number_of, text)


def _switch(text: str) -> bool:
    return _in_words(switch_of, text)


def _in_words(read: Callable[[str], Value], text: str) -> Value:
    """What was read; argparse tells the words of its own error only."""
    try:
        return read(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def _json(text: str) -> Any:
    """JSON as it stands, or from the file named after an @."""
    try:
        content = FilePath(text[1:]).read_bytes() if text.startswith("@") else text.encode()
        return json_of(content)
    except OSError as problem:
        raise argparse.ArgumentTypeError(f"{text[1:]} cannot be read: {problem.strerror}") from None
    except ValueError:
        raise argparse.ArgumentTypeError("must be JSON, or @ and the path of a file of JSON") from None
