"""Random sequences of operator changes: rejected ones change nothing, and counters and prices stay consistent."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from cloudconsole.backends.embedded.cloud import EmbeddedCloud
from cloudconsole.core.clock import format_utc
from cloudconsole.core.ports import Tenant
from cloudconsole.core.resources import KINDS, NODELESS, QUOTA_USES, SIZED_IN_GB
from cloudconsole.operator.cloud_file import dump
from cloudconsole.operator.entities import NODES, PRICES, QUOTAS, RESOURCES, TENANTS
from cloudconsole.operator.errors import OperatorError
from cloudconsole.store import tables
from cloudconsole.store.base import Reader
from tests.harness import FakeClock
from tests.operator.clouds import assert_counters_match, contents, expected_usage, load_text, rows, rows_of_all
from tests.operator.transactions import NOW, transaction
from tests.stores import copy_store, open_engine, release_databases, run, store_in

pytestmark = pytest.mark.slow

CLOUD = """\
version: 1
nodes: [n1, n2]
prices:
  - {kind: instance, unit: vcpu, price: 1, from: 2025-01-01}
  - {kind: image, unit: gb, price: 1, from: 2025-01-01}
  - {kind: loadbalance, unit: each, price: 1, from: 2025-01-01}
  - {kind: volume, unit: gb, price: 1, from: 2025-01-01}
tenants: [{name: t1}, {name: t2}]
"""


class Target(NamedTuple):
    engine: Engine
    directory: Path
    force: bool
    numbers: Iterator[int]
    """Numbers of new resources."""


Step = Callable[[Target], object]
"""A change in a transaction of its own."""

# Most changes refer to what exists, since rejected ones test little.
tenants = st.sampled_from(["t1", "t2"] * 4 + ["t3"])
nodes = st.sampled_from(["n1", "n2"] * 4 + ["n3"])
indexes = st.integers(0, 50)
moments = st.sampled_from([NOW - 86_400 * 400, NOW - 3600, NOW - 60, NOW, NOW + 60, NOW + 86_400]).map(format_utc)
sizes = st.sampled_from([1, 2, 5, 1023, 1024, 1025, 60_000, 2**31 - 1])
units = st.sampled_from(
    [("instance", "each"), ("instance", "vcpu"), ("image", "gb"), ("loadbalance", "each"), ("volume", "gb")]
)


def in_transaction(verb: Callable[..., object], *arguments: Any) -> Step:
    def change(target: Target) -> None:
        with transaction(target.engine, force=target.force) as tx:
            verb(tx, *arguments)

    return change


@st.composite
def price_keys(draw: st.DrawFn) -> str:
    kind, unit = draw(units)
    node = draw(st.none() | nodes)
    return "/".join([kind, unit, draw(moments), *([] if node is None else [node])])


@st.composite
def new_prices(draw: st.DrawFn) -> Step:
    kind, unit = draw(units)
    price = {"kind": kind, "unit": unit, "node": draw(st.none() | nodes), "price": "0.5", "from": draw(moments)}
    return in_transaction(PRICES.add, price)


@st.composite
def new_resources(draw: st.DrawFn) -> Step:
    kind = draw(st.sampled_from(KINDS))
    values: dict[str, Any] = {"tenant": draw(tenants), "kind": kind, "name": "a"}
    values |= {} if kind in NODELESS else {"node": draw(nodes)}
    values |= {"vcpus": draw(sizes), "ram": draw(sizes), "disk": 1} if kind == "instance" else {}
    values |= {"size": draw(sizes)} if kind in SIZED_IN_GB else {}
    values |= {"started": draw(moments), "ended": draw(st.one_of(st.none(), st.none(), st.none(), moments))}
    return lambda target: in_transaction(RESOURCES.add, values | {"id": f"r{next(target.numbers)}"})(target)


@st.composite
def changes_of_resources(draw: st.DrawFn) -> Step:
    index, size, other = draw(indexes), draw(sizes), draw(sizes)
    node, moment = draw(nodes), draw(st.none() | moments)
    what = draw(st.sampled_from(["resize", "resize", "move", "end", "remove"]))

    def change(target: Target) -> None:
        present = rows(target.engine, tables.resources)
        if not present:
            return
        resource = present[index % len(present)]
        key, kind = resource["id"], resource["kind"]
        if what == "remove":
            in_transaction(RESOURCES.remove, key)(target)
        elif what == "end":
            in_transaction(RESOURCES.end, key, moment)(target)
        elif what == "move":
            in_transaction(RESOURCES.change, key, {} if kind in NODELESS else {"node": node})(target)
        else:
            amounts = {"vcpus": size, "ram": other} if kind == "instance" else {}
            in_transaction(RESOURCES.change, key, {"size": size} if kind in SIZED_IN_GB else amounts)(target)

    return change


def step(verb: Callable[..., Any], *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    return st.tuples(*arguments).map(lambda chosen: in_transaction(verb, *chosen))


@st.composite
def loads_without_some(draw: st.DrawFn) -> Step:
    starts = tuple(f"- {{id: r{number}," for number in draw(st.sets(st.integers(1, 20), min_size=1, max_size=3)))

    def change(target: Target) -> None:
        lines = dump(target.engine).splitlines()
        text = "\n".join(line for line in lines if not line.strip().startswith(starts))
        load_text(target.engine, target.directory, text, force=target.force)

    return change


def load_with_tenants_swapped(target: Target) -> None:
    text = dump(target.engine).replace("- name: t1\n", "- name: ?\n").replace("- name: t2\n", "- name: t1\n")
    load_text(target.engine, target.directory, text.replace("- name: ?\n", "- name: t2\n"), force=target.force)


resource_steps = st.one_of(
    new_resources(),
    new_resources(),
    changes_of_resources(),
    changes_of_resources(),
    loads_without_some(),
    st.just(load_with_tenants_swapped),
)
other_steps = st.one_of(
    new_prices(),
    step(PRICES.remove, price_keys()),
    step(PRICES.change, price_keys(), st.fixed_dictionaries({}, optional={"from": moments, "node": st.none() | nodes})),
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
steps = st.sampled_from([resource_steps] * 5 + [other_steps]).flatmap(lambda chosen: chosen)
forces = st.sampled_from([True, True, False])


def assert_usage_is_correct(engine: Engine, cloud: EmbeddedCloud) -> None:
    resources, all_tenants = rows_of_all(engine, tables.resources, tables.tenants)
    started = [row for row in resources if row["started_at"] <= NOW]
    running = [row | {"ended_at": None} for row in started if row["ended_at"] is None or row["ended_at"] > NOW]
    expected = expected_usage(running)
    for tenant in all_tenants:
        usage = run(cloud.usage_limits(Tenant(tenant["id"], ""))).record
        for name in QUOTA_USES.keys() - {"keypairs"}:
            assert getattr(usage, f"total_{name}_used") == expected.get(tenant["id"], Counter())[name], name


def assert_everything_has_a_price(engine: Engine, reader: Reader) -> None:
    all_tenants = rows(engine, tables.tenants)
    for later in (0, 61, 86_401):
        cloud = EmbeddedCloud(reader, FakeClock(NOW + later), UTC)
        for tenant in all_tenants:
            run(cloud.consumption(Tenant(tenant["id"], "")))


def test_random_changes_keep_counters_and_prices_consistent(store_with: Callable[[str], Path]) -> None:
    @settings(max_examples=30, deadline=None)
    @given(st.lists(st.tuples(steps, forces), min_size=15, max_size=30))
    def check(chosen: list[tuple[Step, bool]]) -> None:
        with TemporaryDirectory() as directory:
            engine = open_engine(copy_store(store_with(CLOUD), Path(directory) / "data"), "cloud")
            reader = store_in(Path(directory) / "data").reader()
            current, numbers = contents(engine), count(1)
            for change, force in chosen:
                before = current
                rejected = False
                try:
                    change(Target(engine, Path(directory), force, numbers))
                except OperatorError:
                    rejected = True
                current = contents(engine)
                assert not rejected or current == before
                assert_counters_match(current["resources"], current["totals"], current["usage"])
            assert_usage_is_correct(engine, EmbeddedCloud(reader, FakeClock(NOW), UTC))
            assert_everything_has_a_price(engine, reader)
            assert not load_text(engine, Path(directory), dump(engine)).changed
            assert contents(engine) == current
            run(reader.leave())
            reader.close()
            engine.dispose()
            release_databases(Path(directory))

    check()
