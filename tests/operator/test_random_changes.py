"""Random sequences of operator changes: rejected ones change nothing, and counters and prices stay consistent."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from cloudconsole.backends.embedded.cloud import EmbeddedCloud
from cloudconsole.core.clock import format_utc
from cloudconsole.core.ports import Tenant
from cloudconsole.core.resources import KINDS, NODELESS, SIZED_IN_GB
from cloudconsole.operator.cloud_file import dump
from cloudconsole.operator.entities import NODES, PRICES, QUOTAS, RESOURCES, TENANTS
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.store import tables
from cloudconsole.store.base import Reader
from tests.harness import FakeClock
from tests.operator.clouds import contents, expected_totals, load_text, rows, rows_of_all, stored_totals
from tests.operator.transactions import NOW, transaction
from tests.stores import copy_store, open_engine, release_databases, run, store_in

pytestmark = pytest.mark.slow

CLOUD = "version: 1\nnodes: [n1, n2]\ntenants: [{name: t1}, {name: t2}]\n"
Step = Callable[[OperatorTransaction], Any]

tenants = st.sampled_from(["t1", "t2", "t3"])
nodes = st.sampled_from(["n1", "n2", "n3"])
ids = st.sampled_from(["r1", "r2", "r3", "r4", "r5"])
moments = st.sampled_from([NOW - 86_400 * 400, NOW - 3600, NOW - 60, NOW, NOW + 60, NOW + 86_400]).map(format_utc)
sizes = st.sampled_from([1, 2, 5, 1023, 1025, 60_000])
units = st.sampled_from(
    [("instance", "each"), ("instance", "vcpu"), ("image", "gb"), ("loadbalance", "each"), ("volume", "gb")]
)


@st.composite
def price_keys(draw: st.DrawFn) -> str:
    kind, unit = draw(units)
    node = draw(st.none() | nodes)
    return "/".join([kind, unit, draw(moments), *([] if node is None else [node])])


@st.composite
def new_prices(draw: st.DrawFn) -> Step:
    kind, unit = draw(units)
    price = {"kind": kind, "unit": unit, "node": draw(st.none() | nodes), "price": "0.5", "from": draw(moments)}
    return lambda tx: PRICES.add(tx, price)


@st.composite
def new_resources(draw: st.DrawFn) -> Step:
    kind = draw(st.sampled_from(KINDS))
    values: dict[str, Any] = {"tenant": draw(tenants), "id": draw(ids), "kind": kind, "name": "a"}
    values |= {} if kind in NODELESS else {"node": draw(nodes)}
    values |= {"vcpus": draw(sizes), "ram": draw(sizes), "disk": 1} if kind == "instance" else {}
    values |= {"size": draw(sizes)} if kind in SIZED_IN_GB else {}
    values |= {"started": draw(moments), "ended": draw(st.none() | moments)}
    return lambda tx: RESOURCES.add(tx, values)


def step(verb: Callable[..., Any], *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    return st.tuples(*arguments).map(lambda chosen: lambda tx: verb(tx, *chosen))


steps = st.one_of(
    new_prices(),
    new_prices(),
    new_resources(),
    new_resources(),
    new_resources(),
    step(PRICES.remove, price_keys()),
    step(PRICES.change, price_keys(), st.fixed_dictionaries({}, optional={"from": moments, "node": st.none() | nodes})),
    step(RESOURCES.change, ids, st.fixed_dictionaries({}, optional={"size": sizes, "vcpus": sizes, "node": nodes})),
    step(RESOURCES.end, ids, st.none() | moments),
    step(RESOURCES.remove, ids),
    step(QUOTAS.change, tenants, st.fixed_dictionaries({}, optional={"cores": sizes, "gigabytes": st.just(-1)})),
    step(TENANTS.add, tenants.map(lambda name: {"name": name})),
    step(TENANTS.change, tenants, tenants.map(lambda name: {"name": name})),
    step(TENANTS.disable, tenants),
    step(TENANTS.enable, tenants),
    step(TENANTS.remove, tenants),
    step(NODES.add, nodes.map(lambda name: {"name": name})),
    step(NODES.change, nodes, nodes.map(lambda name: {"name": name})),
    step(NODES.disable, nodes),
    step(NODES.enable, nodes),
    step(NODES.remove, nodes),
)


def assert_usage_is_correct(engine: Engine, cloud: EmbeddedCloud) -> None:
    resources, all_tenants = rows_of_all(engine, tables.resources, tables.tenants)
    for tenant in all_tenants:
        usage = run(cloud.usage_limits(Tenant(tenant["id"], ""))).record
        own = [
            row
            for row in resources
            if row["tenant_id"] == tenant["id"]
            and row["started_at"] <= NOW
            and (row["ended_at"] is None or row["ended_at"] > NOW)
        ]
        by_kind = Counter(row["kind"] for row in own)
        assert (usage.total_instances_used, usage.total_volumes_used) == (by_kind["instance"], by_kind["volume"])
        assert (usage.total_cores_used, usage.total_ram_used) == (
            sum(row["vcpus"] for row in own),
            sum(row["ram_mb"] for row in own),
        )
        on_disk = [row["size_gb"] for row in own if row["kind"] in ("volume", "snapshot")]
        assert usage.total_gigabytes_used == sum(on_disk)


def assert_everything_has_a_price(engine: Engine, reader: Reader) -> None:
    all_tenants = rows(engine, tables.tenants)
    for later in (0, 61, 86_401):
        cloud = EmbeddedCloud(reader, FakeClock(NOW + later), UTC)
        for tenant in all_tenants:
            run(cloud.consumption(Tenant(tenant["id"], "")))


def test_random_changes_keep_counters_and_prices_consistent(store_with: Callable[[str], Path]) -> None:
    @settings(max_examples=40, deadline=None)
    @given(st.lists(st.tuples(steps, st.booleans()), min_size=5, max_size=30))
    def check(chosen: list[tuple[Step, bool]]) -> None:
        with TemporaryDirectory() as directory:
            engine = open_engine(copy_store(store_with(CLOUD), Path(directory) / "data"), "cloud")
            reader = store_in(Path(directory) / "data").reader()
            current = contents(engine)
            for change, force in chosen:
                before = current
                rejected = False
                try:
                    with transaction(engine, force=force) as tx:
                        change(tx)
                except OperatorError:
                    rejected = True
                current = contents(engine)
                assert not rejected or current == before
                assert stored_totals(current["totals"]) == expected_totals(current["resources"])
            assert_usage_is_correct(engine, EmbeddedCloud(reader, FakeClock(NOW), UTC))
            assert_everything_has_a_price(engine, reader)
            assert not load_text(engine, Path(directory), dump(engine)).changed
            assert contents(engine) == current
            run(reader.leave())
            reader.close()
            engine.dispose()
            release_databases(Path(directory))

    check()
