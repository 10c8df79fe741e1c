"""Tenants that are projects of an OpenStack: kept by operators, and made by the console when one first logs in."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from cloudconsole.operator.entities import QUOTAS, TENANTS
from cloudconsole.operator.names import name_problem, truncated_name
from cloudconsole.operator.project_tenants import CONSOLE, provision_tenant
from cloudconsole.store import tables
from tests.operator.clouds import by_name, contents, load_text, rows
from tests.operator.transactions import NOW, desk_of, last_line, refused
from tests.stores import opened

ID = "b14723e114b4411a8669c304760b0507"
PROJECT = f"{ID}@https://identity.example.com"
OTHER = f"c{ID[1:]}@https://identity.example.com"


def add(engine: Engine, name: str, **more: Any) -> None:
    with desk_of(engine) as desk:
        TENANTS.add(desk, {"name": name, **more})


# What operators keep


def test_a_tenant_may_be_a_project_which_is_kept_in_one_form(engine: Engine) -> None:
    add(engine, "acme", project=f"{ID}@HTTPS://Identity.Example.com:443/v3/")
    with desk_of(engine) as desk:
        assert TENANTS.show(desk, "acme") == {"name": "acme", "project": PROJECT}
    assert last_line(engine)["after"] == {"name": "acme", "project": PROJECT}


def test_a_project_can_be_changed_and_taken_away(engine: Engine) -> None:
    add(engine, "acme", project=PROJECT)
    with desk_of(engine) as desk:
        assert TENANTS.change(desk, "acme", {"project": OTHER}).after == {"name": "acme", "project": OTHER}
        assert TENANTS.change(desk, "acme", {"project": None}).after == {"name": "acme"}
    assert last_line(engine)["before"] == {"name": "acme", "project": OTHER}


def test_other_changes_leave_a_project_as_it_is(engine: Engine) -> None:
    add(engine, "acme", project=PROJECT)
    with desk_of(engine) as desk:
        TENANTS.disable(desk, "acme")
        after = TENANTS.change(desk, "acme", {"name": "apex"}).after
    assert after == {"name": "apex", "project": PROJECT, "disabled": True}


@pytest.mark.parametrize("address", ["https://identity.example.com/v3/v3", "https://identity.example.com///"])
def test_a_project_that_is_read_again_is_the_same(engine: Engine, address: str) -> None:
    add(engine, "acme", project=f"{ID}@{address}")
    with desk_of(engine) as desk:
        assert not TENANTS.change(desk, "acme", TENANTS.show(desk, "acme")).changed


@pytest.mark.parametrize(
    ("project", "words"),
    [
        (ID, "project: must be a project ID, an @ and the URL of its identity service"),
        ("", "project: must be a project ID, an @"),
        (
            "@https://identity.example.com",
            "project: must have a project ID of 1 to 64 letters, digits, - or _ before the @",
        ),
        (f"{ID}!@https://identity.example.com", "project: must have a project ID of 1 to 64 letters"),
        ("a b@https://identity.example.com", "project: must have a project ID of 1 to 64 letters"),
        ("é@https://identity.example.com", "project: must have a project ID of 1 to 64 letters"),
        ("a\n@https://identity.example.com", "project: must have a project ID of 1 to 64 letters"),
        ("a" * 65 + "@https://identity.example.com", "project: must have a project ID of 1 to 64 letters"),
        (f"{ID}@", "project: must have the URL of an identity service after the @"),
        (f"{ID}@identity.example.com", "project: must have the URL"),
        (f"{ID}@ftp://identity.example.com", "project: must have the URL"),
        (f"{ID}@https://ann@identity.example.com", "project: must have the URL"),
        (f"{ID}@https://identity.example.com/?a=b", "project: must have the URL"),
        (f"{ID}@https://identity.example.com/" + "a" * 2000, "project: must have the URL"),
        (5, "project: must be text"),
    ],
)
def test_what_is_no_project_is_refused(engine: Engine, project: Any, words: str) -> None:
    with refused(engine, words) as desk:
        TENANTS.add(desk, {"name": "acme", "project": project})


def test_a_project_that_another_tenant_is_is_refused(engine: Engine) -> None:
    add(engine, "acme", project=PROJECT)
    add(engine, "other")
    words = "project: already belongs to the tenant acme"
    with refused(engine, words) as desk:
        TENANTS.add(desk, {"name": "third", "project": f"{PROJECT}/v3"})
    with refused(engine, words) as desk:
        TENANTS.change(desk, "other", {"project": PROJECT})


def test_ids_are_told_apart_by_their_case_and_addresses_by_their_host(engine: Engine) -> None:
    for name, project in (("a", PROJECT), ("b", PROJECT.replace("b", "B", 1)), ("c", f"{ID}@https://id.example.com")):
        add(engine, name, project=project)
    assert len(rows(engine, tables.tenants)) == 3


def test_tenants_are_found_by_their_project(engine: Engine) -> None:
    add(engine, "acme", project=PROJECT)
    add(engine, "other")
    with desk_of(engine) as desk:
        assert TENANTS.list(desk, {"project": f"{PROJECT}/v3/"}) == [{"name": "acme", "project": PROJECT}]
        assert TENANTS.list(desk, {"project": OTHER}) == []
    with refused(engine, "project: must be a project ID") as desk:
        TENANTS.list(desk, {"project": "acme"})


# What the console makes


def test_a_project_becomes_a_tenant_of_its_name_with_the_default_quotas(engine: Engine) -> None:
    tenant_id = provision_tenant(engine, f"{PROJECT}/v3", "acme", NOW)
    (row,) = rows(engine, tables.tenants)
    assert row == {"id": tenant_id, "name": "acme", "disabled": False, "project": PROJECT, "guests_ended_at": 0}
    with desk_of(engine) as desk:
        assert QUOTAS.show(desk, "acme")["instances"] == 10


def test_the_trail_says_that_the_console_made_it(engine: Engine) -> None:
    provision_tenant(engine, PROJECT, "acme", NOW)
    (line,) = rows(engine, tables.operator_audit)
    assert (line["at"], line["actor"], line["change"], line["subject"]) == (NOW, CONSOLE, "tenant.add", "acme")
    assert (line["before"], json.loads(line["after"])) == (None, {"name": "acme", "project": PROJECT})


def test_the_same_again_finds_it_and_changes_nothing(engine: Engine) -> None:
    first = provision_tenant(engine, PROJECT, "acme", NOW)
    before = contents(engine)
    assert provision_tenant(engine, PROJECT, "renamed since", NOW + 1) == first
    assert contents(engine) == before


def test_a_tenant_that_an_operator_gave_the_project_is_it(engine: Engine) -> None:
    add(engine, "theirs", project=PROJECT)
    with desk_of(engine) as desk:
        TENANTS.disable(desk, "theirs")
    assert provision_tenant(engine, PROJECT, "acme", NOW) == by_name(engine, tables.tenants)["theirs"]["id"]
    assert by_name(engine, tables.tenants)["theirs"]["disabled"]


@pytest.mark.parametrize(
    ("taken", "name"),
    [
        ([{"name": "acme"}], "acme-b14723e1"),
        ([{"name": "acme", "project": OTHER}], "acme-b14723e1"),
        ([{"name": "acme"}, {"name": "acme-b14723e1"}], f"acme-{ID}"),
        ([{"name": "acme"}, {"name": "acme-b14723e1"}, {"name": f"acme-{ID}"}], f"acme-{ID}-2"),
        ([{"name": "Acme"}], "acme"),
    ],
)
def test_it_never_joins_another_tenant(engine: Engine, taken: list[dict[str, str]], name: str) -> None:
    for tenant in taken:
        add(engine, **tenant)
    before = rows(engine, tables.tenants)
    tenant_id = provision_tenant(engine, PROJECT, "acme", NOW)
    assert rows(engine, tables.tenants)[: len(before)] == before
    assert by_name(engine, tables.tenants)[name]["id"] == tenant_id


@pytest.mark.parametrize(
    ("given_name", "name"),
    [
        ("", "project-b14723e1"),
        (" acme ", "acme-b14723e1"),
        ("ac\u200bme", "acme-b14723e1"),
        ("ac\u00a0me\n", "ac me-b14723e1"),
        ("cafe\u0301", "caf\u00e9-b14723e1"),
        ("\u0300\u202e\t", "project-b14723e1"),
        ("x" * 256, "x" * 246 + "-b14723e1"),
    ],
)
def test_a_name_that_is_none_is_made_fit(engine: Engine, given_name: str, name: str) -> None:
    provision_tenant(engine, PROJECT, given_name, NOW)
    assert [row["name"] for row in rows(engine, tables.tenants)] == [name]


@settings(max_examples=300)
@given(st.text(max_size=20))
@example("\u0300\u0301 \u0302a")
@example("a\ud800b")
def test_whatever_is_made_fit_is_a_name_or_nothing(text: str) -> None:
    assert name_problem(truncated_name(text)) is None
    assert truncated_name(truncated_name(text)) == truncated_name(text)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=300))
def test_any_project_is_taken_in_and_its_dump_loads(engine: Engine, tmp_path: Path, name: str) -> None:
    load_text(engine, tmp_path, "version: 1\n", force=True)
    provision_tenant(engine, PROJECT, name, NOW)
    with desk_of(engine) as desk:
        (tenant,) = TENANTS.list(desk)
    assert tenant["project"] == PROJECT


@pytest.mark.parametrize("project", ["acme", f"{ID}@nowhere", "a b@https://identity.example.com"])
def test_what_is_no_project_makes_no_tenant(engine: Engine, project: str) -> None:
    with pytest.raises(ValueError, match="must"):
        provision_tenant(engine, project, "acme", NOW)
    assert rows(engine, tables.tenants) == []


def test_many_at_once_make_one_tenant_and_one_line(engine: Engine, tmp_path: Path) -> None:
    start = Barrier(8)

    def adopt(number: int) -> int:
        with opened(tmp_path / "data", "cloud") as own:
            start.wait()
            return provision_tenant(own, PROJECT, f"acme {number}", NOW)

    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(adopt, range(8)))
    assert found == {row["id"] for row in rows(engine, tables.tenants)}
    assert len(rows(engine, tables.operator_audit)) == 1
