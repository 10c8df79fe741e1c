"""Changes of single resources, quotas, and repair of counters; see also `test_random_changes`."""

from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, delete, text, update

from cloudconsole.core.clock import format_utc
from cloudconsole.core.resources import KINDS, NODELESS, SIZED_IN_GB, Amounts
from cloudconsole.operator.audit import AuditQuery, find_changes
from cloudconsole.operator.entities import NODES, QUOTAS, RESOURCES, TENANTS
from cloudconsole.operator.entities.resources import recount
from cloudconsole.operator.errors import OverridableError
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.store import counters, tables
from tests.operator.clouds import assert_counters_correct, expected_totals, load_text, rows
from tests.operator.transactions import NOW, last_change, rejected, transaction

PRICES = "\n".join(
    f"  - {{kind: {kind}, unit: {unit}, price: 1, from: 2026-01-01}}"
    for kind, unit in (("instance", "vcpu"), ("image", "gb"), ("loadbalance", "each"), ("volume", "gb"))
)
CLOUD = f"version: 1\nnodes: [n1, n2]\nprices:\n{PRICES}\ntenants: [{{name: t1}}, {{name: t2}}]\n"
SIZES_BY_KIND: dict[str, dict[str, int]] = {"instance": {"vcpus": 2, "ram": 1500, "disk": 10}} | {
    kind: {"size": 7} for kind in SIZED_IN_GB
}


@pytest.fixture
def store(engine_with: Callable[[str], Engine]) -> Engine:
    """Two tenants and two nodes without resources."""
    return engine_with(CLOUD)


def resource(kind: str = "volume", resource_id: str = "r-1", **changes: Any) -> dict[str, Any]:
    what = {"tenant": "t1", "id": resource_id, "kind": kind, "name": "a", "node": None if kind in NODELESS else "n1"}
    return {**what, **SIZES_BY_KIND.get(kind, {}), **changes}


def record(tx: OperatorTransaction, kind: str = "volume", resource_id: str = "r-1", **changes: Any) -> None:
    RESOURCES.add(tx, resource(kind, resource_id, **changes))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_recorded(store: Engine, kind: str) -> None:
    with transaction(store) as tx:
        record(tx, kind)
    assert_counters_correct(store)
    assert len(expected_totals(rows(store, tables.resources))) == 1


def test_resources_are_listed_by_any_combination_of_filters(store: Engine) -> None:
    with transaction(store) as tx:
        record(tx, resource_id="a-1", name="b-volume")
        record(tx, resource_id="a-2", tenant="t2", node="n2")
        record(tx, "snapshot", "b-3")
        expected: list[tuple[dict[str, str], list[str]]] = [
            ({}, ["a-1", "a-2", "b-3"]),
            ({"tenant": "t1"}, ["a-1", "b-3"]),
            ({"node": "n2"}, ["a-2"]),
            ({"kind": "volume"}, ["a-1", "a-2"]),
            ({"prefix": "b-"}, ["a-1", "b-3"]),
            ({"prefix": "B-"}, []),
            ({"tenant": "t1", "node": "n1", "kind": "volume", "prefix": "a"}, ["a-1"]),
        ]
        for filters, ids in expected:
            assert [each["id"] for each in RESOURCES.list(tx, filters)] == ids, filters
        assert [each["id"] for each in RESOURCES.list(tx, {"prefix": "b-"}, limit=1)] == ["a-1"]
        assert [each["id"] for each in RESOURCES.list(tx, {"prefix": "b-"}, after="a-1")] == ["b-3"]
    with rejected(store, "kind: unknown kind car: use instance, image, ") as tx:
        RESOURCES.list(tx, {"kind": "car"})


@pytest.mark.parametrize("many", [0, 100_000], ids=["many", "few"])
def test_either_query_lists_running_resources(store: Engine, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloudconsole.operator.entities.resources._MANY_RUNNING", many)
    hour = 3600
    intervals = {
        "a-ended": (NOW - 2 * hour, NOW - hour),
        "b-ends-now": (NOW - hour, NOW),
        "c-will-end": (NOW - hour, NOW + hour),
        "d-to-come": (NOW + hour, None),
        "e-begins-now": (NOW, None),
        "f-runs": (NOW - hour, None),
    }
    with transaction(store) as tx:
        for name, (started, ended) in intervals.items():
            times = {"started": format_utc(started), **({} if ended is None else {"ended": format_utc(ended)})}
            record(tx, "keypair", name, **times)
        for others in ({}, {"kind": "keypair"}, {"tenant": "t1"}, {"prefix": "a"}):
            found = [each["id"] for each in RESOURCES.list(tx, {"running": True, **others})]
            assert found == ["c-will-end", "e-begins-now", "f-runs"], others


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": 0}, "size: must be from 1"),
        ({"node": "n9"}, "node: there is no node n9"),
        ({"node": ""}, "node: must not be empty"),
        ({"tenant": "t9"}, "tenant: there is no tenant t9"),
        ({"tenant": ""}, "tenant: must not be empty: give the tenant's name"),
        ({"tenant": "\0"}, "tenant: there is no tenant"),
        ({"tenant": 5}, "tenant: there is no tenant 5"),
        ({"started": "2025-01-01"}, "has no price on this node at 2025-01-01T00:00:00Z"),
    ],
)
def test_invalid_resource_is_rejected(store: Engine, changes: dict[str, Any], message: str) -> None:
    with rejected(store, message) as tx:
        record(tx, **changes)


def test_move_to_a_node_without_a_price_at_start_is_rejected(engine: Engine, tmp_path: Path) -> None:
    late = "  - {kind: volume, unit: gb, node: n2, price: 1, from: 2027-06-01}\n"
    only_first_node = PRICES.replace("kind: volume, unit: gb,", "kind: volume, unit: gb, node: n1,")
    load_text(engine, tmp_path, CLOUD.replace(PRICES, only_first_node + "\n" + late.rstrip()))
    with transaction(engine) as tx:
        record(tx)
    with rejected(engine, "no price on this node at 2027-01-15T08:00:00Z", now=NOW + 10**8) as tx:
        RESOURCES.change(tx, "r-1", {"node": "n2"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vcpus": 1}, "vcpus: does not apply to the kind volume"),
        ({"kind": "image"}, "kind: cannot be changed"),
        ({"tenant": "t2"}, "tenant: cannot be changed"),
        ({"started": "2026-05-05"}, "started: cannot be changed"),
        ({"ended": "2027-05-05"}, "ended: cannot be changed"),
        ({"node": "n9"}, "node: there is no node n9"),
    ],
)
def test_invalid_change_is_rejected(store: Engine, changes: dict[str, Any], message: str) -> None:
    with transaction(store) as tx:
        record(tx)
    with rejected(store, message) as tx:
        RESOURCES.change(tx, "r-1", changes)


def test_invalid_end_and_changes_of_an_ended_resource_are_rejected(store: Engine) -> None:
    with transaction(store) as tx:
        record(tx)
    with rejected(store, f"ended: must not be before its start, {format_utc(NOW)}") as tx:
        RESOURCES.end(tx, "r-1", format_utc(NOW - 1))
    with transaction(store) as tx:
        RESOURCES.end(tx, "r-1")
    with rejected(store, "has already ended") as tx:
        RESOURCES.change(tx, "r-1", {"size": 8})
    with rejected(store, "has already ended") as tx:
        RESOURCES.end(tx, "r-1")
    with rejected(store, "there is no resource r-9") as tx:
        RESOURCES.end(tx, "r-9")


def test_resource_with_a_future_end_can_be_changed_and_ended(store: Engine) -> None:
    with transaction(store) as tx:
        record(tx)
        RESOURCES.end(tx, "r-1", format_utc(NOW + 86_400))
    with transaction(store) as tx:
        RESOURCES.change(tx, "r-1", {"name": "grown", "size": 8})
        result = RESOURCES.end(tx, "r-1", format_utc(NOW + 60))
    assert result.after is not None
    assert (result.after["name"], result.after["size"], result.after["ended"]) == ("grown", 8, format_utc(NOW + 60))
    with rejected(store, "has already ended", now=NOW + 60) as tx:
        RESOURCES.end(tx, "r-1", format_utc(NOW + 120))


def test_disabled_tenant_or_node_accepts_no_new_resources(store: Engine) -> None:
    with transaction(store) as tx:
        record(tx, resource_id="r-0")
        record(tx, resource_id="r-00", node="n2")
        TENANTS.disable(tx, "t2")
        NODES.disable(tx, "n2")
    with rejected(store, "the tenant t2 is disabled and accepts no new resources", force=True) as tx:
        record(tx, tenant="t2")
    with rejected(store, "the node n2 is disabled and accepts no new resources", force=True) as tx:
        record(tx, node="n2")
    with rejected(store, "the node n2 is disabled") as tx:
        RESOURCES.change(tx, "r-0", {"node": "n2"})
    with transaction(store) as tx:
        assert RESOURCES.change(tx, "r-00", {"size": 9}).changed


def test_start_is_now_by_default_and_the_end_is_recorded(store: Engine) -> None:
    with transaction(store) as tx:
        record(tx)
        before = RESOURCES.show(tx, "r-1")
        RESOURCES.end(tx, "r-1", "2027-02-01")
    assert before["started"] == format_utc(NOW)
    assert last_change(store) == ("resource.end", "r-1", before, before | {"ended": "2027-02-01T00:00:00Z"})


# Quotas

TIGHT = "{instances: 2, cores: 4, ram: 4096, volumes: 2, gigabytes: 10, floating_ips: 0, security_groups: 0}"


@pytest.fixture
def tight(engine_with: Callable[[str], Engine]) -> Engine:
    """Tenant t1 has small quotas."""
    return engine_with(CLOUD.replace("{name: t1}", f"{{name: t1, quotas: {TIGHT}}}"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (resource("instance", "x", vcpus=5), r"over quota \(cores: 0 of 4 in use, 5 more requested\)"),
        (resource("instance", "x", ram=4097), r"\(ram: 0 of 4096 in use, 4097 more requested\)"),
        (resource("instance", "x", vcpus=5, ram=4097), r"\(cores: 0 of 4 .*; ram: 0 of 4096 .*\)"),
        (resource("security_group", "x"), r"\(security_groups: 0 of 0 in use, 1 more requested\)"),
        (resource("volume", "x", size=11), r"\(gigabytes: 0 of 10 in use, 11 more requested\)"),
        (resource("snapshot", "x", size=11), r"\(gigabytes: 0 of 10 in use, 11 more requested\)"),
        (resource("floating_ip", "x"), r"\(floating_ips: 0 of 0 in use, 1 more requested\)"),
    ],
)
def test_change_over_quota_is_rejected_with_the_numbers(tight: Engine, values: dict[str, Any], message: str) -> None:
    with rejected(tight, message) as tx:
        RESOURCES.add(tx, values)


def test_a_quota_can_be_used_up(tight: Engine) -> None:
    with transaction(tight) as tx:
        for index in range(2):
            record(tx, "instance", f"i-{index}", vcpus=2, ram=2048)
    with rejected(tight, r"\(instances: 2 of 2 in use, 1 more requested; cores: 4 of 4 in use") as tx:
        record(tx, "instance", "i-3")


def test_future_resources_count_and_ended_ones_do_not(tight: Engine) -> None:
    with transaction(tight) as tx:
        record(tx, "volume", "past", size=9, started="2026-05-05", ended="2026-06-06")
        record(tx, "volume", "later", size=1, started="2028-01-01")
        record(tx, "volume", "ending", size=1, ended=format_utc(NOW + 1))
    with rejected(tight, r"\(volumes: 2 of 2 in use, 1 more requested\)") as tx:
        record(tx, "volume", "one more", size=1)
    with transaction(tight, now=NOW + 1) as tx:
        record(tx, "volume", "one more", size=1)


def test_quota_limits_growing_but_not_shrinking(tight: Engine) -> None:
    with transaction(tight) as tx:
        record(tx, "volume", "v", size=8)
    with transaction(tight, force=True) as tx:
        QUOTAS.change(tx, "t1", {"gigabytes": 4})
    with rejected(tight, r"\(gigabytes: 8 of 4 in use, 1 more requested\)") as tx:
        RESOURCES.change(tx, "v", {"size": 9})
    with transaction(tight) as tx:
        RESOURCES.change(tx, "v", {"name": "b"})
        RESOURCES.change(tx, "v", {"size": 7})


@pytest.mark.parametrize(
    "added",
    [
        [resource("image", f"x-{index}", size=1000) for index in range(12)],
        [resource("loadbalance", f"x-{index}") for index in range(12)],
        [resource("floating_ip", "f")],
        [resource("instance", "i-1", vcpus=4, tenant="t2"), resource("instance", "i-2", vcpus=4)],
    ],
    ids=["images", "load balancers", "unlimited quota", "usage of another tenant"],
)
def test_resources_without_a_limit_are_accepted(tight: Engine, added: list[dict[str, Any]]) -> None:
    with transaction(tight) as tx:
        QUOTAS.change(tx, "t1", {"floating_ips": -1})
        for values in added:
            RESOURCES.add(tx, values)


def test_force_exceeds_a_quota_and_is_recorded(tight: Engine) -> None:
    with pytest.raises(OverridableError), transaction(tight) as tx:
        record(tx, "instance", "i-1", vcpus=9)
    with transaction(tight, force=True) as tx:
        record(tx, "instance", "i-1", vcpus=9)
        RESOURCES.change(tx, "i-1", {"vcpus": 10})
    assert_counters_correct(tight)
    with transaction(tight) as tx:
        RESOURCES.end(tx, "i-1")
        entries = find_changes(tx.connection, AuditQuery(subject="i-1"))
    changes = ["resource.end", "resource.change (forced)", "resource.add (forced)"]
    assert [entry["change"] for entry in entries] == changes


# Detection and repair of incorrect counters

USAGE = [column.name for column in tables.usage.c if column.name != "tenant_id"]


def incorrect(engine: Engine) -> list[str]:
    with engine.begin() as connection:
        return counters.incorrect_counters(connection)


def test_correct_counters_are_left_alone(small: Engine) -> None:
    before = rows(small, tables.operator_audit)
    assert incorrect(small) == []
    assert recount(small, actor="ann", now=1, zone=UTC) == 0
    assert rows(small, tables.operator_audit) == before


def test_zero_totals_are_correct(small: Engine) -> None:
    with small.begin() as connection:
        counters.add_cost_totals(connection, {(2, "volume", 1): Amounts()})
        counters.add_quota_usage(connection, {}, {2: 1_900_000_000})
    assert incorrect(small) == []


def test_incorrect_missing_and_extra_totals_are_repaired(small: Engine) -> None:
    kinds = tables.totals.c.kind
    with small.begin() as connection:
        connection.execute(update(tables.totals).where(kinds == "volume").values(size_gb=7))
        connection.execute(delete(tables.totals).where(kinds == "keypair"))
        counters.add_cost_totals(connection, {(2, "snapshot", 1): Amounts(1, 0, 0, 0, 5)})
    assert incorrect(small) == ["keypair of tenant demo", "volume of tenant demo", "snapshot of tenant other"]
    assert recount(small, actor="ann", now=1, zone=UTC) == 3
    assert_counters_correct(small)
    assert rows(small, tables.operator_audit)[-1]["change"] == "recount"


@pytest.mark.parametrize(
    ("corruption", "tenant"),
    [
        ("UPDATE usage SET keypairs = keypairs + 1 WHERE tenant_id = 1", "demo"),
        ("UPDATE usage SET settled_at = settled_at - 1 WHERE tenant_id = 1", "demo"),
        ("DELETE FROM usage WHERE tenant_id = 1", "demo"),
        (f"INSERT INTO usage (tenant_id, {', '.join(USAGE)}) VALUES (2, {', '.join('1' * len(USAGE))})", "other"),
    ],
)
def test_incorrect_usage_is_repaired(small: Engine, corruption: str, tenant: str) -> None:
    with small.begin() as connection:
        connection.execute(text(corruption))
    assert incorrect(small) == [f"quotas of tenant {tenant}"]
    assert recount(small, actor="ann", now=1, zone=UTC) == 1
    assert_counters_correct(small)
