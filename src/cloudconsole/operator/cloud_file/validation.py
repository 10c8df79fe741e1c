"""Uniqueness, references, prices, disabled targets, quotas."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from decimal import Decimal
from itertools import product
from typing import Any, Final

from sqlalchemy import Connection, select

from cloudconsole.core.resources import PRICED_UNITS
from cloudconsole.operator.cloud_file.diff import Changes, rows_of
from cloudconsole.operator.cloud_file.errors import Problem
from cloudconsole.operator.cloud_file.model import CloudFile, items_of, items_of_tenants
from cloudconsole.operator.cloud_file.yaml import Document, TimeText
from cloudconsole.operator.entities.quotas import QuotaHeadroom, over_quota_message, requested_amounts
from cloudconsole.operator.errors import FieldError, OperatorError, OverridableError
from cloudconsole.operator.models import Account, Domain, Price, Resource, price_errors, resource_errors
from cloudconsole.operator.rules import disabled_error, unpriced_problem
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.operator.validation import INVALID, Path, format_path
from cloudconsole.store.tables import tenants


def reject_disabled(connection: Connection, resources: Changes, *, tenants: Changes, nodes: Changes) -> None:
    """Refuse resources that come to a closed tenant or node; these have been written, and none removed yet."""
    refusals = [
        f"{disabled_error(thing, name)}, such as {resource}: enable it in the file, or leave them out"
        for thing, places in (("tenant", tenants), ("node", nodes))
        for name, resource in _first_arrivals(resources, f"{thing}_id", _closed(connection, places)).items()
    ]
    if refusals:
        raise OperatorError("; ".join(refusals))


def _closed(connection: Connection, places: Changes) -> dict[int, str]:
    """The names of those that were disabled before the load and still are, by id.

    One that the file adds or disables may have taken its resources first, as with single changes: otherwise a dump
    would not load into a new store.
    """
    fresh = {after["name"] for before, after in places.written() if before is None or not before["disabled"]}
    found = rows_of(connection, places.table)
    return {row["id"]: row["name"] for row in found if row["disabled"] and row["name"] not in fresh}


def _first_arrivals(resources: Changes, column: str, closed: dict[int, str]) -> dict[str, str]:
    """The first resource that is new at each closed place, or moved there, by the place's name."""
    found: dict[str, str] = {}
    for before, after in resources.written():
        place = after[column]
        if place in closed and (before is None or before[column] != place):
            found.setdefault(closed[place], after["id"])
    return found


_EVERYWHERE: Final = None
_ANYWHERE: Final = INVALID
_ANY_PRICE: Final[Price] = INVALID


class Prices:
    """From when on each kind has a price on a node, everywhere, and anywhere at all.

    Where a price has a problem, it counts as all that it may be once that is solved.
    """

    def __init__(self, model: CloudFile) -> None:
        self._nodes = frozenset(model.nodes) - {INVALID}
        self._starts: dict[str, dict[Any, int]] = {kind: {} for kind in PRICED_UNITS}
        for price in [_ANY_PRICE] if model.prices is INVALID else model.prices:
            self._add(price)

    def findings(self, resource: Resource) -> Iterator[FieldError]:
        """What is said of a resource that surely has no price when it starts."""
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
            # No resource of a file has a type.
            return
        kinds = [price.kind] if is_kind_known else PRICED_UNITS
        node = price.node if price.node in self._nodes else _EVERYWHERE
        start = 0 if price.start is INVALID else price.start
        for kind, place in product(kinds, (node, _ANYWHERE)):
            starts = self._starts[kind]
            starts[place] = min(start, starts.get(place, start))


def check(model: CloudFile, document: Document) -> list[Problem]:
    """Every problem between the parts of a file."""
    findings = [
        *_duplicates(model, document),
        *_unknown_nodes(model),
        *_unknown_disabled_nodes(model),
        *_each(items_of(model, "prices"), price_errors),
        *_each(items_of_tenants(model, "accounts"), _account_findings),
        *_each(items_of_tenants(model, "domains"), _domain_findings),
        *_each(items_of_tenants(model, "resources"), resource_errors),
        *_each(items_of_tenants(model, "resources"), Prices(model).findings),
    ]
    return [Problem(document.line_of(path), format_path(path), message) for path, message in findings]


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
            yield path, f"is the same as {format_path(earlier)} in line {document.line_of(earlier)}"


def _unknown_nodes(model: CloudFile) -> Iterator[FieldError]:
    if model.nodes is INVALID or INVALID in model.nodes:
        return
    known = {*model.nodes, None, INVALID}
    for path, item in (*items_of(model, "prices"), *items_of_tenants(model, "resources")):
        if item.node not in known:
            yield (*path, "node"), "is not among the nodes of this file"


def _unknown_disabled_nodes(model: CloudFile) -> Iterator[FieldError]:
    if model.nodes is INVALID or INVALID in model.nodes:
        return
    for path, name in items_of(model, "disabled_nodes"):
        if name not in model.nodes:
            yield path, "is not among the nodes of this file"


def _account_findings(account: Account) -> Iterator[FieldError]:
    # A field that is unusable is nevertheless there.
    if account.password_hash is not None and account.password_file is not None:
        yield (), "must have only one of password_hash and password_file"
    elif account.password_hash is account.password_file is account.password is None:
        yield (), "must have password_hash or password_file"


def _domain_findings(domain: Domain) -> Iterator[FieldError]:
    yield from _not_json(domain.cache_behaviors, ("cacheBehaviors",))
    yield from _not_json(domain.visit_control_rules, ("visitControlRules",))
    yield from _not_json(domain.origin_config.adv_origin_configs, ("originConfig", "advOriginConfigs"))


def _not_json(value: Any, path: Path) -> Iterator[FieldError]:
    if isinstance(value, TimeText):
        yield path, "is a date or time, which JSON does not have: put it in quotes to make it text"
    elif isinstance(value, Decimal) and not value.is_finite():
        yield path, "is no number that JSON has"
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _not_json(part, (*path, key))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from _not_json(part, (*path, place))


_AT_ONCE: Final = 10_000
"""So many tenants in one question: a statement takes only so many values."""


def reject_over_quota(tx: OperatorTransaction, resources: Changes) -> None:
    """Refuse changes that have been written, totals included, if they take a tenant over a quota."""
    if tx.force:
        return
    asked = _asked(tx, resources)
    ids = sorted(asked)
    over = []
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        context = QuotaHeadroom(tx, some)
        names = tx.connection.execute(select(tenants.c.id, tenants.c.name).where(tenants.c.id.in_(some)))
        for tenant_id, name in names:
            exceeded = context.exceeded(tenant_id, asked[tenant_id])
            if exceeded:
                over.append(f"the tenant {name} is {over_quota_message(exceeded)}")
    if over:
        raise OverridableError("; ".join(over))


def _asked(tx: OperatorTransaction, resources: Changes) -> dict[int, Counter[str]]:
    """What all the new and grown ones of each tenant take beyond what they took."""
    asked: dict[int, Counter[str]] = {}
    for before, resource in resources.written():
        # One that comes from another tenant is new here.
        known = before if before is not None and before["tenant_id"] == resource["tenant_id"] else None
        more = requested_amounts(resource, known, tx.now)
        if more:
            asked.setdefault(resource["tenant_id"], Counter()).update(more)
    return asked
