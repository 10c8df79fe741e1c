"""Change parts of the content, given as sections of a cloud file."""

import re
from decimal import Decimal
from typing import Any, Final

from cloudconsole.operator.cloud_file.dumper import dump
from cloudconsole.operator.cloud_file.loader import apply_cloud_file
from cloudconsole.operator.cloud_file.model import read_model
from cloudconsole.operator.cloud_file.validation import check
from cloudconsole.operator.cloud_file.yaml import Document, read_document
from cloudconsole.operator.errors import FileProblem, OperatorError
from cloudconsole.operator.new_and_existing_names import StoredNames
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.passwords import hash_password

Content = dict[str, Any]

MAX_PROBLEMS: Final = 5

_TENANT_INDEX: Final = re.compile(r"^tenants\[([0-9]+)\]")
_INDEX: Final = re.compile(r"\b(nodes|flavors|prices|news|urls)\[([0-9]+)\]")
_LINE: Final = re.compile(r" on line [0-9]+")


def load_content(settings: Settings, part: Content, *, adds: bool, now: int) -> None:
    """Change the store: the given sections replace those of the store, or are added to them.

    Tenants are changed by name: their given fields replace, or are added. What is not given stays.
    Raises `OperatorError` for invalid content, which changes nothing.
    """
    with settings.store.opened("cloud") as engine:
        current = read_document(dump(engine).encode()).data or {}
        document = Document(_changed(current, _prepared(part), adds=adds))
        file, problems = read_model(document, settings.zone, StoredNames(engine))
        problems += check(file, document)
        if problems:
            before = current if adds else {}
            shown = [_describe(problem, document.data or {}, before) for problem in problems[:MAX_PROBLEMS]]
            more = len(problems) - len(shown)
            raise OperatorError("; ".join([*shown, *([f"and {more} more"] if more else [])]))
        apply_cloud_file(engine, file, {}, name="test content", now=now, actor="test", zone=settings.zone, force=True)


def _changed(current: Content, part: Content, *, adds: bool) -> Content:
    sections = {name: _merged(current.get(name), value, adds=adds) for name, value in part.items() if name != "tenants"}
    tenants = part.get("tenants")
    if not isinstance(tenants, list):
        return {**current, **sections, **({"tenants": tenants} if "tenants" in part else {})}
    known = {tenant["name"]: tenant for tenant in current.get("tenants", [])}
    invalid = []
    for tenant in tenants:
        name = tenant.get("name") if isinstance(tenant, dict) else None
        if not isinstance(name, str):
            invalid.append(tenant)
            continue
        before = known.get(name, {})
        known[name] = before | {field: _merged(before.get(field), value, adds=adds) for field, value in tenant.items()}
    return {**current, **sections, "tenants": [*known.values(), *invalid]}


def _merged(before: Any, value: Any, *, adds: bool) -> Any:
    """Add to a list, or replace it; a mapping, such as quotas, always keeps its other entries."""
    if isinstance(before, dict) and isinstance(value, dict):
        return before | value
    if adds and isinstance(before, list) and isinstance(value, list):
        return before + value
    return value


def _prepared(value: Any) -> Any:
    """Convert floats, as a cloud file has exact numbers, and passwords, which it has only as hashes."""
    if isinstance(value, list):
        return [_prepared(item) for item in value]
    if isinstance(value, dict):
        prepared = {name: _prepared(item) for name, item in value.items()}
        if isinstance(prepared.get("password"), str):
            prepared["password_hash"] = hash_password(prepared.pop("password"))
        return prepared
    return Decimal(repr(value)) if isinstance(value, float) else value


def _describe(problem: FileProblem, data: Content, before: Content) -> str:
    """Name a tenant instead of its index, and items by their indices in the given content, not in the whole."""

    def given_index(item: re.Match[str]) -> str:
        index = int(item[2]) - len(before.get(item[1], []))
        return f"{item[1]}[{index}]" if index >= 0 else f"the store's {item[0]}"

    index = _TENANT_INDEX.match(problem.path)
    tenant = data["tenants"][int(index[1])] if index else {}
    named = isinstance(tenant, dict) and isinstance(tenant.get("name"), str)
    path = _TENANT_INDEX.sub(f"tenants[{tenant['name']!r}]", problem.path) if index and named else problem.path
    message = _LINE.sub("", str(problem.message))
    return _INDEX.sub(given_index, f"{path}: {message}" if path else message)
