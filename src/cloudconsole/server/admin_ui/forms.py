"""Form binding, parsing and re-display; detection of edit conflicts."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import tzinfo
from functools import partial
from typing import Any, Final, NamedTuple

from cloudconsole.core.resources import UNLIMITED
from cloudconsole.operator.entities import DOMAINS, EntityType
from cloudconsole.operator.errors import FieldError, OperatorError, OverridableError, Path, ValidationError, format_path
from cloudconsole.operator.invalid_placeholder import UnreadableValue
from cloudconsole.operator.messages import Message
from cloudconsole.operator.parsing import parse_json, parse_number, parse_switch
from cloudconsole.operator.resource_and_price_rules import MAX_VALUE
from cloudconsole.operator.rows_and_records import Record, json_text
from cloudconsole.server.admin_ui.fields import (
    UNLIMITED_SUFFIX,
    FormField,
    display_value,
    local_time,
    submitted_value,
    value_at,
    was_submitted,
)
from cloudconsole.server.admin_ui.i18n import Label
from cloudconsole.server.admin_ui.labels import label_of
from cloudconsole.server.admin_ui.names import choice_name
from cloudconsole.spec.i18n import Text

STALE_FORM: Final = Text(
    "You signed in again after this page was loaded, and nothing was changed: send it once more.",
    "此页面打开后您重新登录过，未做任何更改，请再次提交。",
)
RESTORED_FORM: Final = Text(
    "You signed in again. This is what you typed; it is not saved yet.",
    "您已重新登录，以下为之前填写的内容，尚未保存。",
)
_CURRENT_VALUE: Final = ("Current value: {value}", "当前值：{value}")
_CHANGED_BY_OTHERS: Final = Text("Changed by someone else", "已被他人修改")
_TYPE_AGAIN: Final = Text("Type it again.", "请重新输入。")
_UNLIMITED: Final = Text("unlimited", "不限")
_NONE: Final = Text("none", "无")


class Problem(NamedTuple):
    text: Label
    field_id: str | None = None
    """Id of the field, if it concerns one."""
    label: Label = ""
    """Label of the field."""


class Problems(NamedTuple):
    """Problems of a submitted form."""

    all: tuple[Problem, ...] = ()
    of_fields: Mapping[str, tuple[Label, ...]] = {}
    """Messages by field name."""
    confirmations: Set[str] = frozenset()
    """Values that confirm the question that the problem is."""
    is_restored: bool = False
    """Not a problem: the form is shown as it was typed before a sign-in."""


class BoundField(NamedTuple):
    definition: FormField
    text: str
    problems: tuple[Label, ...] = ()
    conflict: Label = ""
    """How another operator's change concerns this field."""
    note: Label = ""
    is_warning: bool = False
    """Whether the note is one."""
    number: str = ""
    """Number typed beside a ticked "unlimited"."""

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
        """Ids for aria-describedby."""
        parts = {"help": self.definition.help, "note": self.note, "conflict": self.conflict, "problem": self.problems}
        return " ".join(f"{self.id}-{part}" for part, text in parts.items() if text)


def field_id(control: FormField) -> str:
    return "field-" + control.name.replace(".", "-")


def blank_fields(controls: Iterable[FormField]) -> list[BoundField]:
    return [BoundField(control, control.default) for control in controls]


PREFILLED: Final[Mapping[str, frozenset[str]]] = {
    "price": frozenset({"kind", "unit", "type", "node"}),
    "news": frozenset({"date", "url", "language", "pinned"}),
}
"""Fields that links to a form fill in, besides tenant, node and kind: never all of them, nor the role of an account."""


def prefilled_fields(
    entity: EntityType, controls: Iterable[FormField], query: Mapping[str, str], zone: tzinfo
) -> list[BoundField]:
    """Return blank fields, some with the values in the query, whose times are those of a record."""
    given = PREFILLED.get(entity.name, frozenset({"tenant", "node", "kind"})).intersection(query)
    fields = []
    for control in controls:
        text = submitted_value(control, query) if control.name in given else control.default
        fields.append(BoundField(control, local_time(text, zone) if control.kind == "time" else text))
    return fields


def submitted_fields(controls: Iterable[FormField], fields: Mapping[str, str], problems: Problems) -> list[BoundField]:
    """Return the fields as submitted, without passwords."""
    return [
        BoundField(
            control,
            "" if control.kind == "password" else submitted_value(control, fields),
            problems.of_fields.get(control.name, ()),
            note=_TYPE_AGAIN if control.kind == "password" and fields.get(control.name) else "",
            number=fields.get(control.name, "") if control.kind == "limit" else "",
        )
        for control in controls
    ]


def record_fields(controls: Iterable[FormField], record: Record, zone: tzinfo) -> list[BoundField]:
    return [BoundField(control, display_value(control, value_at(record, control.path), zone)) for control in controls]


def submitted_texts(text: Text) -> Problems:
    return Problems((Problem(text),), is_restored=text is RESTORED_FORM)


def form_problems(error: OperatorError, controls: Sequence[FormField]) -> Problems:
    """Assign the errors to the fields of a form."""
    if not isinstance(error, ValidationError):
        confirmations = error.confirmations if isinstance(error, OverridableError) else frozenset()
        return Problems((Problem(error.message),), confirmations=confirmations)
    problems: list[Problem] = []
    of_fields: dict[str, tuple[Label, ...]] = {}
    for finding in sorted(error.errors, key=partial(_position, controls)):
        control = _control_of(finding, controls)
        if control is None:
            path, message = finding
            problems.append(Problem(message, label=label_of(str(path[0])) if path else ""))
        else:
            text = _inner_text(control, finding)
            problems.append(Problem(text, field_id(control), control.label))
            of_fields[control.name] = (*of_fields.get(control.name, ()), text)
    return Problems(tuple(problems), of_fields)


def _position(controls: Sequence[FormField], finding: FieldError) -> int:
    """Return the sort key for form order; errors without a field come first."""
    control = _control_of(finding, controls)
    return -1 if control is None else controls.index(control)


def _control_of(finding: FieldError, controls: Sequence[FormField]) -> FormField | None:
    path, _ = finding
    around = [control for control in controls if control.path and control.path == path[: len(control.path)]]
    return max(around, key=lambda control: len(control.path), default=None)


def _inner_text(control: FormField, finding: FieldError) -> Label:
    path, message = finding
    inner: Path = path[len(control.path) :]
    if not inner:
        return message
    if control.kind == "lines" and isinstance(inner[0], int):
        return _within("line {place}: {problem}", "第 {place} 行：{problem}", inner[0] + 1, message)
    return _within("{place}: {problem}", "{place}：{problem}", format_path(inner), message)


def _within(en: str, zh: str, place: object, problem: str) -> Label:
    if isinstance(problem, Message):
        return Message(en, zh, place=place, problem=problem)
    return en.format(place=place, problem=problem)


Fields = Mapping[str, str]
Values = dict[str, Any]

CANCEL: Final = "cancel"
"""Button that changes nothing and shows the form as it was typed."""
SEEN: Final = "seen"
"""Hidden field with the fingerprint of the displayed record."""
_RECORD: Final = "*"
BOTH: Final = "\0both"
"""Marks a limit with both a new number and "unlimited" ticked."""


def create_values(controls: Iterable[FormField], fields: Fields) -> Values:
    """Return the non-empty values."""
    return _values(
        ((control, text) for control in controls if (text := submitted_value(control, fields))),
        {},
    )


def edit_values(
    entity: EntityType, controls: Iterable[FormField], fields: Fields, record: Record, zone: tzinfo
) -> Values:
    """Return the values that differ from the record."""
    changed = []
    # A missing field means unchanged, except for checkboxes, which are not sent when unticked.
    for control in (each for each in controls if each.kind == "switch" or was_submitted(each, fields)):
        text, now = submitted_value(control, fields), display_value(control, value_at(record, control.path), zone)
        if text == str(UNLIMITED) and control.kind == "limit" and fields.get(control.name, "") not in ("", now):
            text = BOTH
        if text != now:
            changed.append((control, text))
    # The parts of an origin are changed together, including unchanged ones.
    return _values(changed, {"originConfig": record["originConfig"]} if entity is DOMAINS else {})


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
    """Parse a text; return invalid text as a placeholder, so that all errors are reported together."""
    try:
        return _read(control, text)
    except ValueError as problem:
        return UnreadableValue(problem.args[0] if problem.args else str(problem))


def _read(control: FormField, text: str) -> Any:
    if text == BOTH:
        raise ValueError(Message("enter a number or tick unlimited, not both", "请填写数字或勾选“不限”，不能同时选择"))
    # Spaces around a name or title are typed or pasted by mistake; existing names may have them.
    if control.kind == "text" and (control.suggests is None or text.isspace()):
        text = text.strip()
    if text == "" and control.may_be_nothing:
        return None
    if control.kind == "json":
        return parse_json(text)
    if control.kind == "lines":
        return [line.strip() for line in text.split("\n") if line.strip()]
    if control.kind == "limit":
        return _limit(text)
    if control.kind == "number":
        return parse_number(text)
    return parse_switch(text) if control.kind == "switch" else text


def _limit(text: str) -> int:
    try:
        limit = parse_number(text)
    except ValueError:
        raise ValueError(_NOT_A_LIMIT) from None
    if not UNLIMITED <= limit <= MAX_VALUE:
        raise ValueError(_NOT_A_LIMIT)
    return limit


_NOT_A_LIMIT: Final = Message(
    "must be a whole number from 0 to {most}, or unlimited", "必须是 0 至 {most} 的整数，或不限", most=MAX_VALUE
)


def record_fingerprint(controls: Iterable[FormField], record: Record, zone: tzinfo) -> str:
    """Return a fingerprint of a record and of each displayed field."""
    marks = {control.name: display_value(control, value_at(record, control.path), zone) for control in controls}
    return " ".join(f"{name}={_mark(text)}" for name, text in {_RECORD: json_text(record), **marks}.items())


def is_stale(fields: Fields, record: Record) -> bool:
    """Return whether the record changed after the form was rendered."""
    return _marks(fields).get(_RECORD) != _mark(json_text(record))


def changed_fields(controls: Iterable[FormField], fields: Fields) -> set[str]:
    """Return the names of the fields that the user edited."""
    marks = _marks(fields)
    return {control.name for control in controls if marks.get(control.name) != _mark(submitted_value(control, fields))}


def merged_fields(controls: Sequence[FormField], fields: Fields, record: Record, zone: tzinfo) -> list[BoundField]:
    """Return the record's fields with the user's edits, and mark those that others have changed meanwhile."""
    marks, edited = _marks(fields), changed_fields(controls, fields)
    merged = []
    typed_fields = submitted_fields(controls, fields, Problems())
    for field, typed in zip(record_fields(controls, record, zone), typed_fields, strict=True):
        is_edited = field.definition.name in edited and typed.text != field.text
        has_changed = marks.get(field.definition.name) != _mark(field.text)
        current = Message(*_CURRENT_VALUE, value=shown_value(field))
        conflict: Label = current if is_edited else _CHANGED_BY_OTHERS
        text = typed.text if is_edited else field.text
        merged.append(field._replace(text=text, conflict=conflict if has_changed else ""))
    return merged


def shown_value(field: BoundField) -> Label:
    if field.definition.kind == "limit" and field.is_unlimited:
        return _UNLIMITED
    return choice_name(field.text, field.definition.name) or _NONE


class FieldChange(NamedTuple):
    """A changed field; one of an entity that was added or removed has one value only."""

    label: Label
    before: Label | None
    after: Label | None
    unit: Label = ""
    """The unit of the value after the change."""


def field_changes(before: Iterable[BoundField], after: Iterable[BoundField]) -> list[FieldChange]:
    """Return how the texts of the same fields differ."""
    return [
        FieldChange(old.definition.label, shown_value(old), shown_value(new))
        for old, new in zip(before, after, strict=True)
        if old.text != new.text
    ]


def _marks(fields: Fields) -> dict[str, str]:
    return dict(pair.rsplit("=", 1) for pair in fields.get(SEEN, "").split(" ") if "=" in pair)


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
