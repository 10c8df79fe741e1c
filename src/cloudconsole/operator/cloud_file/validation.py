"""Checks across a cloud file and against the store: duplicates, references, prices, quotas."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from decimal import Decimal
from itertools import product
from typing import Any, Final

from sqlalchemy import Connection, select

from cloudconsole.core.resources import PRICED_UNITS
from cloudconsole.operator.cloud_file.model import CloudFile, items_of, items_of_tenants
from cloudconsole.operator.cloud_file.table_changes import Changes, rows_of
from cloudconsole.operator.cloud_file.yaml import Document, TimeText
from cloudconsole.operator.entity_models import Account, Domain, Price, Resource, price_errors, resource_errors
from cloudconsole.operator.errors import FieldError, FileProblem, OperatorError, Path, format_path
from cloudconsole.operator.invalid_placeholder import INVALID
from cloudconsole.operator.messages import Message, joined
from cloudconsole.operator.quota_check import QuotaHeadroom, over_quota_message, requested_amounts
from cloudconsole.operator.resource_and_price_rules import disabled_error, unpriced_problem
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.store.tables import tenants


def reject_disabled(connection: Connection, resources: Changes, *, tenants: Changes, nodes: Changes) -> None:
    """Reject new resources of disabled tenants or nodes; called after these are written and before any is removed."""
    errors = [
        Message(
            "{error}, such as {resource}: enable it in the file, or remove them",
            "{error}，例如 {resource}：请在文件中启用，或删除这些资源",
            error=disabled_error(thing, name),
            resource=resource,
        )
        for thing, changes in (("tenant", tenants), ("node", nodes))
        for name, resource in _first_new_resources(resources, f"{thing}_id", _disabled(connection, changes)).items()
    ]
    if errors:
        raise OperatorError(joined(errors))


def _disabled(connection: Connection, changes: Changes) -> dict[int, str]:
    """Return the names by id of rows that were disabled before the load and still are.

    Rows that the file adds or disables may get resources in the same load: otherwise a dump would not load into a
    new store.
    """
    newly_disabled = {after["name"] for before, after in changes.written() if before is None or not before["disabled"]}
    rows = rows_of(connection, changes.table)
    return {row["id"]: row["name"] for row in rows if row["disabled"] and row["name"] not in newly_disabled}


def _first_new_resources(resources: Changes, column: str, disabled: dict[int, str]) -> dict[str, str]:
    """Return the first resource added or moved to each disabled tenant or node, by the name of the latter."""
    first: dict[str, str] = {}
    for before, after in resources.written():
        target = after[column]
        if target in disabled and (before is None or before[column] != target):
            first.setdefault(disabled[target], after["id"])
    return first


_EVERYWHERE: Final = None
_ANYWHERE: Final = INVALID
_ANY_PRICE: Final[Price] = INVALID


class Prices:
    """The start of each kind's first price per node, on all nodes, and on any node.

    An invalid price counts as every price it could become, so that it causes no further errors.
    """

    def __init__(self, model: CloudFile) -> None:
        self._nodes = frozenset(model.nodes) - {INVALID}
        self._starts: dict[str, dict[Any, int]] = {kind: {} for kind in PRICED_UNITS}
        for price in [_ANY_PRICE] if model.prices is INVALID else model.prices:
            self._add(price)

    def errors(self, resource: Resource) -> Iterator[FieldError]:
        """Yield an error if a resource certainly has no price when it starts."""
        if INVALID in (resource.kind, resource.started) or resource.node is None:
            return
        node = resource.node if resource.node in self._nodes else _ANYWHERE
        starts = self._starts.get(resource.kind, {})
        problem = unpriced_problem(resource.kind, node, resource.started, starts)
        if problem is not None:
            yield ("started",), problem

    def _add(self, price: Price) -> None:
        is_kind_known = price.kind is not INVALID and not any(price_errors(price))
        if is_kind_known and price.unit is not INVALID and price.type not in (None, INVALID):
            # Resources in a file have no type.
            return
        kinds = [price.kind] if is_kind_known else PRICED_UNITS
        node = price.node if price.node in self._nodes else _EVERYWHERE
        start = 0 if price.start is INVALID else price.start
        for kind, location in product(kinds, (node, _ANYWHERE)):
            starts = self._starts[kind]
            starts[location] = min(start, starts.get(location, start))


def check(model: CloudFile, document: Document) -> list[FileProblem]:
    """Return every problem that concerns several parts of a file."""
    errors = [
        *_duplicates(model, document),
        *_unknown_nodes(model),
        *_unknown_disabled_nodes(model),
        *_each(items_of(model, "prices"), price_errors),
        *_each(items_of_tenants(model, "accounts"), _account_errors),
        *_each(items_of_tenants(model, "domains"), _domain_errors),
        *_each(items_of_tenants(model, "resources"), resource_errors),
        *_each(items_of_tenants(model, "resources"), Prices(model).errors),
    ]
    return [FileProblem(document.line_of(path), format_path(path), message) for path, message in errors]


def _each(items: Iterable[tuple[Path, Any]], find: Callable[[Any], Iterator[FieldError]]) -> Iterator[FieldError]:
    for path, item in items:
        for inner, message in find(item):
            yield (*path, *inner), message


def _duplicates(model: CloudFile, document: Document) -> Iterator[FieldError]:
    for keys in (
        items_of(model, "nodes"),
        items_of(model, "disabled_nodes"),
        _keys(items_of(model, "flavors"), "id"),
        _keys(items_of(model, "flavors"), "name"),
        _price_keys(model),
        _keys(items_of(model, "news"), "id"),
        _keys((*items_of(model, "urls"), *items_of_tenants(model, "urls")), "id"),
        _keys(items_of(model, "tenants"), "name"),
        _keys(items_of(model, "tenants"), "project"),
        _keys(items_of_tenants(model, "accounts"), "username"),
        _keys(items_of_tenants(model, "domains"), "id"),
        _keys(items_of_tenants(model, "resources"), "id"),
    ):
        yield from _repeats(keys, document)


def _keys(items: Iterable[tuple[Path, Any]], field: str) -> Iterator[tuple[Path, Hashable]]:
    for path, item in items:
        key = getattr(item, field)
        if key is not None and key is not INVALID:
            yield (*path, field), key


def _price_keys(model: CloudFile) -> Iterator[tuple[Path, Hashable]]:
    for path, price in items_of(model, "prices"):
        key = (price.kind, price.unit, price.type, price.node, price.start)
        if INVALID not in key:
            yield path, key


def _repeats(keys: Iterable[tuple[Path, Hashable]], document: Document) -> Iterator[FieldError]:
    first: dict[Hashable, Path] = {}
    for path, key in keys:
        earlier = first.setdefault(key, path)
        if earlier is not path:
            yield (
                path,
                Message(
                    "duplicates {earlier} on line {line}",
                    "与第 {line} 行的 {earlier} 重复",
                    earlier=format_path(earlier),
                    line=document.line_of(earlier),
                ),
            )


_UNLISTED: Final = Message("is not listed under nodes in this file", "未列在此文件的 nodes 中")


def _unknown_nodes(model: CloudFile) -> Iterator[FieldError]:
    if model.nodes is INVALID or INVALID in model.nodes:
        return
    known = {*model.nodes, None, INVALID}
    for path, item in (*items_of(model, "prices"), *items_of_tenants(model, "resources")):
        if item.node not in known:
            yield (*path, "node"), _UNLISTED


def _unknown_disabled_nodes(model: CloudFile) -> Iterator[FieldError]:
    if model.nodes is INVALID or INVALID in model.nodes:
        return
    for path, name in items_of(model, "disabled_nodes"):
        if name not in model.nodes:
            yield path, _UNLISTED


def _account_errors(account: Account) -> Iterator[FieldError]:
    # An invalid field counts as present.
    if account.password_hash is not None and account.password_file is not None:
        yield (
            (),
            Message(
                "must have only one of password_hash and password_file", "password_hash 和 password_file 只能有一个"
            ),
        )
    elif account.password_hash is account.password_file is account.password is None:
        yield (), Message("must have password_hash or password_file", "必须有 password_hash 或 password_file")


def _domain_errors(domain: Domain) -> Iterator[FieldError]:
    yield from _not_json(domain.cache_behaviors, ("cacheBehaviors",))
    yield from _not_json(domain.visit_control_rules, ("visitControlRules",))
    yield from _not_json(domain.origin_config.adv_origin_configs, ("originConfig", "advOriginConfigs"))


def _not_json(value: Any, path: Path) -> Iterator[FieldError]:
    if isinstance(value, TimeText):
        yield (
            path,
            Message(
                "is a date or time, which JSON does not support: put it in quotes to make it text",
                "是日期或时间，JSON 不支持：请加引号写成文本",
            ),
        )
    elif isinstance(value, Decimal) and not value.is_finite():
        yield path, Message("is not a valid JSON number", "不是有效的 JSON 数字")
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _not_json(part, (*path, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _not_json(part, (*path, index))


_TENANTS_PER_QUERY: Final = 10_000
"""Below the databases' limits on parameters per statement."""


def reject_over_quota(tx: OperatorTransaction, resources: Changes) -> None:
    """Reject changes, already written together with the counters, that exceed a tenant's quota."""
    if tx.force:
        return
    requested = _requested(tx, resources)
    ids = sorted(requested)
    over = []
    for start in range(0, len(ids), _TENANTS_PER_QUERY):
        batch = ids[start : start + _TENANTS_PER_QUERY]
        headroom = QuotaHeadroom(tx, batch)
        names = tx.connection.execute(select(tenants.c.id, tenants.c.name).where(tenants.c.id.in_(batch)))
        for tenant_id, name in names:
            exceeded = headroom.exceeded(tenant_id, requested[tenant_id])
            if exceeded:
                problem = over_quota_message(exceeded)
                over.append(
                    Message("the tenant {name} is {problem}", "租户 {name} {problem}", name=name, problem=problem)
                )
    if over:
        tx.ask(joined(over))


def _requested(tx: OperatorTransaction, resources: Changes) -> dict[int, Counter[str]]:
    """Return by tenant what new and grown resources use beyond their previous use."""
    requested: dict[int, Counter[str]] = {}
    for before, resource in resources.written():
        # A resource moved from another tenant is new to this one.
        known = before if before is not None and before["tenant_id"] == resource["tenant_id"] else None
        more = requested_amounts(resource, known, tx.now)
        if more:
            requested.setdefault(resource["tenant_id"], Counter()).update(more)
    return requested
