"""Ways to list fewer, which nouns have in common."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Table

from cloudconsole.operator.conditions import begins_with
from cloudconsole.operator.desk import Desk
from cloudconsole.operator.errors import Unfit
from cloudconsole.operator.nouns.places import find_node, find_tenant


class Filter(NamedTuple):
    """One way to list fewer: its help, and the condition for a value."""

    help: str
    condition: Callable[[Desk, Any], ColumnElement[bool]]
    is_switch: bool = False
    choices: tuple[str, ...] = ()
    """All that it may be, where that is little."""


def prefix_filter(column: ColumnElement[Any], what: str) -> Filter:
    return Filter(f"only those whose {what} begins so", lambda _desk, prefix: begins_with(column, prefix))


def switch_filter(column: ColumnElement[bool], help_text: str) -> Filter:
    return Filter(help_text, lambda _desk, _value: column, is_switch=True)


def value_filter(column: ColumnElement[Any], help_text: str) -> Filter:
    return Filter(help_text, lambda _desk, value: column == value)


def name_filters(table: Table) -> Mapping[str, Filter]:
    """Of what has a name and can be disabled."""
    return {
        "prefix": prefix_filter(table.c.name, "name"),
        "disabled": switch_filter(table.c.disabled, "only the disabled ones"),
    }


def tenant_filter(column: ColumnElement[Any]) -> Filter:
    return Filter("only this tenant's", lambda desk, name: column == find_tenant(desk, name)["id"])


def node_filter(column: ColumnElement[Any], help_text: str) -> Filter:
    return Filter(help_text, lambda desk, name: column == find_node(desk, name)["id"])


def kind_filter(column: ColumnElement[Any], help_text: str, kinds: Collection[str]) -> Filter:
    def condition(_desk: Desk, kind: str) -> ColumnElement[bool]:
        if kind not in kinds:
            raise Unfit([(("kind",), f"there is no kind {kind}: give {', '.join(kinds)}")])
        return column == kind

    return Filter(help_text, condition, choices=tuple(kinds))
