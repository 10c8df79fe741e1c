"""A form as a template shows it: its fields with what was typed and what is wrong, and what is wrong altogether."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from functools import partial
from typing import Final, NamedTuple

from cloudconsole.core.resources import UNLIMITED
from cloudconsole.operator.errors import Finding, OperatorError, Overridable, Unfit
from cloudconsole.operator.serializers import Record
from cloudconsole.operator.validation import Path, path_text
from cloudconsole.server.operator_pages.controls import UNLIMITED_SUFFIX, Control, sent, shown, value_at
from cloudconsole.server.operator_pages.labels import label_of

OUT_OF_DATE: Final = "You signed in anew since this page was made, and nothing was changed: send it once more."


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


class Field(NamedTuple):
    control: Control
    text: str
    problem: str | None = None
    now: str | None = None
    """What the record has meanwhile, where that is another text."""
    note: str | None = None
    number: str = ""
    """What stands beside the tick of a limit that is unlimited."""

    @property
    def id(self) -> str:
        return field_id(self.control)

    @property
    def unlimited_name(self) -> str:
        return self.control.name + UNLIMITED_SUFFIX

    @property
    def is_unlimited(self) -> bool:
        return self.text == str(UNLIMITED)

    @property
    def described_by(self) -> str:
        """The ids of what says more about it."""
        parts = {"help": self.control.help, "note": self.note, "now": self.now, "problem": self.problem}
        return " ".join(f"{self.id}-{part}" for part, text in parts.items() if text is not None and text != "")


def field_id(control: Control) -> str:
    return "field-" + control.name.replace(".", "-")


def blank_fields(controls: Iterable[Control]) -> list[Field]:
    return [Field(control, control.default) for control in controls]


def asked_fields(controls: Iterable[Control], query: Mapping[str, str]) -> list[Field]:
    """Blank ones, but for whose or where the new one is to be, which the address of the form may say."""
    return [
        Field(control, query.get(control.name, "") if control.suggests else control.default) for control in controls
    ]


def sent_fields(controls: Iterable[Control], fields: Mapping[str, str], problems: Problems) -> list[Field]:
    """As they were sent; passwords never go back."""
    return [
        Field(
            control,
            "" if control.kind == "password" else sent(control, fields),
            problems.of_fields.get(control.name),
            number=fields.get(control.name, "") if control.kind == "limit" else "",
        )
        for control in controls
    ]


def record_fields(controls: Iterable[Control], record: Record, zone: tzinfo) -> list[Field]:
    return [Field(control, shown(control, value_at(record, control.path), zone)) for control in controls]


def said(text: str) -> Problems:
    return Problems((Problem(text),))


def problems_of(refused: OperatorError, controls: Sequence[Control]) -> Problems:
    """A refusal in the terms of a form."""
    if not isinstance(refused, Unfit):
        text = str(refused)
        return Problems((Problem(text[:1].upper() + text[1:]),), may_be_forced=isinstance(refused, Overridable))
    found: list[Problem] = []
    of_fields: dict[str, str] = {}
    for finding in sorted(refused.findings, key=partial(_place_of, controls)):
        control = _control_of(finding, controls)
        if control is None:
            path, message = finding
            found.append(Problem(f"{label_of(str(path[0]))}: {message}" if path else message))
        else:
            text = _inner_text(control, finding)
            found.append(Problem(f"{control.label}: {text}", field_id(control)))
            of_fields[control.name] = "; ".join(filter(None, (of_fields.get(control.name), text)))
    return Problems(tuple(found), of_fields)


def _place_of(controls: Sequence[Control], finding: Finding) -> int:
    """In the order of the form; what is about no field goes before."""
    control = _control_of(finding, controls)
    return -1 if control is None else controls.index(control)


def _control_of(finding: Finding, controls: Sequence[Control]) -> Control | None:
    path, _ = finding
    around = [control for control in controls if control.path and control.path == path[: len(control.path)]]
    return max(around, key=lambda control: len(control.path), default=None)


def _inner_text(control: Control, finding: Finding) -> str:
    path, message = finding
    inner: Path = path[len(control.path) :]
    if not inner:
        return message
    if control.kind == "lines" and isinstance(inner[0], int):
        return f"line {inner[0] + 1}: {message}"
    return f"{path_text(inner)}: {message}"
