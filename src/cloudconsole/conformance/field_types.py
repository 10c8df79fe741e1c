"""Record schemas: required fields and types; errors name the location."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from cloudconsole.conformance.redaction import json_line


class FieldType(NamedTuple):
    name: str
    matches: Callable[[Any], bool]


def is_integer(value: object) -> bool:
    """Whether the value is an integer; unlike in Python, a boolean is not."""
    return type(value) is int


def is_text(value: object) -> bool:
    return isinstance(value, str)


def list_of(matches: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(matches(each) for each in value)


ANY: Final = FieldType("anything", lambda _: True)
TEXT: Final = FieldType("text", is_text)
TEXT_OR_NULL: Final = FieldType("text or null", lambda value: value is None or is_text(value))
INTEGER: Final = FieldType("an integer", is_integer)
ARRAY: Final = FieldType("an array", lambda value: isinstance(value, list))
OBJECT: Final = FieldType("an object", lambda value: isinstance(value, dict))
TEXTS: Final = FieldType("an array of text", list_of(is_text))
INTEGERS: Final = FieldType("an array of integers", list_of(is_integer))

RecordSchema = Mapping[str, FieldType]


def schema_errors(record: Any, schema: RecordSchema, location: str) -> list[str]:
    """Return the missing and mistyped fields of a record."""
    if not isinstance(record, dict):
        return [f"{location} is {json_line(record)}, not an object"]
    missing = [f"{location}.{name} is missing" for name in schema if name not in record]
    wrong = [
        f"{location}.{name} is {json_line(record[name])}, not {kind.name}"
        for name, kind in schema.items()
        if name in record and not kind.matches(record[name])
    ]
    return missing + wrong


def schema_errors_of_all(records: Any, schema: RecordSchema, location: str) -> list[str]:
    return [
        problem
        for index, record in enumerate(records)
        for problem in schema_errors(record, schema, f"{location}[{index}]")
    ]


def pattern_errors(values: list[tuple[str, Any]], pattern: str, expected: str) -> list[str]:
    """Return the texts that do not match a pattern; other types are reported by other checks."""
    return [
        f"{location} is {json_line(value)}, not {expected}"
        for location, value in values
        if isinstance(value, str) and not re.fullmatch(pattern, value, re.ASCII)
    ]


def values_of(records: Any, name: str, location: str) -> list[tuple[str, Any]]:
    """Return a field of each record that has it, with its location."""
    return [
        (f"{location}[{index}].{name}", record[name])
        for index, record in enumerate(records)
        if isinstance(record, dict) and name in record
    ]
