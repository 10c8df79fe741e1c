"""Form fields of entity types, and conversion between values and form text."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import Any, Final, Literal, NamedTuple

import msgspec

from cloudconsole.core.resources import KINDS, NODELESS, PRICED_UNITS, TYPED_UNITS, UNLIMITED
from cloudconsole.operator.entities import DOMAINS, ENTITY_TYPES, QUOTAS, RESOURCES, EntityType
from cloudconsole.operator.entities.fields_and_filters import InputField
from cloudconsole.operator.errors import Path
from cloudconsole.operator.resource_and_price_rules import SIZES, sizes_of
from cloudconsole.operator.rows_and_records import Record, json_text
from cloudconsole.server.admin_ui.i18n import Label
from cloudconsole.server.admin_ui.labels import RULES, USUAL_VALUES, group_of, help_of, label_of, unit_of
from cloudconsole.spec.i18n import Text

Kind = Literal["text", "number", "switch", "choice", "time", "json", "lines", "limit", "password"]

UNLIMITED_SUFFIX: Final = ".unlimited"
"""Suffix of the checkbox beside a limit."""

_UNITS_BY_KIND: Final = msgspec.json.encode(PRICED_UNITS).decode()
_TYPED_UNITS: Final = msgspec.json.encode(TYPED_UNITS).decode()
_SIZES_BY_KIND: Final = msgspec.json.encode(
    {kind: [*sizes_of(kind), *([] if kind in NODELESS else ["node"])] for kind in KINDS}
).decode()
_REFERRED: Final = frozenset(entity.name for entity in ENTITY_TYPES if entity.name in ("tenant", "node"))


class FormField(NamedTuple):
    name: str
    label: Label
    help: Label
    kind: Kind
    path: Path = ()
    """Path of its value in a record."""
    is_required: bool = False
    may_be_nothing: bool = False
    choices: tuple[str, ...] = ()
    default: str = ""
    suggests: str | None = None
    """Entity type whose names are suggested."""
    suggests_enabled: bool = False
    """Whether only those that are not disabled are suggested."""
    options: tuple[tuple[str, Label], ...] = ()
    """Usual values and their names; others may be typed."""
    unit: Label = ""
    group: Label = ""
    is_list: bool = False
    """Whether its JSON must be a list."""
    units: str = ""
    """The units by which each kind is priced, as JSON, for the choice of a price's unit."""
    typed_units: str = ""
    """The unit of each kind whose prices can have a type, as JSON, for that type."""
    sizes: str = ""
    """The fields that depend on the kind of a resource and apply to it, as JSON by kind."""


@cache
def create_fields(entity: EntityType) -> tuple[FormField, ...]:
    return _fields(entity, entity.inputs())


def edit_fields(entity: EntityType, record: Record) -> tuple[FormField, ...]:
    """Return the editable fields of a record; a resource only has the sizes and node of its kind."""
    inputs: Iterable[InputField] = entity.changeable()
    if entity is RESOURCES:
        kind = record["kind"]
        lacks = set(SIZES).difference(sizes_of(kind)) | ({"node"} if kind in NODELESS else set())
        inputs = [given for given in inputs if given.name not in lacks]
    # Not required here: missing fields stay unchanged, and the field rejects an empty value itself.
    return tuple(
        control._replace(is_required=False, group="" if entity is RESOURCES else control.group)
        for control in _fields(entity, inputs, is_new=False)
    )


def _fields(entity: EntityType, inputs: Iterable[InputField], *, is_new: bool = True) -> tuple[FormField, ...]:
    fields: list[FormField] = []
    for given in inputs:
        if entity is DOMAINS and given.name == "originConfig":
            fields += _ORIGIN
        elif entity is QUOTAS:
            fields.append(_field(entity, given, is_new=is_new)._replace(kind="limit"))
        else:
            fields.append(_field(entity, given, is_new=is_new))
    # The fields of a group belong together.
    fields.sort(key=lambda field: field.group == RULES)
    return tuple(fields)


def _field(entity: EntityType, given: InputField, *, is_new: bool) -> FormField:
    kind: Kind = "choice" if given.choices else given.shape
    return FormField(
        given.name,
        label_of(given.name, entity.name),
        help_of(entity.name, given, is_new=is_new),
        kind,
        (given.name,),
        given.is_required,
        given.may_be_nothing,
        given.choices,
        _default(given),
        given.name if given.name in _REFERRED and given.name != entity.name else None,
        suggests_enabled=entity is RESOURCES,
        options=USUAL_VALUES.get((entity.name, given.name), ()),
        unit=unit_of(entity.name, given.name),
        group=group_of(entity.name, given.name),
        is_list=kind == "json",
        units=_UNITS_BY_KIND if (entity.name, given.name) == ("price", "unit") else "",
        typed_units=_TYPED_UNITS if (entity.name, given.name) == ("price", "type") else "",
        sizes=_SIZES_BY_KIND if is_new and (entity.name, given.name) == ("resource", "kind") else "",
    )


def _default(given: InputField) -> str:
    if given.shape == "switch":
        return "true" if given.default else "false"
    return str(given.default) if given.choices and given.default else ""


_OF_ORIGIN: Final = Text("Origin", "源站")
_ORIGIN: Final = (
    FormField(
        "originConfig.originIps",
        label_of("originIps"),
        Text("Addresses of the origin's servers, one per line.", "源站服务器的 IP 地址，每行一个。"),
        "lines",
        ("originConfig", "originIps"),
        group=_OF_ORIGIN,
    ),
    FormField(
        "originConfig.originDomainName",
        label_of("originDomainName"),
        Text("Domain name of the origin; empty if there is none.", "源站的域名；没有时留空。"),
        "text",
        ("originConfig", "originDomainName"),
        may_be_nothing=True,
        group=_OF_ORIGIN,
    ),
    FormField(
        "originConfig.advOriginConfigs",
        label_of("advOriginConfigs"),
        Text("Any JSON; empty if not needed.", "任意 JSON；不需要时留空。"),
        "json",
        ("originConfig", "advOriginConfigs"),
        may_be_nothing=True,
        group=_OF_ORIGIN,
    ),
)


def value_at(record: Record, path: Path) -> Any:
    value: Any = record
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def display_value(control: FormField, value: Any, zone: tzinfo) -> str:
    """Return the form text of a value."""
    if control.kind == "json":
        return "" if value is None else msgspec.json.format(json_text(value), indent=2)
    if control.kind == "switch":
        return "true" if value else "false"
    if value is None:
        return ""
    if control.kind == "lines":
        return "\n".join(value)
    if control.kind == "time":
        return local_time(value, zone)
    # Old names may contain line breaks; browsers remove them from single-line fields.
    return re.sub(r"[\r\n]", "", str(value))


def was_submitted(control: FormField, fields: Mapping[str, str]) -> bool:
    return control.name in fields or control.name + UNLIMITED_SUFFIX in fields


def submitted_value(control: FormField, fields: Mapping[str, str]) -> str:
    """Return the submitted text, normalised to the form in which it is displayed."""
    text = fields.get(control.name, "")
    if control.kind == "switch":
        return "true" if text else "false"
    if control.kind == "limit" and fields.get(control.name + UNLIMITED_SUFFIX):
        return str(UNLIMITED)
    if control.kind in ("json", "lines"):
        return text.replace("\r\n", "\n").strip()
    if control.kind == "time":
        # Browsers omit zero seconds.
        return re.sub(r"(T\d\d:\d\d):00$", r"\1", text.strip())
    return text


def local_time(text: str, zone: tzinfo) -> str:
    """Return a record's time for a datetime-local control; other text unchanged."""
    try:
        moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).astimezone(zone)
    except (ValueError, OverflowError):
        return text
    return moment.strftime("%Y-%m-%dT%H:%M:%S").removesuffix(":00")
