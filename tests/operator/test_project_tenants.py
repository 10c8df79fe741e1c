"""Tenants of OpenStack projects: managed by operators, or created by the console at the first login."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlalchemy import Engine

from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator.entities import QUOTAS, TENANTS
from cloudconsole.operator.new_and_existing_names import name_problem, truncated_name
from cloudconsole.operator.project_tenants import CONSOLE, provision_tenant
from cloudconsole.store import tables
from tests.operator.clouds import by_name, contents, rows
from tests.operator.transactions import NOW, last_entry, rejected, transaction
from tests.stores import opened

ID = "b14723e114b4411a8669c304760b0507"
PROJECT = f"{ID}@https://identity.example.com"
OTHER = f"c{ID[1:]}@https://identity.example.com"


def add(engine: Engine, name: str, **more: Any) -> None:
    with transaction(engine) as tx:
        TENANTS.add(tx, {"name": name, **more})


# Projects set by operators


def test_project_can_be_changed_and_removed(engine: Engine) -> None:
    add(engine, "acme", project=f"{ID}@HTTPS://Identity.Example.com:443/v3/")
    with transaction(engine) as tx:
        assert TENANTS.show(tx, "acme") == {"name": "acme", "project": PROJECT}
        assert TENANTS.change(tx, "acme", {"project": OTHER}).after == {"name": "acme", "project": OTHER}
        assert TENANTS.change(tx, "acme", {"project": None}).after == {"name": "acme"}
    assert last_entry(engine)["before"] == {"name": "acme", "project": OTHER}


def test_other_changes_keep_the_project(engine: Engine) -> None:
    add(engine, "acme", project=f"{ID}@https://identity.example.com/v3/v3")
    with transaction(engine) as tx:
        assert not TENANTS.change(tx, "acme", TENANTS.show(tx, "acme")).changed
        TENANTS.disable(tx, "acme")
        after = TENANTS.change(tx, "acme", {"name": "apex"}).after
    assert after == {"name": "apex", "project": PROJECT, "disabled": True}


def test_project_of_another_tenant_is_rejected(engine: Engine) -> None:
    add(engine, "acme", project=PROJECT)
    add(engine, "other", project=PROJECT.replace("b", "B", 1))
    message = "project: already belongs to the tenant acme"
    with rejected(engine, message) as tx:
        TENANTS.add(tx, {"name": "third", "project": f"{PROJECT}/v3"})
    with rejected(engine, message) as tx:
        TENANTS.change(tx, "other", {"project": PROJECT})


def test_tenants_can_be_filtered_by_project(engine: Engine) -> None:
    add(engine, "acme", project=PROJECT)
    add(engine, "other")
    with transaction(engine) as tx:
        assert TENANTS.list(tx, {"project": f"{PROJECT}/v3/"}) == [{"name": "acme", "project": PROJECT}]
        assert TENANTS.list(tx, {"project": OTHER}) == []
    with rejected(engine, "project: must be a project ID") as tx:
        TENANTS.list(tx, {"project": "acme"})


# Tenants created by the console


def test_new_tenant_has_the_project_name_default_quotas_and_an_audit_entry(engine: Engine) -> None:
    tenant_id = provision_tenant(engine, f"{PROJECT}/v3", "acme", NOW)
    (row,) = rows(engine, tables.tenants)
    assert row == {"id": tenant_id, "name": "acme", "disabled": False, "project": PROJECT, "guests_ended_at": 0}
    with transaction(engine) as tx:
        assert QUOTAS.show(tx, "acme") == {"tenant": "acme", **QUOTA_DEFAULTS}
    what = {"change": "tenant.add", "subject": "acme", "before": None, "after": {"name": "acme", "project": PROJECT}}
    assert last_entry(engine) == {"id": 1, "at": NOW, "actor": CONSOLE, **what}


def test_existing_tenant_of_the_project_is_used_unchanged(engine: Engine) -> None:
    first = provision_tenant(engine, PROJECT, "acme", NOW)
    with transaction(engine) as tx:
        TENANTS.disable(tx, "acme")
    before = contents(engine)
    assert provision_tenant(engine, PROJECT, "renamed since", NOW + 1) == first
    assert contents(engine) == before


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
def test_new_tenant_never_joins_another(engine: Engine, taken: list[dict[str, str]], name: str) -> None:
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
        ("x" * 245 + " y" * 10, "x" * 245 + "-b14723e1"),
    ],
)
def test_invalid_project_name_is_corrected(engine: Engine, given_name: str, name: str) -> None:
    provision_tenant(engine, PROJECT, given_name, NOW)
    assert [row["name"] for row in rows(engine, tables.tenants)] == [name]


@given(st.text(max_size=20))
@example("\u0300\u0301 \u0302a")
@example("a\ud800b")
def test_truncated_name_is_valid_and_stable(text: str) -> None:
    assert name_problem(truncated_name(text)) is None
    assert truncated_name(truncated_name(text)) == truncated_name(text)


def test_invalid_project_creates_no_tenant(engine: Engine) -> None:
    with pytest.raises(ValueError, match="must have the URL"):
        provision_tenant(engine, f"{ID}@nowhere", "acme", NOW)
    assert rows(engine, tables.tenants) == []


def test_concurrent_provisioning_creates_one_tenant_and_entry(engine: Engine, tmp_path: Path) -> None:
    start = Barrier(8)

    def provision(number: int) -> int:
        with opened(tmp_path / "data", "cloud") as thread_engine:
            start.wait()
            return provision_tenant(thread_engine, PROJECT, f"acme {number}", NOW)

    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(provision, range(8)))
    assert found == {row["id"] for row in rows(engine, tables.tenants)}
    assert len(rows(engine, tables.operator_audit)) == 1
