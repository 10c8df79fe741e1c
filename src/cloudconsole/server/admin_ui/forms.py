"""Bind, parse and re-display forms; edit-conflict check."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from functools import partial
from typing import Any, Final, NamedTuple

from cloudconsole.core.resources import UNLIMITED
from cloudconsole.operator.entities import DOMAINS, EntityType
from cloudconsole.operator.errors import FieldError, OperatorError, OverridableError, ValidationError
from cloudconsole.operator.parsing import parse_json, parse_number, parse_switch
from cloudconsole.operator.serializers import Record, json_text
from cloudconsole.operator.validation import Path, UnreadableValue, format_path
from cloudconsole.server.admin_ui.fields import (
    UNLIMITED_SUFFIX,
    FormField,
    display_value,
    submitted_value,
    value_at,
    was_submitted,
)
from cloudconsole.server.admin_ui.labels import label_of

STALE_FORM: Final = "You signed in anew since this page was made, and nothing was changed: send it once more."


class Problem(NamedTuple):
    text: str
    field_id: str | None = None
    """The field that it is about, where there is one."""


class Problems(NamedTuple):
    """What is wrong with what was sent."""

    all: tuple[Problem, ...] = ()
    of_fields: Mapping[str, str] = {}
    """By the field's name, the words beside it."""
    may_be_forced: bool = False


class BoundField(NamedTuple):
    definition: FormField
    text: str
    problem: str | None = None
    current: str | None = None
    """What the record has meanwhile, where that is another text."""
    note: str | None = None
    number: str = ""
    """What stands beside the tick of a limit that is unlimited."""

    @property
    def id(self) -> str:
        return field_id(self.definition)

    @property
    def unlimited_name(self) -> str:
        return self.definition.name + UNLIMITED_SUFFIX

    @property
    def is_unlimited(self) -> bool:
        return self.text == str(UNLIMITED)

    @property
    def described_by(self) -> str:
        """The ids of what says more about it."""
        parts = {"help": self.definition.help, "note": self.note, "now": self.current, "problem": self.problem}
        return " ".join(f"{self.id}-{part}" for part, text in parts.items() if text is not None and text != "")


def field_id(control: FormField) -> str:
    return "field-" + control.name.replace(".", "-")


def blank_fields(controls: Iterable[FormField]) -> list[BoundField]:
    return [BoundField(control, control.default) for control in controls]


def prefilled_fields(controls: Iterable[FormField], query: Mapping[str, str]) -> list[BoundField]:
    """Blank ones, but for whose or where the new one is to be, which the address of the form may say."""
    return [
        BoundField(control, query.get(control.name, "") if control.suggests else control.default)
        for control in controls
    ]


def submitted_fields(controls: Iterable[FormField], fields: Mapping[str, str], problems: Problems) -> list[BoundField]:
    """As they were sent; passwords never go back."""
    return [
        BoundField(
            control,
            "" if control.kind == "password" else submitted_value(control, fields),
            problems.of_fields.get(control.name),
            number=fields.get(control.name, "") if control.kind == "limit" else "",
        )
        for control in controls
    ]


def record_fields(controls: Iterable[FormField], record: Record, zone: tzinfo) -> list[BoundField]:
    return [BoundField(control, display_value(control, value_at(record, control.path), zone)) for control in controls]


def submitted_texts(text: str) -> Problems:
    return Problems((Problem(text),))


def form_problems(refused: OperatorError, controls: Sequence[FormField]) -> Problems:
    """A refusal in the terms of a form."""
    if not isinstance(refused, ValidationError):
        text = str(refused)
        return Problems((Problem(text[:1].upper() + text[1:]),), may_be_forced=isinstance(refused, OverridableError))
    found: list[Problem] = []
    of_fields: dict[str, str] = {}
    for finding in sorted(refused.errors, key=partial(_place_of, controls)):
        control = _control_of(finding, controls)
        if control is None:
            path, message = finding
            found.append(Problem(f"{label_of(str(path[0]))}: {message}" if path else message))
        else:
            text = _inner_text(control, finding)
            found.append(Problem(f"{control.label}: {text}", field_id(control)))
            of_fields[control.name] = "; ".join(filter(None, (of_fields.get(control.name), text)))
    return Problems(tuple(found), of_fields)


def _place_of(controls: Sequence[FormField], finding: FieldError) -> int:
    """In the order of the form; what is about no field goes before."""
    control = _control_of(finding, controls)
    return -1 if control is None else controls.index(control)


def _control_of(finding: FieldError, controls: Sequence[FormField]) -> FormField | None:
    path, _ = finding
    around = [control for control in controls if control.path and control.path == path[: len(control.path)]]
    return max(around, key=lambda control: len(control.path), default=None)


def _inner_text(control: FormField, finding: FieldError) -> str:
    path, message = finding
    inner: Path = path[len(control.path) :]
    if not inner:
        return message
    if control.kind == "lines" and isinstance(inner[0], int):
        return f"line {inner[0] + 1}: {message}"
    return f"{format_path(inner)}: {message}"


Fields = Mapping[str, str]
Values = dict[str, Any]

SEEN: Final = "seen"
"""The hidden field that tells what a form was made from."""
_RECORD: Final = "*"
BOTH: Final = "\0both"
"""In place of a text, where a limit has a new number and is ticked to be unlimited."""


def create_values(controls: Iterable[FormField], fields: Fields) -> Values:
    """What was given; a field that was left empty was not."""
    return _values(
        ((control, text) for control in controls if (text := submitted_value(control, fields))),
        {},
    )


def edit_values(
    entity: EntityType, controls: Iterable[FormField], fields: Fields, record: Record, zone: tzinfo
) -> Values:
    """What was typed otherwise than the record has it."""
    otherwise = []
    # A field that was not sent at all was not emptied; but a box that is not ticked is not sent either.
    for control in (each for each in controls if each.kind == "switch" or was_submitted(each, fields)):
        text, now = submitted_value(control, fields), display_value(control, value_at(record, control.path), zone)
        if text == str(UNLIMITED) and control.kind == "limit" and fields.get(control.name, "") not in ("", now):
            text = BOTH
        if text != now:
            otherwise.append((control, text))
    # The parts of an origin are changed together: those that were left alone go with the others.
    return _values(otherwise, {"originConfig": record["originConfig"]} if entity is DOMAINS else {})


def _values(given: Iterable[tuple[FormField, str]], wholes: Record) -> Values:
    values: Values = {}
    for control, text in given:
        _put(values, control, _value(control, text), wholes)
    return values


def _put(values: Values, control: FormField, value: Any, wholes: Record) -> None:
    field, *inner = control.path
    if not inner:
        values[str(field)] = value
        return
    whole = values.setdefault(str(field), dict(wholes.get(str(field), {})))
    whole[inner[0]] = value


def _value(control: FormField, text: str) -> Any:
    """What a text means; where that cannot be told, the field says why, together with what others say."""
    try:
        return _read(control, text)
    except ValueError as problem:
        return UnreadableValue(str(problem))


def _read(control: FormField, text: str) -> Any:
    if text == BOTH:
        raise ValueError("give a number, or tick unlimited, not both")
    if text == "" and control.may_be_nothing:
        return None
    if control.kind == "json":
        return parse_json(text)
    if control.kind == "lines":
        return [line.strip() for line in text.split("\n") if line.strip()]
    if control.kind in ("number", "limit"):
        return parse_number(text)
    return parse_switch(text) if control.kind == "switch" else text


def record_fingerprint(controls: Iterable[FormField], record: Record, zone: tzinfo) -> str:
    """A fingerprint of a record and of each field of the form that shows it."""
    marks = {control.name: display_value(control, value_at(record, control.path), zone) for control in controls}
    return " ".join(f"{name}={_mark(text)}" for name, text in {_RECORD: json_text(record), **marks}.items())


def is_stale(fields: Fields, record: Record) -> bool:
    """Whether the record is not the one any more that the form was made from."""
    return _marks(fields).get(_RECORD) != _mark(json_text(record))


def changed_fields(controls: Iterable[FormField], fields: Fields) -> set[str]:
    """The names of the fields whose text is not the one that the form showed."""
    marks = _marks(fields)
    return {control.name for control in controls if marks.get(control.name) != _mark(submitted_value(control, fields))}


def _marks(fields: Fields) -> dict[str, str]:
    return dict(pair.rsplit("=", 1) for pair in fields.get(SEEN, "").split(" ") if "=" in pair)


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
