"""One resource at a time: what is refused, and totals that stay true whatever is done in whatever order."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import Connection, Engine, select

from cloudconsole.backends.embedded.cloud import EmbeddedCloud
from cloudconsole.core.kinds import KINDS, NODELESS, SIZED_IN_GB, Kind
from cloudconsole.core.ports import Tenant
from cloudconsole.operator.cloudfile import dump
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.resources import end_resource, record_resource, remove_resource, resize_resource
from cloudconsole.store import tables
from cloudconsole.store.engine import open_engine
from cloudconsole.store.reader import Reader
from tests.harness import HeldClock
from tests.operator.clouds import by_name, contents, counted_totals, load_text, rows, stored_totals

START = 1_800_000_000
PRICES = "\n".join(
    f"  - {{kind: {kind}, unit: {unit}, price: 1, from: 2026-01-01}}"
    for kind, unit in (("instance", "vcpu"), ("image", "gb"), ("loadbalance", "each"), ("volume", "gb"))
)
CLOUD = f"version: 1\nnodes: [n1, n2]\nprices:\n{PRICES}\ntenants: [{{name: t1}}, {{name: t2}}]\n"
FITTING: dict[str, dict[str, int]] = {"instance": {"vcpus": 2, "ram_mb": 1500, "disk_gb": 10}} | {
    kind: {"size_gb": 7} for kind in SIZED_IN_GB
}


@pytest.fixture
def store(engine: Engine, tmp_path: Path) -> Engine:
    """Two tenants and two nodes without resources."""
    load_text(engine, tmp_path, CLOUD)
    return engine


@contextmanager
def refused(engine: Engine, words: str) -> Iterator[Connection]:
    """A transaction that must be refused with these words and leave everything as it was."""
    before = contents(engine)
    with pytest.raises(OperatorError, match=words), engine.begin() as connection:
        yield connection
    assert contents(engine) == before


def record(connection: Connection, kind: Kind = "volume", resource_id: str = "r-1", **changes: Any) -> None:
    ids = {"tenant_id": 1, "node_id": None if kind in NODELESS else 1}
    values: dict[str, Any] = {"name": "a", "started_at": START, **ids, **FITTING.get(kind, {}), **changes}
    record_resource(connection, resource_id=resource_id, kind=kind, **values)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_recorded(store: Engine, kind: Kind) -> None:
    with store.begin() as connection:
        record(connection, kind)
    assert stored_totals(store) == counted_totals(store)
    assert len(counted_totals(store)) == 1


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        ("volume", {"size_gb": 0}, "size_gb of volume: must be from 1"),
        ("volume", {"size_gb": 2**31}, "size_gb of volume: must be from 1"),
        ("volume", {"vcpus": 1}, "vcpus of volume: the kind volume has no such size"),
        ("instance", {"vcpus": 0}, "vcpus of instance: must be from 1"),
        ("instance", {"ram_mb": -1}, "ram_mb of instance: must be from 1"),
        ("instance", {"disk_gb": -1}, "disk_gb of instance: must be from 0"),
        ("loadbalance", {"size_gb": -1}, "has no such size"),
        ("instance", {"node_id": None}, "must be on a node"),
        ("keypair", {"node_id": 1}, "is on no node"),
        ("volume", {"started_at": 1_700_000_000}, "has no price on this node at that time"),
    ],
)
def test_a_resource_that_cannot_be_recorded(store: Engine, kind: Kind, changes: dict[str, Any], words: str) -> None:
    with refused(store, words) as connection:
        record(connection, kind, **changes)


def test_an_id_is_recorded_once(store: Engine) -> None:
    with store.begin() as connection:
        record(connection)
    with refused(store, "there is a resource r-1 already") as connection:
        record(connection)


def test_a_node_without_a_price_of_its_own_or_for_all_is_refused(engine: Engine, tmp_path: Path) -> None:
    price = "{kind: volume, unit: gb, node: n1, price: 1, from: 2026-01-01}"
    load_text(engine, tmp_path, f"version: 1\nnodes: [n1, n2]\nprices: [{price}]\ntenants: [{{name: t1}}]\n")
    with engine.begin() as connection:
        record(connection)
    with refused(engine, "has no price") as connection:
        resize_resource(connection, "r-1", at=START, node_id=2)


@pytest.mark.parametrize("sizes", [{"size_gb": 0}, {"vcpus": 1}])
def test_a_resize_that_does_not_fit_is_refused(store: Engine, sizes: dict[str, int]) -> None:
    with store.begin() as connection:
        record(connection)
    with refused(store, "of volume") as connection:
        resize_resource(connection, "r-1", at=START, **sizes)


def test_nothing_ends_before_it_starts(store: Engine) -> None:
    with store.begin() as connection:
        record(connection)
    with refused(store, "cannot end before it starts") as connection:
        end_resource(connection, "r-1", at=START - 1)


def test_nothing_ends_where_it_had_no_price(engine: Engine, tmp_path: Path) -> None:
    late = "  - {kind: volume, unit: gb, node: n2, price: 1, from: 2027-06-01}\n"
    only_first_node = PRICES.replace("kind: volume, unit: gb,", "kind: volume, unit: gb, node: n1,")
    load_text(engine, tmp_path, CLOUD.replace(PRICES, only_first_node + "\n" + late.rstrip()))
    moved = int(datetime(2027, 6, 2, tzinfo=UTC).timestamp())
    other_node = by_name(engine, tables.nodes)["n2"]["id"]
    with engine.begin() as connection:
        record(connection)
        resize_resource(connection, "r-1", at=moved, node_id=other_node)
    with refused(engine, "no price") as connection:
        end_resource(connection, "r-1", at=START + 1)


def test_what_has_ended_is_neither_resized_nor_ended_again(store: Engine) -> None:
    with store.begin() as connection:
        record(connection)
        end_resource(connection, "r-1", at=START)
    with refused(store, "has an end already") as connection:
        resize_resource(connection, "r-1", at=START, size_gb=8)
    with refused(store, "has an end already") as connection:
        end_resource(connection, "r-1", at=START)


def test_what_is_not_there_cannot_be_changed(store: Engine) -> None:
    with refused(store, "there is no resource r-9") as connection:
        resize_resource(connection, "r-9", at=START, size_gb=1)
    with refused(store, "there is no resource r-9") as connection:
        end_resource(connection, "r-9", at=START)
    with refused(store, "there is no resource r-9") as connection:
        remove_resource(connection, "r-9")


def test_a_tenant_whose_resources_are_gone_can_be_removed(store: Engine, tmp_path: Path) -> None:
    with store.begin() as connection:
        record(connection)
        remove_resource(connection, "r-1")
    load_text(store, tmp_path, CLOUD.replace("{name: t1}, ", ""))
    assert list(by_name(store, tables.tenants)) == ["t2"]


kinds = st.sampled_from(KINDS)
places = st.integers(0, 50)
counts = st.sampled_from([1, 2, 1023, 1024, 1025, 2**31 - 1])
moments = st.integers(START, START + 10**6)


class ResourceLife(RuleBasedStateMachine):
    """Any order of changes and loads, over a real store."""

    template: Path

    def __init__(self) -> None:
        super().__init__()
        self._temporary = TemporaryDirectory()
        self._folder = Path(self._temporary.name)
        self._engine = open_engine(copytree(self.template, self._folder / "data"), "cloud")
        self._reader = Reader(self._folder / "data")
        self._recorded = 0

    def teardown(self) -> None:
        self._reader.close()
        self._engine.dispose()
        self._temporary.cleanup()

    @initialize()
    def begin(self) -> None:
        load_text(self._engine, self._folder, CLOUD)

    @rule(kind=kinds, tenant=places, node=places, count=counts, other=counts, moment=moments)
    def record(self, kind: Kind, tenant: int, node: int, count: int, other: int, moment: int) -> None:
        sizes = dict(zip(FITTING.get(kind, {}), (count, other, count), strict=False))
        where = {"tenant_id": self._one(tables.tenants, tenant)}
        if kind not in NODELESS:
            where["node_id"] = self._one(tables.nodes, node)
        self._recorded += 1
        with self._engine.begin() as connection:
            record(connection, kind, f"r-{self._recorded}", started_at=moment, **where, **sizes)

    @precondition(lambda self: bool(self._live()))
    @rule(place=places, count=counts, other=counts, moment=moments)
    def resize(self, place: int, count: int, other: int, moment: int) -> None:
        resource = self._choose(place)
        sizes = dict(zip(FITTING.get(resource["kind"], {}), (count, other, other), strict=False))
        with self._engine.begin() as connection:
            resize_resource(connection, resource["id"], at=moment, **sizes)

    @precondition(lambda self: bool(self._live()))
    @rule(place=places, node=places, moment=moments)
    def move(self, place: int, node: int, moment: int) -> None:
        resource = self._choose(place)
        node_id = self._one(tables.nodes, node)
        if resource["kind"] not in NODELESS:
            with self._engine.begin() as connection:
                resize_resource(connection, resource["id"], at=moment, node_id=node_id)

    @precondition(lambda self: bool(self._live()))
    @rule(place=places, later=st.integers(0, 10**6))
    def end(self, place: int, later: int) -> None:
        resource = self._choose(place)
        with self._engine.begin() as connection:
            end_resource(connection, resource["id"], at=resource["started_at"] + later)

    @precondition(lambda self: bool(rows(self._engine, tables.resources)))
    @rule(place=places)
    def remove(self, place: int) -> None:
        there = rows(self._engine, tables.resources)
        with self._engine.begin() as connection:
            remove_resource(connection, there[place % len(there)]["id"])

    @rule()
    def dump_and_load(self) -> None:
        before = contents(self._engine)
        assert not load_text(self._engine, self._folder, dump(self._engine)).changed
        assert contents(self._engine) == before

    @rule(kept=st.sets(st.integers(1, 20)))
    def load_without_some(self, kept: set[int]) -> None:
        gone = tuple(f"{{id: r-{number}," for number in range(1, self._recorded + 1) if number not in kept)
        lines = dump(self._engine).splitlines()
        text = "\n".join(line for line in lines if not (gone and line.strip().removeprefix("- ").startswith(gone)))
        load_text(self._engine, self._folder, text)
        assert len(rows(self._engine, tables.resources)) <= len(kept)

    @rule()
    def load_with_tenants_swapped(self) -> None:
        text = dump(self._engine)
        swapped = text.replace("- name: t1", "- name: ?").replace("- name: t2", "- name: t1")
        load_text(self._engine, self._folder, swapped.replace("- name: ?", "- name: t2"))

    @invariant()
    def totals_are_what_is_there(self) -> None:
        assert stored_totals(self._engine) == counted_totals(self._engine)

    @invariant()
    def usage_is_what_is_in_use(self) -> None:
        now = START + 500_000
        answers = EmbeddedCloud(self._reader, HeldClock(now), UTC)
        in_use = [
            row
            for row in rows(self._engine, tables.resources)
            if row["started_at"] <= now and (row["ended_at"] is None or row["ended_at"] > now)
        ]
        for tenant in rows(self._engine, tables.tenants):
            own = [row for row in in_use if row["tenant_id"] == tenant["id"]]
            usage = asyncio.run(answers.usage_limits(Tenant(tenant["id"], ""))).record
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
        return [row for row in rows(self._engine, tables.resources) if row["ended_at"] is None]

    def _choose(self, place: int) -> dict[str, Any]:
        live = self._live()
        return live[place % len(live)]

    def _one(self, table: Any, place: int) -> int:
        with self._engine.begin() as connection:
            ids = connection.scalars(select(table.c.id).order_by(table.c.id)).all()
        return int(ids[place % len(ids)])


def test_totals_and_usage_stay_true_through_any_life(empty_store: Path) -> None:
    class OverTemplate(ResourceLife):
        template = empty_store

    run_state_machine_as_test(OverTemplate, settings=settings(max_examples=25, stateful_step_count=20, deadline=None))
