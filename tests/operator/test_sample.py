"""Contents of the sample cloud."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from cloudconsole.core.resources import PRICED_UNITS
from cloudconsole.operator.cloud_file.loader import read_cloud_file
from cloudconsole.operator.cloud_file.model import CloudFile
from cloudconsole.operator.sample import SAMPLE_FILE, SAMPLE_PASSWORDS
from cloudconsole.store import tables
from cloudconsole.store.passwords import password_matches
from tests.operator.clouds import by_name, rows
from tests.stores import copy_store, open_engine

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def sample() -> CloudFile:
    file, _passwords = read_cloud_file(SAMPLE_FILE, UTC)
    return file


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


def test_there_are_several_nodes(sample: CloudFile) -> None:
    assert len(sample.nodes) >= 3


def test_custom_flavors_are_named_after_their_sizes(sample: CloudFile) -> None:
    custom = [flavor for flavor in sample.flavors if not flavor.name.startswith("m1.")]
    assert len(custom) >= 40
    for flavor in custom:
        assert flavor.name == f"{flavor.vcpus}C{flavor.ram // 1024}G{flavor.disk}G"
        assert flavor.ram % 1024 == 0


def test_flavors_have_predefined_names_and_some_no_disk(sample: CloudFile) -> None:
    assert sum(flavor.name.startswith("m1.") for flavor in sample.flavors) >= 3
    assert any(flavor.disk == 0 for flavor in sample.flavors)
    (flavor,) = (flavor for flavor in sample.flavors if flavor.name == "2C4G40G")
    assert flavor.ram == 4096


def used(resources: Rows) -> dict[str, int]:
    live = [row for row in resources if row["ended_at"] is None]
    kinds = {
        "instances": "instance",
        "volumes": "volume",
        "snapshots": "snapshot",
        "floating_ips": "floating_ip",
        "security_groups": "security_group",
        "keypairs": "keypair",
    }
    counted = {name: sum(row["kind"] == kind for row in live) for name, kind in kinds.items()}
    stored = ("volume", "snapshot")
    return counted | {
        "cores": sum(row["vcpus"] for row in live),
        "ram": sum(row["ram_mb"] for row in live),
        "gigabytes": sum(row["size_gb"] for row in live if row["kind"] in stored),
    }


@pytest.mark.parametrize("tenant", ["demo", "other"])
def test_every_quota_is_finite_and_not_exceeded(store: Engine, tenant: str) -> None:
    (quotas,) = of_tenant(store, tables.quotas, tenant)
    amounts = used(of_tenant(store, tables.resources, tenant))
    assert all(limit >= 0 for limit in quotas.values())
    assert all(0 < amount <= quotas[name] for name, amount in amounts.items())


def test_quotas_of_the_tenants_differ(store: Engine) -> None:
    (demo,) = of_tenant(store, tables.quotas, "demo")
    (other,) = of_tenant(store, tables.quotas, "other")
    for name in used([]):
        assert demo[name] != other[name]


def test_shared_and_tenant_urls_have_both_types(store: Engine) -> None:
    shared = [row for row in rows(store, tables.urls) if row["tenant_id"] is None]
    for urls in (shared, of_tenant(store, tables.urls, "demo"), of_tenant(store, tables.urls, "other")):
        assert {row["type"] for row in urls} == {"link", "directory"}


def test_first_domain_has_no_advanced_settings(store: Engine) -> None:
    domain = next(row for row in of_tenant(store, tables.domains, "demo") if row["id"] == "206813")
    addresses = [ip_address(address) for address in json.loads(domain.pop("origin_ips"))]
    assert 1 <= len(addresses) <= 2
    assert all(address in ip_network("192.0.2.0/24") for address in addresses)
    del domain["tenant_id"], domain["cname"]
    assert domain == {
        "id": "206813",
        "name": "www.example-demo.com",
        "comment": "",
        "service_areas": "hk;ov",
        "service_type": "web",
        "enabled": True,
        "status": "Deployed",
        "cache_behaviors": "[]",
        "visit_control_rules": "[]",
        "adv_origin_configs": "null",
        "origin_domain_name": None,
        "query_string_settings": None,
    }


def test_second_domain_is_disabled_with_advanced_settings(store: Engine) -> None:
    domain = next(row for row in of_tenant(store, tables.domains, "demo") if row["id"] == "206814")
    assert domain["enabled"] is False
    assert domain["origin_domain_name"]
    for column in ("cache_behaviors", "visit_control_rules", "adv_origin_configs"):
        assert json.loads(domain[column])


def test_other_tenant_has_its_own_domains(store: Engine) -> None:
    assert [row["id"] for row in of_tenant(store, tables.domains, "other")] == ["207001", "207002"]


def test_news_are_in_both_languages_until_october_2026(sample: CloudFile) -> None:
    chinese = [item for item in sample.news if re.search("[\u4e00-\u9fff]", item.title)]
    assert len(sample.news) >= 8
    assert 3 <= len(chinese) <= len(sample.news) - 3
    dates = [datetime.fromtimestamp(item.date, UTC) for item in sample.news]
    assert all(datetime(2025, 1, 1, tzinfo=UTC) <= date < datetime(2026, 11, 1, tzinfo=UTC) for date in dates)
    assert (max(dates).year, max(dates).month) == (2026, 10)


@pytest.mark.parametrize(
    ("tenant", "billable"),
    [("demo", {"instance", "image", "volume"}), ("other", {"instance", "image", "loadbalance", "volume"})],
)
def test_each_tenant_has_the_expected_kinds(store: Engine, tenant: str, billable: set[str]) -> None:
    kinds = {row["kind"] for row in of_tenant(store, tables.resources, tenant) if row["ended_at"] is None}
    assert kinds & set(PRICED_UNITS) == billable
    assert kinds - set(PRICED_UNITS) == {"snapshot", "floating_ip", "security_group", "keypair"}


def test_demo_uses_several_nodes_some_with_their_own_prices(sample: CloudFile) -> None:
    demo = next(tenant for tenant in sample.tenants if tenant.name == "demo")
    for kind in ("instance", "image", "volume"):
        assert len({resource.node for resource in demo.resources if resource.kind == kind}) >= 2
    own = {(price.kind, price.node) for price in sample.prices if price.node}
    assert own & {(resource.kind, resource.node) for resource in demo.resources}


def test_resources_start_in_2026_and_prices_in_2025(sample: CloudFile) -> None:
    starts = [resource.started for tenant in sample.tenants for resource in tenant.resources]
    first, last = (datetime.fromtimestamp(start, UTC) for start in (min(starts), max(starts)))
    assert datetime(2026, 1, 1, tzinfo=UTC) <= first
    assert last < datetime(2026, 11, 1, tzinfo=UTC)
    assert datetime.fromtimestamp(min(price.start for price in sample.prices), UTC).year == 2025
