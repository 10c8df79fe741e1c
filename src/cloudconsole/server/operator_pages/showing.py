"""Records for people to read: the columns of a list, the state of one, what was just done to it."""

from typing import Final, NamedTuple

from cloudconsole.operator.nouns import DOMAINS, NEWS, QUOTAS, RESOURCES, Noun
from cloudconsole.operator.nouns.inputs import Input, Shape
from cloudconsole.operator.nouns.wording import SWITCHED
from cloudconsole.operator.records import Record
from cloudconsole.server.operator_pages.controls import label_of
from cloudconsole.server.operator_pages.deeds import ENDED
from cloudconsole.server.operator_pages.rendering import link


class Column(NamedTuple):
    name: str
    label: str
    shape: Shape
    is_limit: bool = False


def columns_of(noun: Noun) -> tuple[Column, ...]:
    """What a list shows besides keys and states."""
    return tuple(
        column_of(noun, given)
        for given in noun.inputs()
        if given.shape != "json" and given.name not in (noun.key, *SWITCHED)
    )


def column_of(noun: Noun, given: Input) -> Column:
    return Column(given.name, label_of(given.name), given.shape, noun is QUOTAS and given.shape == "number")


def state_of(noun: Noun, record: Record, now: str) -> str | None:
    """What is unlike the usual about one; times are texts that sort."""
    if noun is DOMAINS:
        return None if record["enabled"] else "not in service"
    if noun is NEWS:
        if record.get("disabled"):
            return "withdrawn"
        return "still to appear" if record["date"] > now else None
    if noun is RESOURCES:
        ended = record.get("ended")
        if ended is not None:
            return ENDED if ended <= now else "will end"
        return "still to start" if record["started"] > now else None
    return "disabled" if record.get("disabled") else None


def related_to(noun: Noun, key: str, record: Record) -> list[tuple[str, str]]:
    """Where to go from one: words and addresses."""
    found: list[tuple[str, str]] = []
    if noun.name in ("tenant", "quota"):
        found += [(plural, link(f"{name}/", tenant=key)) for name, plural in _OF_TENANTS.items()]
        other = ("quotas", "quota") if noun.name == "tenant" else ("tenant", "tenant")
        found.insert(
            0, (f"its {other[0]}" if other[0] == "quotas" else "the tenant", link(f"{other[1]}/one/", key=key))
        )
    if noun.name == "node":
        found += [("its resources", link("resource/", node=key)), ("its prices", link("price/", node=key))]
    for name in ("tenant", "node"):
        if noun.name not in (name, "quota") and record.get(name) is not None:
            found.append((f"{name} {record[name]}", link(f"{name}/one/", key=record[name])))
    if noun.name == "account":
        found.append(("its logins", link("audit/", trail="access", actor=key)))
    return [*found, ("its changes in the audit trail", link("audit/", subject=key, change=f"{noun.name}."))]


_OF_TENANTS: Final = {
    "account": "its accounts",
    "resource": "its resources",
    "domain": "its domains",
    "url": "its URLs",
}
