"""What no single field can tell: names that must be unique, names that must exist, fields that must fit each other.

A field with a problem of its own is `UNUSABLE`, and nothing is said that would need it.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from decimal import Decimal
from typing import Any

from cloudconsole.operator.cloudfile.document import Document
from cloudconsole.operator.cloudfile.model import CloudFile
from cloudconsole.operator.cloudfile.prices import Prices
from cloudconsole.operator.cloudfile.problems import Problem
from cloudconsole.operator.cloudfile.scalars import TimeText
from cloudconsole.operator.cloudfile.shape import items_of, items_of_tenants
from cloudconsole.operator.errors import Finding
from cloudconsole.operator.fitting import price_findings, resource_findings
from cloudconsole.operator.gaps import UNUSABLE
from cloudconsole.operator.models import Account, Domain
from cloudconsole.operator.words import Path, path_text


def check(model: CloudFile, document: Document) -> list[Problem]:
    """Every problem between the parts of a file."""
    findings = [
        *_duplicates(model, document),
        *_unknown_nodes(model),
        *_unknown_disabled_nodes(model),
        *_each(items_of(model, "prices"), price_findings),
        *_each(items_of_tenants(model, "accounts"), _account_findings),
        *_each(items_of_tenants(model, "domains"), _domain_findings),
        *_each(items_of_tenants(model, "resources"), resource_findings),
        *_each(items_of_tenants(model, "resources"), Prices(model).findings),
    ]
    return [Problem(document.line_of(path), path_text(path), message) for path, message in findings]


def _each(items: Iterable[tuple[Path, Any]], find: Callable[[Any], Iterator[Finding]]) -> Iterator[Finding]:
    for path, item in items:
        for inner, message in find(item):
            yield (*path, *inner), message


def _duplicates(model: CloudFile, document: Document) -> Iterator[Finding]:
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
        if key is not None and key is not UNUSABLE:
            yield (*path, field), key


def _price_keys(model: CloudFile) -> Iterator[tuple[Path, Hashable]]:
    for path, price in items_of(model, "prices"):
        key = (price.kind, price.unit, price.type, price.node, price.start)
        if UNUSABLE not in key:
            yield path, key


def _repeats(keys: Iterable[tuple[Path, Hashable]], document: Document) -> Iterator[Finding]:
    first: dict[Hashable, Path] = {}
    for path, key in keys:
        earlier = first.setdefault(key, path)
        if earlier is not path:
            yield path, f"is the same as {path_text(earlier)} in line {document.line_of(earlier)}"


def _unknown_nodes(model: CloudFile) -> Iterator[Finding]:
    if model.nodes is UNUSABLE or UNUSABLE in model.nodes:
        return
    known = {*model.nodes, None, UNUSABLE}
    for path, item in (*items_of(model, "prices"), *items_of_tenants(model, "resources")):
        if item.node not in known:
            yield (*path, "node"), "is not among the nodes of this file"


def _unknown_disabled_nodes(model: CloudFile) -> Iterator[Finding]:
    if model.nodes is UNUSABLE or UNUSABLE in model.nodes:
        return
    for path, name in items_of(model, "disabled_nodes"):
        if name not in model.nodes:
            yield path, "is not among the nodes of this file"


def _account_findings(account: Account) -> Iterator[Finding]:
    # A field that is unusable is nevertheless there.
    if account.password_hash is not None and account.password_file is not None:
        yield (), "must have only one of password_hash and password_file"
    elif account.password_hash is account.password_file is account.password is None:
        yield (), "must have password_hash or password_file"


def _domain_findings(domain: Domain) -> Iterator[Finding]:
    yield from _not_json(domain.cache_behaviors, ("cacheBehaviors",))
    yield from _not_json(domain.visit_control_rules, ("visitControlRules",))
    yield from _not_json(domain.origin_config.adv_origin_configs, ("originConfig", "advOriginConfigs"))


def _not_json(value: Any, path: Path) -> Iterator[Finding]:
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
