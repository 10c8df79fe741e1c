"""Records for people to read: the columns of a list, the state of one, what was just done to it."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from cloudconsole.core.resources import QUOTA_DEFAULTS, QUOTA_USES
from cloudconsole.operator.entities import DOMAINS, NEWS, PRICES, QUOTAS, RESOURCES, EntityType
from cloudconsole.operator.entities.base import TOGGLE_FIELDS
from cloudconsole.operator.entities.schema import InputField, InputType
from cloudconsole.operator.serializers import Record
from cloudconsole.server.admin_ui.actions import ENDED
from cloudconsole.server.admin_ui.labels import label_of, unit_of
from cloudconsole.server.admin_ui.templating import link

IN_FORCE: Final = "in force"


class Column(NamedTuple):
    name: str
    label: str
    shape: InputType
    is_limit: bool = False
    unit: str = ""
    is_choice: bool = False


_UNLISTED: Final[Mapping[str, Collection[str]]] = {
    # What a price is of is in its name.
    "price": ("kind", "unit", "type", "node", "from"),
    "domain": ("comment", "cname", "queryStringSettings"),
    "quota": QUOTA_DEFAULTS.keys() - QUOTA_USES.keys(),
}
"""What a list has no room for, and is on the page of one."""


@cache
def columns_of(entity: EntityType) -> tuple[Column, ...]:
    """What a list shows besides keys and states."""
    return tuple(
        column_of(entity, given)
        for given in entity.inputs()
        if given.shape != "json" and given.name not in (entity.key, *TOGGLE_FIELDS, *_UNLISTED.get(entity.name, ()))
    )


def column_of(entity: EntityType, given: InputField) -> Column:
    label, unit = label_of(given.name, entity.name), unit_of(entity.name, given.name)
    is_number = given.shape == "number"
    return Column(
        given.name, label, "number" if unit else given.shape, entity is QUOTAS and is_number, unit, bool(given.choices)
    )


def state_of(entity: EntityType, record: Record, now: str) -> str | None:
    """What is unlike the usual about one; times are texts that sort."""
    if entity is DOMAINS:
        return None if record["enabled"] else "not in service"
    if entity is NEWS:
        if record.get("disabled"):
            return "withdrawn"
        return "still to appear" if record["date"] > now else None
    if entity is PRICES:
        return "still to come" if record["from"] > now else None
    if entity is RESOURCES:
        ended = record.get("ended")
        if ended is not None:
            return ENDED if ended <= now else "will end"
        return "still to start" if record["started"] > now else None
    return "disabled" if record.get("disabled") else None


def price_states(records: Sequence[Record], now: str) -> list[str | None]:
    """Of prices in their order: of those alike but for the moment, the last that has come is in force."""
    states: list[str | None] = []
    for record, following in zip(records, [*records, {}][1:], strict=True):
        is_followed = all(record.get(name) == following.get(name) for name in ("kind", "unit", "type", "node"))
        is_over = is_followed and following["from"] <= now
        states.append("still to come" if record["from"] > now else None if is_over else IN_FORCE)
    return states


def add_links_for(entity: EntityType, key: str) -> list[tuple[str, str]]:
    """What can be added to one: words and addresses."""
    return [
        (words, link(f"{name}/add/", **{entity.name: key})) for name, words in _ADDED_TO.get(entity.name, {}).items()
    ]


_ADDED_TO: Final = {
    "tenant": {
        "account": "Add an account",
        "resource": "Add a resource",
        "domain": "Add a domain",
        "url": "Add a URL",
    },
    "node": {"resource": "Add a resource", "price": "Add a price"},
}


def related_links_for(entity: EntityType, key: str, record: Record) -> list[tuple[str, str]]:
    """Where to go from one: words and addresses."""
    found: list[tuple[str, str]] = []
    if entity.name in ("tenant", "quota"):
        found += [(plural, link(f"{name}/", tenant=key)) for name, plural in _OF_TENANTS.items()]
        other = ("quotas", "quota") if entity.name == "tenant" else ("tenant", "tenant")
        found.insert(
            0, (f"its {other[0]}" if other[0] == "quotas" else "the tenant", link(f"{other[1]}/one/", key=key))
        )
    if entity.name == "node":
        found += [("its resources", link("resource/", node=key)), ("its prices", link("price/", node=key))]
    for name in ("tenant", "node"):
        if entity.name not in (name, "quota") and record.get(name) is not None:
            found.append((f"{name} {record[name]}", link(f"{name}/one/", key=record[name])))
    if entity.name == "account":
        found.append(("its logins", link("audit/", trail="access", actor=key)))
    return [*found, ("its changes in the audit trail", link("audit/", subject=key, change=f"{entity.name}."))]


_OF_TENANTS: Final = {
    "account": "its accounts",
    "resource": "its resources",
    "domain": "its domains",
    "url": "its URLs",
}
