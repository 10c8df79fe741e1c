"""Contents of the sample cloud: passwords, roles, and resources that use every quota and price."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from cloudconsole.core.resources import PRICED_UNITS, QUOTA_USES
from cloudconsole.operator.sample import SAMPLE_PASSWORDS
from cloudconsole.store import tables
from cloudconsole.store.passwords import password_matches
from tests.operator.clouds import by_name, rows
from tests.stores import copy_store, open_engine

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def store(sample_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    opened = open_engine(copy_store(sample_store, tmp_path_factory.mktemp("store") / "data"), "cloud")
    yield opened
    opened.dispose()


def of_tenant(store: Engine, table: Any, tenant: str) -> Rows:
    tenant_id = by_name(store, tables.tenants)[tenant]["id"]
    return [row for row in rows(store, table) if row["tenant_id"] == tenant_id]


def test_published_passwords_match_the_accounts(store: Engine) -> None:
    accounts = by_name(store, tables.accounts, "username")
    assert set(accounts) == set(SAMPLE_PASSWORDS)
    for username, password in SAMPLE_PASSWORDS.items():
        assert password_matches(accounts[username]["password_hash"], password)


def test_only_the_provider_has_an_operator_account(store: Engine) -> None:
    roles = {
        tenant: {row["username"]: row["role"] for row in of_tenant(store, tables.accounts, tenant)}
        for tenant in ("demo", "other", "provider")
    }
    assert roles == {"demo": {"demo": "tenant"}, "other": {"other": "tenant"}, "provider": {"operator": "operator"}}


def test_every_quota_is_finite_and_partly_used(store: Engine) -> None:
    quotas = {tenant: of_tenant(store, tables.quotas, tenant)[0] for tenant in ("demo", "other")}
    for tenant, limits in quotas.items():
        (used,) = of_tenant(store, tables.usage, tenant)
        assert all(limit >= 0 for limit in limits.values())
        assert all(0 < used[name] <= limits[name] for name in QUOTA_USES)
    assert all(quotas["demo"][name] != quotas["other"][name] for name in QUOTA_USES)


@pytest.mark.parametrize(
    ("tenant", "billable"),
    [("demo", {"instance", "image", "volume"}), ("other", {"instance", "image", "loadbalance", "volume"})],
)
def test_each_tenant_has_the_expected_kinds(store: Engine, tenant: str, billable: set[str]) -> None:
    kinds = {row["kind"] for row in of_tenant(store, tables.resources, tenant) if row["ended_at"] is None}
    assert kinds & set(PRICED_UNITS) == billable
    assert kinds - set(PRICED_UNITS) == {"snapshot", "floating_ip", "security_group", "keypair"}


def test_demo_uses_several_nodes_some_with_their_own_prices(store: Engine) -> None:
    used = {(row["kind"], row["node_id"]) for row in of_tenant(store, tables.resources, "demo")}
    for billable in ("instance", "image", "volume"):
        assert len([node for kind, node in used if kind == billable]) >= 2
    assert used & {(price["kind"], price["node_id"]) for price in rows(store, tables.prices) if price["node_id"]}
