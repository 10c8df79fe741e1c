"""Validation of names, the same for single changes, cloud files and imports; existing names may stay."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, update

from cloudconsole.operator.cloud_file import dump
from cloudconsole.operator.cloud_file.yaml import flow
from cloudconsole.operator.entities import ACCOUNTS, NEWS, NODES, PRICES, RESOURCES, TENANTS
from cloudconsole.operator.entity_models import EntityModel
from cloudconsole.operator.errors import OperatorError, ValidationError
from cloudconsole.operator.first_operator import check_names
from cloudconsole.operator.new_and_existing_names import name_problem
from cloudconsole.store import tables
from tests.operator.clouds import SECRET_HASH, by_name, load_text, problems_of, rows
from tests.operator.test_bulk_import import VOLUME, json_lines, line_problem, run_import
from tests.operator.test_entity_models import VALID, parsed
from tests.operator.transactions import rejected, transaction

INVISIBLE = "a\u202eb"
LOOKS_LIKE_SPACE = "contains U+{}, which looks like a space: use a plain space"
MEANINGLESS = "contains U+{}, which is private or unassigned: remove it"
HIDDEN = "contains the invisible character U+{}: remove it"
CONTROL = "must not contain control characters, such as tabs or line breaks"
FIELDS = {
    "Tenant": ("name",),
    "Account": ("username",),
    "Node": ("name",),
    "Resource": ("id", "name"),
    "Flavor": ("name",),
    "Price": ("type",),
    "Domain": ("name", "serviceAreas", "serviceType", "cname", "status"),
    "News": ("title", "url"),
    "UrlEntry": ("url",),
}


@pytest.mark.parametrize(
    "name", ["acme", "Acme Ltd.", "caf\u00e9", "上线 了", "Ωmega", "naïve_1", "a\u3000b", "دبي", "🚀"]
)
def test_valid_name_is_accepted(name: str) -> None:
    assert name_problem(name) is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        *((name, "must not be blank") for name in (" ", "\u3000")),
        *((name, "must not begin or end with a space") for name in (" acme", "acme\u3000")),
        *((f"a{each}b", LOOKS_LIKE_SPACE.format(f"{ord(each):04X}")) for each in "\u00a0\u200a"),
        *((f"a{each}", MEANINGLESS.format(f"{ord(each):04X}")) for each in "\u0378\ue000\ud800"),
        *((f"a{each}b", HIDDEN.format(f"{ord(each):04X}")) for each in "\ufff0\U0001d159\u202e\u200d\ufe0f\U000e0041"),
        *((each, HIDDEN.format(f"{ord(each):04X}")) for each in "\ufeff\u3164"),
        *((f"a{each}b", CONTROL) for each in "\t\x85\u2028\u2029"),
        ("\u0300a", "must not begin with a combining character: put it after a letter"),
        ("cafe\u0301", "must be in Unicode's composed form (NFC): write each letter and its accents as one character"),
    ],
)
def test_invalid_name_is_rejected(name: str, problem: str) -> None:
    assert name_problem(name) == problem


@pytest.mark.parametrize(("model", "field"), [(model, field) for model in VALID for field in FIELDS[model.__name__]])
def test_every_name_field_is_validated(model: type[EntityModel], field: str) -> None:
    value = f"https://{INVISIBLE}/" if field == "url" else INVISIBLE
    with pytest.raises(ValidationError, match=f"^{field}: contains the invisible character U\\+202E: remove it$"):
        parsed(model, {field: value})


def test_names_are_validated_in_changes_cloud_files_and_imports(small: Engine, tmp_path: Path) -> None:
    with rejected(small, "name: contains the invisible character") as tx:
        TENANTS.add(tx, {"name": INVISIBLE})
    with rejected(small, "name: contains the invisible character") as tx:
        TENANTS.change(tx, "demo", {"name": INVISIBLE})
    assert line_problem(small, name=INVISIBLE) == f"name: {HIDDEN.format('202E')}"
    text = f"version: 1\nnodes: [{flow(INVISIBLE)}]\ntenants:\n- name: {flow(INVISIBLE)}\n"
    found = [(problem.line, problem.path, problem.message) for problem in problems_of(tmp_path, text)]
    assert found == [(2, "nodes[0]", HIDDEN.format("202E")), (4, "tenants[0].name", HIDDEN.format("202E"))]


@pytest.mark.parametrize("flag", ["username", "tenant"])
def test_first_operator_must_have_valid_names(flag: str) -> None:
    names = {"username": "ann", "tenant": "provider"} | {flag: "ann "}
    with pytest.raises(OperatorError, match=f"^--{flag}: must not begin or end with a space$"):
        check_names(**names)


# Existing names

OLD = "old\u202e name "


def put(engine: Engine, table: Any, column: str, value: str, **where: object) -> None:
    """Store a name that an earlier version may have accepted."""
    ((key, match),) = where.items()
    with engine.begin() as connection:
        connection.execute(update(table).where(table.c[key] == match).values({column: value}))


@pytest.fixture
def old(small: Engine) -> Engine:
    """A store with names that would be rejected now."""
    put(small, tables.tenants, "name", OLD, name="demo")
    put(small, tables.nodes, "name", OLD, name="hk-1")
    put(small, tables.prices, "type", OLD, node_id=1)
    put(small, tables.accounts, "username", OLD, username="ann")
    put(small, tables.resources, "name", OLD, id="v-1")
    put(small, tables.news, "title", OLD, id=1)
    put(small, tables.domains, "origin_domain_name", OLD, id="206813")
    put(small, tables.urls, "url", "https://\u200bexample.com/", id="url-ab12cd34")
    return small


def test_entities_with_existing_names_can_be_shown_and_changed(old: Engine) -> None:
    with transaction(old, force=True) as tx:
        assert TENANTS.show(tx, OLD)["name"] == OLD
        assert TENANTS.disable(tx, OLD).changed
        assert TENANTS.enable(tx, OLD).changed
        assert ACCOUNTS.disable(tx, OLD).changed
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
