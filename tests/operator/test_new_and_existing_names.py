"""Validation of names, the same for single changes, cloud files and imports; existing names may stay."""

import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, update

from cloudconsole.operator.cloud_file import dump
from cloudconsole.operator.cloud_file.yaml import flow
from cloudconsole.operator.entities import ACCOUNTS, ENTITY_TYPES, NEWS, NODES, PRICES, RESOURCES, TENANTS
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.first_operator import check_names
from cloudconsole.operator.new_and_existing_names import name_problem
from cloudconsole.store import tables
from tests.operator.clouds import SECRET_HASH, SMALL, by_name, load_text, problems_of, rows
from tests.operator.entities.test_entities import NEW
from tests.operator.test_bulk_import import VOLUME, json_lines, line_problem, run_import
from tests.operator.transactions import rejected, transaction

INVALID = [
    (" ", "must not be blank"),
    ("\u3000", "must not be blank"),
    (" acme", "must not begin or end with a space"),
    ("acme\u3000", "must not begin or end with a space"),
    ("acme\u00a0corp", r"contains U\+00A0, which looks like a space: use a plain space"),
    ("a\u200ab", r"contains U\+200A, which looks like a space: use a plain space"),
    ("a\u0378", r"contains U\+0378, which is private or unassigned: remove it"),
    ("a\ue000", r"contains U\+E000, which is private or unassigned: remove it"),
    ("oper\ufff0ator", r"contains the invisible character U\+FFF0: remove it"),
    ("a\U0001d159", r"contains the invisible character U\+1D159: remove it"),
    ("\u0300a", "must not begin with a combining character"),
    ("a\tb", "must not contain control characters"),
    ("a\x85b", "must not contain control characters"),
    ("a\u2028b", "must not contain control characters"),
    ("a\u2029b", "must not contain control characters"),
    ("a\u202eb", r"contains the invisible character U\+202E: remove it"),
    ("a\u200db", r"contains the invisible character U\+200D: remove it"),
    ("\ufeffa", r"contains the invisible character U\+FEFF: remove it"),
    ("\u3164", r"contains the invisible character U\+3164: remove it"),
    ("a\ufe0f", r"contains the invisible character U\+FE0F: remove it"),
    ("a\U000e0041", r"contains the invisible character U\+E0041: remove it"),
    ("cafe\u0301", r"must be in Unicode's composed form \(NFC\)"),
]
VALID = ["acme", "Acme Ltd.", "caf\u00e9", "上线 了", "Ωmega", "naïve_1", "a\u3000b", "دبي", "🚀"]
FIELDS: list[tuple[str, str]] = [
    ("tenant", "name"),
    ("account", "username"),
    ("node", "name"),
    ("resource", "id"),
    ("resource", "name"),
    ("flavor", "name"),
    ("price", "type"),
    ("domain", "name"),
    ("domain", "serviceAreas"),
    ("domain", "serviceType"),
    ("domain", "cname"),
    ("domain", "status"),
    ("news", "title"),
]
BY_NAME = {entity.name: entity for entity in ENTITY_TYPES}


@pytest.fixture
def store(engine_with: Callable[[str], Engine]) -> Engine:
    return engine_with(SMALL)


@pytest.mark.parametrize("name", VALID)
def test_valid_name_is_accepted(name: str) -> None:
    assert name_problem(name) is None


@pytest.mark.parametrize(("name", "message"), INVALID)
def test_single_change_rejects_invalid_name(store: Engine, name: str, message: str) -> None:
    with rejected(store, f"name: {message}") as tx:
        TENANTS.add(tx, {"name": name})
    with rejected(store, f"name: {message}") as tx:
        TENANTS.change(tx, "demo", {"name": name})


@pytest.mark.parametrize(("entity", "field"), FIELDS)
def test_every_name_field_is_validated(store: Engine, entity: str, field: str) -> None:
    with rejected(store, f"{field}: contains the invisible character U\\+202E") as tx:
        BY_NAME[entity].add(tx, NEW[entity] | {field: "a\u202eb"})


@pytest.mark.parametrize("entity", ["url", "news"])
def test_url_with_invisible_character_is_rejected(store: Engine, entity: str) -> None:
    with rejected(store, "url: contains the invisible character U\\+200B") as tx:
        BY_NAME[entity].add(tx, NEW[entity] | {"url": "https://exa\u200bmple.com/"})


@pytest.mark.parametrize(("name", "message"), INVALID)
def test_cloud_file_rejects_invalid_name(tmp_path: Path, name: str, message: str) -> None:
    text = f"version: 1\nnodes: [{flow(name)}]\ntenants:\n- name: {flow(name)}\n"
    found = problems_of(tmp_path, text)
    assert [(problem.line, problem.path) for problem in found] == [(2, "nodes[0]"), (4, "tenants[0].name")]
    assert {problem.message for problem in found} == {name_problem(name)}


@pytest.mark.parametrize(("name", "message"), INVALID)
def test_import_rejects_invalid_name(store: Engine, name: str, message: str) -> None:
    assert line_problem(store, name=name) == f"name: {name_problem(name)}"


def test_first_operator_must_have_a_valid_name() -> None:
    with pytest.raises(OperatorError, match="--username: must not begin or end with a space"):
        check_names(username="ann ", tenant="provider")


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
def test_valid_names_are_composed_and_visible(name: str) -> None:
    if name_problem(name) is None:
        assert name == unicodedata.normalize("NFC", name).strip()
        assert not any(unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") for character in name)


# Existing names

OLD = "old\u202e name "


def put(engine: Engine, table: Any, column: str, value: str, **where: object) -> None:
    """Store a name that an earlier version may have accepted."""
    ((key, match),) = where.items()
    with engine.begin() as connection:
        connection.execute(update(table).where(table.c[key] == match).values({column: value}))


@pytest.fixture
def old(store: Engine) -> Engine:
    """A store with names that would be rejected now."""
    put(store, tables.tenants, "name", OLD, name="demo")
    put(store, tables.nodes, "name", OLD, name="hk-1")
    put(store, tables.prices, "type", OLD, node_id=1)
    put(store, tables.accounts, "username", OLD, username="ann")
    put(store, tables.resources, "name", OLD, id="v-1")
    put(store, tables.news, "title", OLD, id=1)
    put(store, tables.domains, "origin_domain_name", OLD, id="206813")
    put(store, tables.urls, "url", "https://\u200bexample.com/", id="url-ab12cd34")
    return store


def test_entities_with_existing_names_can_be_shown_and_changed(old: Engine) -> None:
    with transaction(old, force=True) as tx:
        assert TENANTS.show(tx, OLD)["name"] == OLD
        assert TENANTS.disable(tx, OLD).changed
        assert TENANTS.enable(tx, OLD).changed
        assert ACCOUNTS.change(tx, OLD, {"role": "operator"}).changed
        assert ACCOUNTS.reset_password(tx, OLD, SECRET_HASH).changed
        assert RESOURCES.change(tx, "v-1", {"size": 101}).changed
        assert RESOURCES.end(tx, "v-1").changed
        assert NEWS.change(tx, "1", {"url": "https://news.example.com/2"}).changed
        assert NODES.disable(tx, OLD).changed
        assert PRICES.change(tx, f"volume:{OLD}/gb/2026-01-01/{OLD}", {"price": "1"}).changed
        assert TENANTS.change(tx, OLD, {"name": "new"}).changed
    assert by_name(old, tables.tenants).keys() == {"new", "other"}


def test_existing_names_can_be_referred_to(old: Engine) -> None:
    with transaction(old) as tx:
        volume = {"id": "v-8", "kind": "volume", "name": "more", "size": 1}
        assert RESOURCES.add(tx, {**volume, "tenant": OLD, "node": OLD}).changed
    assert run_import(old, json_lines(VOLUME | {"tenant": OLD, "node": OLD})).added == 1


def test_existing_name_does_not_exempt_another(old: Engine) -> None:
    with rejected(old, "name: contains the invisible character") as tx:
        TENANTS.change(tx, OLD, {"name": "x\u202e"})
    with rejected(old, "name: contains the invisible character") as tx:
        NODES.change(tx, "hk-2", {"name": OLD})


def test_dump_with_existing_names_loads_into_its_store(old: Engine, tmp_path: Path) -> None:
    before = rows(old, tables.tenants)
    assert not load_text(old, tmp_path, dump(old)).changed
    assert rows(old, tables.tenants) == before


def test_dump_with_existing_names_is_rejected_elsewhere(old: Engine, tmp_path: Path) -> None:
    paths = {problem.path for problem in problems_of(tmp_path, dump(old))}
    assert paths == {
        "nodes[1]",
        "prices[2].type",
        "news[0].title",
        "urls[0].url",
        "tenants[0].name",
        "tenants[0].accounts[1].username",
        "tenants[0].domains[0].originConfig.originDomainName",
        "tenants[0].resources[2].name",
    }


def test_imported_line_with_existing_name_is_skipped(old: Engine) -> None:
    line = VOLUME | {"tenant": OLD, "node": OLD}
    run_import(old, json_lines(line))
    put(old, tables.resources, "name", OLD, id="v-9")
    assert run_import(old, json_lines(line | {"name": OLD})).passed == 1
