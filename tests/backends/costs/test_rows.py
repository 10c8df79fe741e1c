"""Costs by resource: they add up to the months, in pages."""

import random
from calendar import monthrange
from datetime import date
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from cloudconsole.backends.costs.reports import RecordedCosts
from cloudconsole.operator.entities import RESOURCES
from cloudconsole.spec.errors import InvalidField
from cloudconsole.spec.extension_records import Consumption, ResourceSize
from cloudconsole.spec.extensions import ConsumptionsParameters
from tests.backends.costs.billing_histories import NODE_IDS, Operator, Story
from tests.backends.small_cloud import ACME, ISSUER, SmallCloud
from tests.core.test_billing_hours import at
from tests.stores import run


def consumptions(costs: RecordedCosts, limit: int = 1000, **parameters: Any) -> list[Consumption]:
    """All pages."""
    rows: list[Consumption] = []
    while True:
        marker = rows[-1].id if rows else ""
        page = run(costs.consumptions(ACME, ConsumptionsParameters(limit=limit, marker=marker, **parameters))).record
        rows += page
        if len(page) < limit:
            return rows


def total_of(rows: list[Consumption]) -> Decimal:
    return sum((Decimal(row.amount) for row in rows), Decimal())


@pytest.mark.parametrize("zone_name", ["UTC", "Europe/Berlin", "Australia/Lord_Howe"])
@pytest.mark.parametrize("seed", range(4))
def test_rows_add_up_to_the_months(cloud: SmallCloud, seed: int, zone_name: str) -> None:
    zone = ZoneInfo(zone_name)
    operator = Operator(cloud, random.Random(f"{seed} {zone_name}"), zone, at("2026-01-20"))
    costs = RecordedCosts(cloud.reader, cloud.clock, zone, ISSUER)
    for _ in range(60):
        operator.step()
    cloud.clock.moment = operator.now
    for bill in run(costs.report(ACME)).record:
        year, month = map(int, bill.bill_month.split("-"))
        first = date(year, month, 1)
        last = date(year, month, monthrange(year, month)[1])
        rows = consumptions(costs, start_at=first, end_at=last)
        assert total_of(rows) == Decimal(bill.total or 0)
        corrections = [row for row in rows if row.billing_type == "correction"]
        assert total_of(corrections) == Decimal(bill.corrections or 0)
        assert (bill.corrections is None) == (bill.total is None)
        assert {row.billing_id for row in rows} <= {bill.bill_month}
        assert consumptions(costs, limit=3, start_at=first, end_at=last) == rows
        daily = consumptions(costs, start_at=first, end_at=last, interval="day")
        assert total_of(daily) == total_of(rows)
        assert total_of(consumptions(costs, start_at=first, end_at=first)) == total_of(
            [row for row in daily if row.start_at.startswith(str(first))]
        )
        by_node = [total_of(consumptions(costs, region=node, start_at=first, end_at=last)) for node in NODE_IDS]
        assert sum(by_node) == total_of(rows)
        kinds = [consumptions(costs, type=kind, start_at=first, end_at=last) for kind in ("volume", "loadbalance")]
        assert sum(map(total_of, kinds)) == total_of(rows)
        for row in rows:
            hours = Decimal(row.cost_time) / 3600
            assert row.billing_type == "correction" or Decimal(row.unit_price) * hours == Decimal(row.amount)


def test_rows_of_a_resource(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-11-01T00:10:00", "data")
    story.act("2026-11-01T05:10:00", RESOURCES.change, "data", {"size": 20})
    story.cloud.clock.moment = at("2026-11-01T06:30:00")
    first, second = consumptions(story.costs)
    assert first == Consumption(
        res_type="volume",
        res_meta=ResourceSize(0, 0, 10),
        start_at="2026-11-01 00:00:00",
        end_at="2026-11-01 05:00:00",
        name="data",
        region="north",
        unit_price="0.10",
        billing_type="hourly",
        amount="0.50",
        remarks="",
        billing_id="2026-11",
        cost_time="18000",
        res_id="data",
        id=f"data/{at('2026-11-01')}/0",
        is_billing=False,
    )
    assert (second.start_at, second.end_at) == ("2026-11-01 05:00:00", "2026-11-01 07:00:00")
    assert (second.unit_price, second.amount, second.is_billing) == ("0.20", "0.40", True)
    assert consumptions(story.costs, type="router") == []
    assert consumptions(story.costs, region="elsewhere") == []
    assert consumptions(story.costs, start_at=date(2026, 12, 1), end_at=date(2026, 12, 9)) == []


def test_an_end_before_a_price_is_a_row_of_its_own(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.price("2026-10-01", "0.02", "2026-11-01T12:30:00Z")
    story.volume("2026-11-01T10:15:00")
    story.act("2026-11-01T12:10:00", RESOURCES.end, "v")
    story.cloud.clock.moment = at("2026-11-02")
    assert [(row.unit_price, row.cost_time) for row in consumptions(story.costs)] == [("0.10", "10800")]


def test_a_correction_is_a_row(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-11-30T19:00:00")
    story.act("2026-12-03T10:00:00", RESOURCES.end, "v", "2026-11-30T20:30:00Z")
    story.cloud.clock.moment = at("2026-12-05")
    (row,) = consumptions(story.costs)
    assert (row.billing_type, row.remarks, row.amount, row.cost_time) == ("correction", "end", "-0.30", "0")
    assert (row.start_at, row.billing_id) == ("2026-12-03 10:00:00", "2026-12")
    assert consumptions(story.costs, start_at=date(2026, 12, 4)) == []


@pytest.mark.parametrize(
    ("first", "last"),
    [(date(2025, 11, 15), date(2026, 11, 16)), (date(2026, 12, 1), date(2026, 11, 30))],
    ids=["too long", "reversed"],
)
def test_invalid_periods_are_rejected(story: Story, first: date, last: date) -> None:
    story.cloud.clock.moment = at("2026-11-16T10:00:00")
    with pytest.raises(InvalidField) as caught:
        run(story.costs.consumptions(ACME, ConsumptionsParameters(start_at=first, end_at=last)))
    assert caught.value.field == "start_at"
    assert consumptions(story.costs, start_at=date(2025, 11, 16), end_at=date(2026, 11, 16)) == []


@pytest.mark.parametrize(
    ("first", "days"),
    [(date(2026, 11, 15), 2), (date(2025, 11, 15), 366), (date(2026, 12, 1), 0)],
    ids=["to today", "the longest period", "in the future"],
)
def test_a_first_day_is_enough(story: Story, first: date, days: int) -> None:
    story.price("2025-01-01", "0.01", "2025-01-01T00:00:00Z")
    story.volume("2025-02-01")
    story.cloud.clock.moment = at("2026-11-16T23:30:00")
    rows = consumptions(story.costs, start_at=first)
    assert sum(int(row.cost_time) for row in rows) == days * 86_400


@pytest.mark.parametrize("day", [date.min, date(1969, 12, 31), date(1970, 1, 1), date.max])
def test_periods_of_any_time_are_valid(story: Story, day: date) -> None:
    assert consumptions(story.costs, start_at=day, end_at=day) == []


def test_any_text_may_be_a_marker(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    for name in ("a", "b"):
        story.volume("2026-11-01T00:10:00", name)
    story.cloud.clock.moment = at("2026-11-01T06:30:00")

    def after(marker: str) -> list[str]:
        page = run(story.costs.consumptions(ACME, ConsumptionsParameters(marker=marker))).record
        return [row.res_id for row in page]

    assert [after("a"), after("a/x/0"), after(f"a/{at('2026-11-01')}/0"), after("b/１/0"), after("c")] == [
        ["a", "b"],
        ["b"],
        ["b"],
        [],
        [],
    ]
