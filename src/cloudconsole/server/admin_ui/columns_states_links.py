"""Display of records: columns, states and links."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from cloudconsole.core.resources import KINDS, QUOTA_DEFAULTS, QUOTA_USES
from cloudconsole.operator.entities import ACCOUNTS, DOMAINS, NEWS, NODES, PRICES, QUOTAS, RESOURCES, EntityType
from cloudconsole.operator.entities.base import TOGGLE_FIELDS
from cloudconsole.operator.entities.fields_and_filters import InputField, InputType
from cloudconsole.operator.messages import Message, with_article
from cloudconsole.operator.resource_and_price_rules import SIZES, sizes_of
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.server.admin_ui.database import ACTOR_PREFIX
from cloudconsole.server.admin_ui.i18n import Label
from cloudconsole.server.admin_ui.labels import label_of, unit_of
from cloudconsole.server.admin_ui.messages import MESSAGES
from cloudconsole.server.admin_ui.names import ENTITIES, title_of
from cloudconsole.server.admin_ui.row_actions import ENDED
from cloudconsole.server.admin_ui.templating import link
from cloudconsole.spec.i18n import Text

IN_FORCE: Final = "in force"
LOCKED: Final = "locked"
"""State of an account with too many failed sign-ins; unlike the others, in the activity database."""


class Column(NamedTuple):
    name: str
    label: Label
    shape: InputType
    is_limit: bool = False
    unit: Label = ""
    is_choice: bool = False


_UNLISTED: Final[Mapping[str, Collection[str]]] = {
    "domain": ("comment", "cname", "queryStringSettings"),
    "quota": QUOTA_DEFAULTS.keys() - QUOTA_USES.keys(),
}
"""Fields shown on the detail page only."""


@cache
def columns_of(entity: EntityType) -> tuple[Column, ...]:
    """Return the columns of a list besides the state; the first leads to an entity's own page."""
    unlisted = (*TOGGLE_FIELDS, *_UNLISTED.get(entity.name, ()))
    listed = [given for given in entity.inputs() if given.shape != "json" and given.name not in unlisted]
    listed.sort(key=lambda given: given.name != entity.sort_fields()[0])
    return tuple(column_of(entity, given) for given in listed)


LAST_LOGIN: Final = Column("last_login", MESSAGES["account.last_login"], "time")
ACTIVE_RESOURCES: Final = Column("resources", MESSAGES["tenant.resources"], "number")


def listed_columns(entity: EntityType, kind: str | None) -> tuple[Column, ...]:
    """Return the columns of a list; resources of several kinds share one column for their sizes."""
    columns = columns_of(entity)
    if entity is ACCOUNTS:
        return *columns, LAST_LOGIN
    if entity is NODES:
        return *columns, ACTIVE_RESOURCES
    if entity is not RESOURCES:
        return columns
    if kind in KINDS:
        sizes = sizes_of(kind)
        return tuple(column for column in columns if column.name not in SIZES or column.name in sizes)
    return tuple(
        column._replace(shape="text", unit="") if column.name == SIZE else column
        for column in columns
        if column.name == SIZE or column.name not in SIZES
    )


SIZE: Final = "size"


def size_text(record: Record) -> Label:
    """Return the sizes of a resource of any kind, such as `2 cores · 4,096 MB · 40 GB`."""
    sizes = {name: f"{record[name]:,}" for name in SIZES if name in record}
    if record["kind"] == "instance":
        one = Text("1 core", "1 核")
        cores = one if sizes["vcpus"] == "1" else Message("{cores} cores", "{cores} 核", cores=sizes["vcpus"])
        return Message("{cores} · {ram} MB · {disk} GB", "{cores} · {ram} MB · {disk} GB", cores=cores, **sizes)
    return f"{sizes[SIZE]} GB" if SIZE in sizes else ""


def column_of(entity: EntityType, given: InputField) -> Column:
    label, unit = label_of(given.name, entity.name), unit_of(entity.name, given.name)
    is_number = given.shape == "number"
    return Column(
        given.name, label, "number" if unit else given.shape, entity is QUOTAS and is_number, unit, bool(given.choices)
    )


def state_of(entity: EntityType, record: Record, now: str) -> str | None:
    """Return the state to highlight, if any; times compare as strings."""
    if entity is DOMAINS:
        return None if record["enabled"] else "disabled"
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


_ORDINARY: Final = {"domain": "enabled", "news": "published", "price": "replaced", "resource": "running"}


def listed_state(entity: EntityType, record: Record, state: str | None) -> str:
    """Return the state for a list, which names the ordinary one as well."""
    if entity is RESOURCES and record["kind"] != "instance":
        return state or "in use"
    return state or _ORDINARY.get(entity.name, "active")


def price_states(records: Sequence[Record], now: str) -> list[str | None]:
    """Return the states of sorted prices: of those that differ only in time, the latest past one is in force."""
    states: list[str | None] = []
    for record, following in zip(records, [*records, {}][1:], strict=True):
        is_followed = all(record.get(name) == following.get(name) for name in ("kind", "unit", "type", "node"))
        is_over = is_followed and following["from"] <= now
        states.append("still to come" if record["from"] > now else None if is_over else IN_FORCE)
    return states


def add_links_for(entity: EntityType, key: str, record: Record, translation: str | None) -> list[tuple[Label, str]]:
    """Return labels and links of the entities that can be added to this one."""
    if translation is not None:
        return []
    if entity is NEWS and "language" in record:
        other = "zh" if record["language"] == "en" else "en"
        same = {"url": record["url"], "pinned": "on" if record.get("pinned") else None}
        return [(_IN_OTHER_LANGUAGE[other], link("news/add/", language=other, date=record["date"], **same))]
    return [
        (
            Message(*MESSAGES["list.add"], entity=_with_article(name)),
            link(f"{name}/add/", **{entity.name: key}),
        )
        for name in _ADDED_TO.get(entity.name, ())
    ]


def _with_article(name: str) -> Text:
    one = ENTITIES[name].one
    return Text(with_article(one.en), one.zh)


_IN_OTHER_LANGUAGE: Final = {
    "en": Text("Add it in English", "添加英文版本"),
    "zh": Text("Add it in Chinese", "添加中文版本"),
}
_THE_OTHER_LANGUAGE: Final = {
    "en": Text("The same in Chinese", "中文版本"),
    "zh": Text("The same in English", "英文版本"),
}
"""By the language of the item that leads to it."""
_ADDED_TO: Final = {"tenant": ("account", "resource", "domain", "url"), "node": ("resource", "price")}


def related_links_for(entity: EntityType, key: str, record: Record, translation: str | None) -> list[tuple[Label, str]]:
    """Return labels and links of related pages."""
    links: list[tuple[Label, str]] = []
    if translation is not None:
        links.append((_THE_OTHER_LANGUAGE[record["language"]], link("news/one/", key=translation)))
    if entity.name == "quota":
        links.append((_THE_TENANT, link("tenant/one/", key=key)))
    if entity.name == "node":
        links += [(_ITS_RESOURCES, link("resource/", node=key)), (_ITS_PRICES, link("price/", node=key))]
    for name in ("tenant", "node"):
        if entity.name not in (name, "quota") and record.get(name) is not None:
            one = ENTITIES[name].one
            entity_text = Text(title_of(one.en), one.zh)
            label = Message("{entity} {key}", "{entity} {key}", entity=entity_text, key=record[name])
            links.append((label, link(f"{name}/one/", key=record[name])))
    if entity.name == "account":
        links.append((_ITS_SIGN_INS, link("audit/", log="access", actor=key)))
        if record["role"] == "operator":
            links.append((_ITS_CHANGES, link("audit/", actor=f"{ACTOR_PREFIX}{key}")))
    # Those of quotas include changes of their tenant, whose name they have.
    change = None if entity.name == "quota" else f"{entity.name}."
    return [*links, (_CHANGES_TO_IT, link("audit/", subject=key, change=change))]


_THE_TENANT: Final = Text("Tenant", "所属租户")
_ITS_RESOURCES: Final = Text("Resources", "资源")
_ITS_PRICES: Final = Text("Prices", "价格")
_ITS_SIGN_INS: Final = Text("Sign-ins", "登录记录")
_ITS_CHANGES: Final = Text("Changes made by this account", "此账户的操作")
_CHANGES_TO_IT: Final = Text("Audit log", "审计日志")
