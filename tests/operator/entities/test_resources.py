"""Changes of single resources, and counters that stay correct through random sequences of changes."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import Engine

from cloudconsole.backends.embedded.cloud import EmbeddedCloud
from cloudconsole.core.clock import format_utc
from cloudconsole.core.ports import Tenant
from cloudconsole.core.resources import KINDS, NODELESS, QUOTA_DEFAULTS, SIZED_IN_GB, Kind
from cloudconsole.operator.cloud_file import dump
from cloudconsole.operator.entities import NODES, RESOURCES, TENANTS, ChangeResult
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.store import tables
from tests.harness import FakeClock
from tests.operator.clouds import (
    Rows,
    assert_counters_correct,
    assert_counters_match,
    by_name,
    contents,
    expected_totals,
    load_text,
    rows,
    rows_of_all,
    stored_totals,
)
from tests.operator.transactions import NOW, last_entry, rejected, transaction
from tests.stores import copy_store, open_engine, release_databases, run, store_in

pytestmark = pytest.mark.slow

START = NOW
UNLIMITED = "quotas: {" + ", ".join(f"{name}: -1" for name in QUOTA_DEFAULTS) + "}"
PRICES = "\n".join(
    f"  - {{kind: {kind}, unit: {unit}, price: 1, from: 2026-01-01}}"
    for kind, unit in (("instance", "vcpu"), ("image", "gb"), ("loadbalance", "each"), ("volume", "gb"))
)
CLOUD = (
    f"version: 1\nnodes: [n1, n2]\nprices:\n{PRICES}\ntenants: [{{name: t1, {UNLIMITED}}}, {{name: t2, {UNLIMITED}}}]\n"
)
SIZES_BY_KIND: dict[str, dict[str, int]] = {"instance": {"vcpus": 2, "ram": 1500, "disk": 10}} | {
    kind: {"size": 7} for kind in SIZED_IN_GB
}


@pytest.fixture
def store(engine_with: Callable[[str], Engine]) -> Engine:
    """Two tenants and two nodes without resources."""
    return engine_with(CLOUD)


def record(tx: OperatorTransaction, kind: Kind = "volume", resource_id: str = "r-1", **changes: Any) -> None:
    what = {"tenant": "t1", "id": resource_id, "kind": kind, "name": "a", "node": None if kind in NODELESS else "n1"}
    RESOURCES.add(tx, {**what, **SIZES_BY_KIND.get(kind, {}), **changes})


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_recorded(store: Engine, kind: Kind) -> None:
    with transaction(store) as tx:
        record(tx, kind)
    assert_counters_correct(store)
    assert len(expected_totals(rows(store, tables.resources))) == 1


def test_resource_starts_now_by_default(store: Engine) -> None:
    with transaction(store) as tx:
        record(tx)
        assert RESOURCES.show(tx, "r-1")["started"] == format_utc(NOW)


def test_ended_resource_can_be_recorded(store: Engine) -> None:
    with transaction(store) as tx:
        record(tx, started="2027-01-01", ended="2027-01-02")
    assert stored_totals(rows(store, tables.totals)) == {}
    assert rows(store, tables.resources)[0]["ended_at"] is not None


@pytest.mark.parametrize("many", [0, 100_000], ids=["many", "few"])
def test_running_resources_are_listed_by_either_query(
    store: Engine, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    ("kind", "changes", "message"),
    [
        ("volume", {"size": 0}, "size: must be from 1"),
        ("volume", {"size": 2**31}, "size: must be from 1"),
        ("volume", {"size": "7"}, "size: must be a whole number"),
        ("volume", {"vcpus": 1}, "vcpus: does not apply to the kind volume"),
        ("instance", {"vcpus": 0}, "vcpus: must be from 1"),
        ("instance", {"ram": -1}, "ram: must be from 1"),
        ("instance", {"disk": -1}, "disk: must be from 0"),
        ("instance", {"vcpus": 0, "ram": 0}, "vcpus: must be from 1 .*; ram: must be from 1"),
        ("loadbalance", {"size": -1}, "size: does not apply to the kind loadbalance"),
        ("instance", {"node": None}, "node: an instance must be on a node"),
        ("keypair", {"node": "n1"}, "node: a keypair cannot be on a node"),
        ("volume", {"node": "n9"}, "node: there is no node n9"),
        ("volume", {"tenant": "t9"}, "tenant: there is no tenant t9"),
        ("volume", {"tenant": None}, "tenant: is missing"),
        ("volume", {"tenant": 5}, "tenant: there is no tenant 5"),
        ("volume", {"colour": "red"}, "colour: is unknown"),
        ("volume", {"name": ""}, "name: must not be empty"),
        ("volume", {"started": "soon"}, "started: must be a time"),
        ("volume", {"started": "2025-01-01"}, "has no price on this node at 2025-01-01T00:00:00Z"),
        ("volume", {"ended": "2027-01-01"}, "ended: must not be before its start, "),
    ],
)
def test_invalid_resource_is_rejected(store: Engine, kind: Kind, changes: dict[str, Any], message: str) -> None:
    with rejected(store, message) as tx:
        record(tx, kind, **changes)


def test_duplicate_id_is_rejected(store: Engine) -> None:
    with transaction(store) as tx:
        record(tx)
    with rejected(store, "resource r-1 already exists") as tx:
        record(tx)


def test_node_without_a_price_is_rejected(engine: Engine, tmp_path: Path) -> None:
    price = "{kind: volume, unit: gb, node: n1, price: 1, from: 2026-01-01}"
    load_text(engine, tmp_path, f"version: 1\nnodes: [n1, n2]\nprices: [{price}]\ntenants: [{{name: t1}}]\n")
    with transaction(engine) as tx:
        record(tx)
    with rejected(engine, "has no price") as tx:
        RESOURCES.change(tx, "r-1", {"node": "n2"})


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
        ({"size": 0}, "size: must be from 1"),
        ({"vcpus": 1}, "vcpus: does not apply to the kind volume"),
        ({"kind": "image"}, "kind: cannot be changed"),
        ({"tenant": "t2"}, "tenant: cannot be changed"),
        ({"started": "2026-05-05"}, "started: cannot be changed"),
        ({"ended": "2027-05-05"}, "ended: cannot be changed"),
        ({"id": "r-2"}, "id: cannot be changed"),
        ({"node": None}, "node: a volume must be on a node"),
        ({"node": "n9"}, "node: there is no node n9"),
    ],
)
def test_invalid_change_is_rejected(store: Engine, changes: dict[str, Any], message: str) -> None:
    with transaction(store) as tx:
        record(tx)
    with rejected(store, message) as tx:
        RESOURCES.change(tx, "r-1", changes)


def test_a_resource_can_be_renamed(store: Engine) -> None:
    with transaction(store) as tx:
        record(tx)
        RESOURCES.change(tx, "r-1", {"name": "b"})
        assert RESOURCES.show(tx, "r-1")["name"] == "b"


def test_end_before_start_is_rejected(store: Engine) -> None:
    with transaction(store) as tx:
        record(tx)
    with rejected(store, f"ended: must not be before its start, {format_utc(START)}") as tx:
        RESOURCES.end(tx, "r-1", format_utc(START - 1))


def test_ended_resource_cannot_be_changed_or_ended_again(store: Engine) -> None:
    with transaction(store) as tx:
        record(tx)
        RESOURCES.end(tx, "r-1")
    with rejected(store, "has already ended") as tx:
        RESOURCES.change(tx, "r-1", {"size": 8})
    with rejected(store, "has already ended") as tx:
        RESOURCES.end(tx, "r-1")


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


def test_unknown_resource_is_rejected_by_every_verb(store: Engine) -> None:
    with rejected(store, "there is no resource r-9") as tx:
        RESOURCES.change(tx, "r-9", {"size": 1})
    with rejected(store, "there is no resource r-9") as tx:
        RESOURCES.end(tx, "r-9")
    with rejected(store, "there is no resource r-9") as tx:
        RESOURCES.remove(tx, "r-9")
    with rejected(store, "there is no resource r-9") as tx:
        RESOURCES.show(tx, "r-9")


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


def test_every_change_is_recorded_with_before_and_after(store: Engine) -> None:
    entries = []
    with transaction(store) as tx:
        record(tx)
    entries.append(last_entry(store))
    changes: tuple[Callable[[OperatorTransaction], ChangeResult], ...] = (
        lambda tx: RESOURCES.change(tx, "r-1", {"size": 8}),
        lambda tx: RESOURCES.end(tx, "r-1", "2027-02-01"),
        lambda tx: RESOURCES.remove(tx, "r-1"),
    )
    for change in changes:
        with transaction(store) as tx:
            change(tx)
        entries.append(last_entry(store))
    first = {"tenant": "t1", "id": "r-1", "kind": "volume", "name": "a", "node": "n1", "size": 7}
    first["started"] = "2027-01-15T08:00:00Z"
    second = first | {"size": 8}
    third = second | {"ended": "2027-02-01T00:00:00Z"}
    assert [(entry["change"], entry["before"], entry["after"]) for entry in entries] == [
        ("resource.add", None, first),
        ("resource.change", first, second),
        ("resource.end", second, third),
        ("resource.remove", third, None),
    ]
    assert {(entry["at"], entry["actor"], entry["subject"]) for entry in entries} == {(NOW, "tester", "r-1")}


def test_tenant_without_remaining_resources_can_be_removed(store: Engine, tmp_path: Path) -> None:
    with transaction(store) as tx:
        record(tx)
        RESOURCES.remove(tx, "r-1")
    load_text(store, tmp_path, CLOUD.replace(f"{{name: t1, {UNLIMITED}}}, ", ""))
    assert list(by_name(store, tables.tenants)) == ["t2"]


kinds = st.sampled_from(KINDS)
indexes = st.integers(0, 50)
counts = st.sampled_from([1, 2, 1023, 1024, 1025, 2**31 - 1])
moments = st.integers(START, START + 10**6)


class ResourceMachine(RuleBasedStateMachine):
    """Random changes and loads over a real store."""

    template: Path

    def __init__(self) -> None:
        super().__init__()
        self._temporary = TemporaryDirectory()
        self._directory = Path(self._temporary.name)
        self._engine = open_engine(copy_store(self.template, self._directory / "data"), "cloud")
        self._reader = store_in(self._directory / "data").reader()
        self._recorded = 0
        self._resources: Rows = []

    def teardown(self) -> None:
        run(self._reader.leave())
        self._reader.close()
        self._engine.dispose()
        release_databases(self._directory)
        self._temporary.cleanup()

    @rule(kind=kinds, tenant=indexes, node=indexes, count=counts, other=counts, moment=moments)
    def record(self, kind: Kind, tenant: int, node: int, count: int, other: int, moment: int) -> None:
        sizes = dict(zip(SIZES_BY_KIND.get(kind, {}), (count, other, count), strict=False))
        where = {"tenant": self._one(tables.tenants, tenant)}
        if kind not in NODELESS:
            where["node"] = self._one(tables.nodes, node)
        self._recorded += 1
        with transaction(self._engine) as tx:
            record(tx, kind, f"r-{self._recorded}", started=format_utc(moment), **where, **sizes)

    @precondition(lambda self: bool(self._live()))
    @rule(index=indexes, count=counts, other=counts)
    def resize(self, index: int, count: int, other: int) -> None:
        resource = self._choose(index)
        sizes = dict(zip(SIZES_BY_KIND.get(resource["kind"], {}), (count, other, other), strict=False))
        with transaction(self._engine) as tx:
            RESOURCES.change(tx, resource["id"], sizes)

    @precondition(lambda self: bool(self._live()))
    @rule(index=indexes, node=indexes)
    def move(self, index: int, node: int) -> None:
        resource = self._choose(index)
        if resource["kind"] not in NODELESS:
            name = self._one(tables.nodes, node)
            with transaction(self._engine) as tx:
                RESOURCES.change(tx, resource["id"], {"node": name})

    @precondition(lambda self: bool(self._live()))
    @rule(index=indexes, later=st.integers(0, 10**6))
    def end(self, index: int, later: int) -> None:
        resource = self._choose(index)
        with transaction(self._engine) as tx:
            RESOURCES.end(tx, resource["id"], format_utc(resource["started_at"] + later))

    @precondition(lambda self: bool(self._resources))
    @rule(index=indexes)
    def remove(self, index: int) -> None:
        with transaction(self._engine) as tx:
            RESOURCES.remove(tx, self._resources[index % len(self._resources)]["id"])

    @rule()
    def dump_and_load(self) -> None:
        before = contents(self._engine)
        assert not load_text(self._engine, self._directory, dump(self._engine)).changed
        assert contents(self._engine) == before

    @rule(remaining=st.sets(st.integers(1, 20)))
    def load_without_some(self, remaining: set[int]) -> None:
        removed = tuple(f"{{id: r-{number}," for number in range(1, self._recorded + 1) if number not in remaining)
        lines = dump(self._engine).splitlines()
        text = "\n".join(
            line for line in lines if not (removed and line.strip().removeprefix("- ").startswith(removed))
        )
        load_text(self._engine, self._directory, text)
        assert len(rows(self._engine, tables.resources)) <= len(remaining)

    @rule()
    def load_with_tenants_swapped(self) -> None:
        text = dump(self._engine)
        swapped = text.replace("- name: t1", "- name: ?").replace("- name: t2", "- name: t1")
        load_text(self._engine, self._directory, swapped.replace("- name: ?", "- name: t2"))

    @invariant()
    def counters_match_the_resources(self) -> None:
        queried = (tables.tenants, tables.resources, tables.totals, tables.usage)
        tenants, self._resources, totals, usage = rows_of_all(self._engine, *queried)
        assert_counters_match(self._resources, totals, usage)
        self._assert_usage(tenants)

    def _assert_usage(self, tenants: Rows) -> None:
        now = START + 500_000
        cloud = EmbeddedCloud(self._reader, FakeClock(now), UTC)
        in_use = [
            row
            for row in self._resources
            if row["started_at"] <= now and (row["ended_at"] is None or row["ended_at"] > now)
        ]
        for tenant in tenants:
            own = [row for row in in_use if row["tenant_id"] == tenant["id"]]
            usage = run(cloud.usage_limits(Tenant(tenant["id"], ""))).record
            by_kind = Counter(row["kind"] for row in own)
            assert (usage.total_instances_used, usage.total_volumes_used) == (by_kind["instance"], by_kind["volume"])
            assert (usage.total_snapshots_used, usage.total_floating_ips_used, usage.total_security_groups_used) == (
                by_kind["snapshot"],
                by_kind["floating_ip"],
                by_kind["security_group"],
            )
            assert usage.total_cores_used == sum(row["vcpus"] for row in own)
            assert usage.total_ram_used == sum(row["ram_mb"] for row in own)
            on_disk = [row["size_gb"] for row in own if row["kind"] in ("volume", "snapshot")]
            assert usage.total_gigabytes_used == sum(on_disk)

    def _live(self) -> list[dict[str, Any]]:
        return [row for row in self._resources if row["ended_at"] is None]

    def _choose(self, index: int) -> dict[str, Any]:
        live = self._live()
        return live[index % len(live)]

    def _one(self, table: Any, index: int) -> str:
        names = sorted(by_name(self._engine, table))
        return names[index % len(names)]


def test_counters_stay_correct_through_random_changes(store_with: Callable[[str], Path]) -> None:
    class OverTemplate(ResourceMachine):
        template = store_with(CLOUD)

    run_state_machine_as_test(OverTemplate, settings=settings(max_examples=25, stateful_step_count=20, deadline=None))
