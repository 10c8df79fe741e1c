"""The cost of any resources is the sum of their costs."""

from contextlib import closing
from pathlib import Path
from shutil import copytree
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import insert

from cloudconsole.backends.openstack.billable import BillableResource
from cloudconsole.backends.openstack.costs import hourly_by_kind
from cloudconsole.backends.prices import CachedPrices, PriceList
from cloudconsole.core.resources import PRICED_UNITS, TYPED_UNITS, Amounts
from cloudconsole.spec.records import BillableType
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.sqlite.reader import SqliteReader
from cloudconsole.store.tables import nodes, prices
from tests.backends.price_reader import read_prices

NOW = 1000.0


@pytest.fixture(scope="module")
def price_list(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> PriceList:
    """Return distinct prices, general and for `south`, with and without a type, past, current and future."""
    data_dir = copytree(empty_store, tmp_path_factory.mktemp("priced") / "data")
    units = [(kind, unit, None) for kind, units in PRICED_UNITS.items() for unit in units]
    typed = [(kind, unit, "special") for kind, unit in TYPED_UNITS.items()]
    rows = [
        {"kind": kind, "unit": unit, "type": name, "node_id": node, "start": start}
        for kind, unit, name in units + typed
        for node in (None, 1)
        for start in (0, 500, 1500)
    ]
    with opened(data_dir, "cloud") as engine, engine.begin() as connection:
        connection.execute(insert(nodes).values(id=1, name="south"))
        connection.execute(insert(prices), [{**row, "billionths": 2**number} for number, row in enumerate(rows)])
    with closing(SqliteReader(data_dir)) as reader:
        return read_prices(CachedPrices(of_types=True), reader)


RESOURCES = st.builds(
    BillableResource,
    region=st.sampled_from(["north", "south"]),
    kind=st.sampled_from(get_args(BillableType)),
    id=st.text(),
    amounts=st.builds(Amounts, *[st.integers(0, 100)] * 5),
    type=st.sampled_from([None, "special", "other"]),
    ended_at=st.sampled_from([None, 400.0, 600.0, 2000.0]),
)


@given(st.lists(RESOURCES, max_size=8))
def test_total_cost_is_the_sum_over_resources(price_list: PriceList, resources: list[BillableResource]) -> None:
    expected = dict.fromkeys(PRICED_UNITS, 0)
    for resource in resources:
        node = 1 if resource.region == "south" else None
        at = 400 if resource.ended_at == 400 else NOW
        cost = price_list.book.hourly(resource.kind, node, resource.amounts, at, resource.type)
        assert cost is not None
        expected[resource.kind] += cost
    assert hourly_by_kind(resources, price_list, NOW) == expected
