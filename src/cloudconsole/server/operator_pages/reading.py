"""What was typed, made into values for the layer of operators' work; and what the form was made from."""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import tzinfo
from typing import Any, Final

from cloudconsole.core.resources import UNLIMITED
from cloudconsole.operator.entities import DOMAINS, Noun
from cloudconsole.operator.parsing import json_of, number_of, switch_of
from cloudconsole.operator.serializers import Record, json_text
from cloudconsole.operator.validation import Unreadable
from cloudconsole.server.operator_pages.controls import Control, sent, shown, value_at, was_sent

Fields = Mapping[str, str]
Values = dict[str, Any]

SEEN: Final = "seen"
"""The hidden field that tells what a form was made from."""
_RECORD: Final = "*"
BOTH: Final = "\0both"
"""In place of a text, where a limit has a new number and is ticked to be unlimited."""


def values_for_adding(controls: Iterable[Control], fields: Fields) -> Values:
    """What was given; a field that was left empty was not."""
    return _values(
        ((control, text) for control in controls if (text := sent(control, fields))),
        {},
    )


def values_for_changing(
    noun: Noun, controls: Iterable[Control], fields: Fields, record: Record, zone: tzinfo
) -> Values:
    """What was typed otherwise than the record has it."""
    otherwise = []
    # A field that was not sent at all was not emptied; but a box that is not ticked is not sent either.
    for control in (each for each in controls if each.kind == "switch" or was_sent(each, fields)):
        text, now = sent(control, fields), shown(control, value_at(record, control.path), zone)
        if text == str(UNLIMITED) and control.kind == "limit" and fields.get(control.name, "") not in ("", now):
            text = BOTH
        if text != now:
            otherwise.append((control, text))
    # The parts of an origin are changed together: those that were left alone go with the others.
    return _values(otherwise, {"originConfig": record["originConfig"]} if noun is DOMAINS else {})


def _values(given: Iterable[tuple[Control, str]], wholes: Record) -> Values:
    values: Values = {}
    for control, text in given:
        _put(values, control, _value(control, text), wholes)
    return values


def _put(values: Values, control: Control, value: Any, wholes: Record) -> None:
    field, *inner = control.path
    if not inner:
        values[str(field)] = value
        return
    whole = values.setdefault(str(field), dict(wholes.get(str(field), {})))
    whole[inner[0]] = value


def _value(control: Control, text: str) -> Any:
    """What a text means; where that cannot be told, the field says why, together with what others say."""
    try:
        return _read(control, text)
    except ValueError as problem:
        return Unreadable(str(problem))


def _read(control: Control, text: str) -> Any:
    if text == BOTH:
        raise ValueError("give a number, or tick unlimited, not both")
    if text == "" and control.may_be_nothing:
        return None
    if control.kind == "json":
        return json_of(text)
    if control.kind == "lines":
        return [line.strip() for line in text.split("\n") if line.strip()]
    if control.kind in ("number", "limit"):
        return number_of(text)
    return switch_of(text) if control.kind == "switch" else text


def seen_of(controls: Iterable[Control], record: Record, zone: tzinfo) -> str:
    """A fingerprint of a record and of each field of the form that shows it."""
    marks = {control.name: shown(control, value_at(record, control.path), zone) for control in controls}
    return " ".join(f"{name}={_mark(text)}" for name, text in {_RECORD: json_text(record), **marks}.items())


def is_stale(fields: Fields, record: Record) -> bool:
    """Whether the record is not the one any more that the form was made from."""
    return _marks(fields).get(_RECORD) != _mark(json_text(record))


def touched(controls: Iterable[Control], fields: Fields) -> set[str]:
    """The names of the fields whose text is not the one that the form showed."""
    marks = _marks(fields)
    return {control.name for control in controls if marks.get(control.name) != _mark(sent(control, fields))}


def _marks(fields: Fields) -> dict[str, str]:
    return dict(pair.rsplit("=", 1) for pair in fields.get(SEEN, "").split(" ") if "=" in pair)


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
