"""The cost of any resources is the sum of their costs."""

from itertools import product
from typing import get_args

from cloudconsole.backends.openstack.billable import BillableResource
from cloudconsole.backends.openstack.costs import hourly_by_kind
from cloudconsole.backends.prices import PriceList
from cloudconsole.core.pricing import Price, PriceBook
from cloudconsole.core.resources import PRICED_UNITS, TYPED_UNITS, Amounts
from cloudconsole.spec.records import BillableType

NOW = 1000.0

UNITS = [(kind, unit, None) for kind, units in PRICED_UNITS.items() for unit in units]
TYPED = [(kind, unit, "special") for kind, unit in TYPED_UNITS.items()]
SCOPES = [(*priced, node, start) for priced in [*UNITS, *TYPED] for node in (None, 1) for start in (0, 500, 1500)]
BOOK = PriceBook(
    Price(kind, unit, node, start, 2**number, name) for number, (kind, unit, name, node, start) in enumerate(SCOPES)
)
"""Distinct prices, general and for `south`, with and without a type, past, current and future."""

SCOPES_OF_RESOURCES = product(
    ("north", "south"), get_args(BillableType), (None, "special", "other"), (None, 400.0, 600.0, 2000.0), (1, 2)
)
RESOURCES = [
    BillableResource(region, kind, str(number), Amounts(*range(number, number + 5)), name, ended_at)
    for number, (region, kind, name, ended_at, _) in enumerate(SCOPES_OF_RESOURCES)
]
"""Two resources with each price, and with different amounts."""


def test_total_cost_is_the_sum_over_resources() -> None:
    expected = dict.fromkeys(PRICED_UNITS, 0)
    for resource in RESOURCES:
        node = 1 if resource.region == "south" else None
        at = 400 if resource.ended_at == 400 else NOW
        cost = BOOK.hourly(resource.kind, node, resource.amounts, at, resource.type)
        assert cost is not None
        expected[resource.kind] += cost
    assert hourly_by_kind(RESOURCES, PriceList(BOOK, {"south": 1}), NOW) == expected
