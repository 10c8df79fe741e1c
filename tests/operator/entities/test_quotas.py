"""Changes over quota: rejected with the numbers, unless forced."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from cloudconsole.core.clock import format_utc
from cloudconsole.operator.audit import AuditQuery, find_changes
from cloudconsole.operator.entities import QUOTAS, RESOURCES
from cloudconsole.operator.errors import OverridableError
from tests.operator.clouds import assert_counters_correct
from tests.operator.transactions import NOW, rejected, transaction

KINDS = (("instance", "vcpu"), ("image", "gb"), ("loadbalance", "each"), ("volume", "gb"))
PRICES = ", ".join(f"{{kind: {kind}, unit: {unit}, price: 1, from: 2026-01-01}}" for kind, unit in KINDS)
TIGHT = "{instances: 2, cores: 4, ram: 4096, volumes: 2, gigabytes: 10, floating_ips: 0, security_groups: 0}"
CLOUD = f"version: 1\nnodes: [n1]\nprices: [{PRICES}]\ntenants: [{{name: t1, quotas: {TIGHT}}}, {{name: t2}}]\n"


@pytest.fixture
def store(engine_with: Callable[[str], Engine]) -> Engine:
    return engine_with(CLOUD)


def resource(resource_id: str, kind: str, **more: Any) -> dict[str, Any]:
    node = {} if kind in ("security_group", "keypair") else {"node": "n1"}
    return {"tenant": "t1", "id": resource_id, "kind": kind, "name": "a", **node, **more}


def instance(resource_id: str, vcpus: int = 1, ram: int = 1, **more: Any) -> dict[str, Any]:
    return resource(resource_id, "instance", vcpus=vcpus, ram=ram, **more)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (instance("x", vcpus=5), r"over quota \(cores: 0 of 4 in use, 5 more requested\)"),
        (instance("x", ram=4097), r"\(ram: 0 of 4096 in use, 4097 more requested\)"),
        (instance("x", vcpus=5, ram=4097), r"\(cores: 0 of 4 .*; ram: 0 of 4096 .*\)"),
        (resource("x", "security_group"), r"\(security_groups: 0 of 0 in use, 1 more requested\)"),
        (resource("x", "volume", size=11), r"\(gigabytes: 0 of 10 in use, 11 more requested\)"),
        (resource("x", "snapshot", size=11), r"\(gigabytes: 0 of 10 in use, 11 more requested\)"),
        (resource("x", "floating_ip"), r"\(floating_ips: 0 of 0 in use, 1 more requested\)"),
    ],
)
def test_change_over_quota_is_rejected_with_the_numbers(store: Engine, values: dict[str, Any], message: str) -> None:
    with rejected(store, message) as tx:
        RESOURCES.add(tx, values)


def test_a_quota_can_be_used_up(store: Engine) -> None:
    with transaction(store) as tx:
        for index in range(2):
            RESOURCES.add(tx, instance(f"i-{index}", vcpus=2, ram=2048))
    with rejected(store, r"\(instances: 2 of 2 in use, 1 more requested; cores: 4 of 4 in use") as tx:
        RESOURCES.add(tx, instance("i-3"))


def test_future_resources_count_and_ended_ones_do_not(store: Engine) -> None:
    with transaction(store) as tx:
        RESOURCES.add(tx, resource("past", "volume", size=9, started="2026-05-05", ended="2026-06-06"))
        RESOURCES.add(tx, resource("later", "volume", size=1, started="2028-01-01"))
        RESOURCES.add(tx, resource("ending", "volume", size=1, ended=format_utc(NOW + 1)))
    with rejected(store, r"\(volumes: 2 of 2 in use, 1 more requested\)") as tx:
        RESOURCES.add(tx, resource("one more", "volume", size=1))
    with transaction(store, now=NOW + 1) as tx:
        RESOURCES.add(tx, resource("one more", "volume", size=1))


def test_quota_limits_growing_but_not_shrinking(store: Engine) -> None:
    with transaction(store) as tx:
        RESOURCES.add(tx, resource("v", "volume", size=8))
        QUOTAS.change(tx, "t1", {"gigabytes": 4})
    with rejected(store, r"\(gigabytes: 8 of 4 in use, 1 more requested\)") as tx:
        RESOURCES.change(tx, "v", {"size": 9})
    with transaction(store) as tx:
        RESOURCES.change(tx, "v", {"name": "b"})
        RESOURCES.change(tx, "v", {"size": 7})


@pytest.mark.parametrize("kind", ["image", "loadbalance"])
def test_kinds_without_a_quota_are_not_limited(store: Engine, kind: str) -> None:
    with transaction(store) as tx:
        for index in range(12):
            RESOURCES.add(tx, resource(f"x-{index}", kind, **({"size": 1000} if kind == "image" else {})))


def test_unlimited_quota_allows_any_amount(store: Engine) -> None:
    with transaction(store) as tx:
        QUOTAS.change(tx, "t1", {"floating_ips": -1})
        RESOURCES.add(tx, resource("f", "floating_ip"))


def test_usage_of_other_tenants_does_not_count(store: Engine) -> None:
    with transaction(store) as tx:
        RESOURCES.add(tx, instance("i-1", vcpus=4, tenant="t2"))
        RESOURCES.add(tx, instance("i-2", vcpus=4))


def test_force_exceeds_a_quota_and_is_recorded(store: Engine) -> None:
    with pytest.raises(OverridableError), transaction(store) as tx:
        RESOURCES.add(tx, instance("i-1", vcpus=9))
    with transaction(store, force=True) as tx:
        RESOURCES.add(tx, instance("i-1", vcpus=9))
        RESOURCES.change(tx, "i-1", {"vcpus": 10})
    assert_counters_correct(store)
    with transaction(store) as tx:
        RESOURCES.end(tx, "i-1")
        entries = find_changes(tx.connection, AuditQuery(subject="i-1"))
    changes = ["resource.end", "resource.change (forced)", "resource.add (forced)"]
    assert [entry["change"] for entry in entries] == changes
