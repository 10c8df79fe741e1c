"""Which fields a record must have, and of which types; all that does not fit is named by its place."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from cloudconsole.conformance.redaction import quote_value


class FieldType(NamedTuple):
    name: str
    fits: Callable[[Any], bool]


def is_integer(value: object) -> bool:
    """A boolean is a number to Python, but to nobody else."""
    return type(value) is int


def is_text(value: object) -> bool:
    return isinstance(value, str)


def list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(fits(each) for each in value)


ANY: Final = FieldType("anything", lambda _: True)
TEXT: Final = FieldType("text", is_text)
TEXT_OR_NULL: Final = FieldType("text or null", lambda value: value is None or is_text(value))
INTEGER: Final = FieldType("an integer", is_integer)
ARRAY: Final = FieldType("an array", lambda value: isinstance(value, list))
OBJECT: Final = FieldType("an object", lambda value: isinstance(value, dict))
TEXTS: Final = FieldType("an array of text", list_of(is_text))
INTEGERS: Final = FieldType("an array of integers", list_of(is_integer))

RecordSchema = Mapping[str, FieldType]


def schema_errors(record: Any, shape: RecordSchema, place: str) -> list[str]:
    """What is missing in a record, or of a wrong type."""
    if not isinstance(record, dict):
        return [f"{place} is {quote_value(record)}, not an object"]
    missing = [f"{place}.{name} is missing" for name in shape if name not in record]
    wrong = [
        f"{place}.{name} is {quote_value(record[name])}, not {kind.name}"
        for name, kind in shape.items()
        if name in record and not kind.fits(record[name])
    ]
    return missing + wrong


def schema_errors_of_all(records: Any, shape: RecordSchema, place: str) -> list[str]:
    return [problem for at, record in enumerate(records) for problem in schema_errors(record, shape, f"{place}[{at}]")]


def pattern_errors(values: list[tuple[str, Any]], pattern: str, wanted: str) -> list[str]:
    """Of values by their places those that are text, but not of a pattern; what is no text is told elsewhere."""
    return [
        f"{place} is {quote_value(value)}, not {wanted}"
        for place, value in values
        if isinstance(value, str) and not re.fullmatch(pattern, value, re.ASCII)
    ]


def values_of(records: Any, name: str, place: str) -> list[tuple[str, Any]]:
    """A field of each record that has it, with its place."""
    return [
        (f"{place}[{at}].{name}", record[name])
        for at, record in enumerate(records)
        if isinstance(record, dict) and name in record
    ]
