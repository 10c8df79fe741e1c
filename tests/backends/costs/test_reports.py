"""Costs over time: a random year of an operator, compared with a simulation of every hour."""

import random
from datetime import UTC, date, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select, update

from cloudconsole.backends.costs.reports import RecordedCosts
from cloudconsole.core.billing_hours import month_of, month_start
from cloudconsole.core.ports import CloudCredentials, Tenant
from cloudconsole.core.pricing import format_amount
from cloudconsole.operator.entities import NODES, PRICES, RESOURCES, TENANTS
from cloudconsole.operator.entities.resources import recount
from cloudconsole.spec.extension_records import Forecast
from cloudconsole.store.billing import monthly_sums
from cloudconsole.store.billing.resources import record_resources
from cloudconsole.store.billing.verification import differences, incorrect_record
from cloudconsole.store.tables import billing_entries, billing_state, record_names, resources
from tests.backends.costs.billing_histories import NODE_IDS, Operator, Story
from tests.backends.costs.simulation import DAY
from tests.backends.small_cloud import ACME, ISSUER, RIVAL, SmallCloud
from tests.core.test_billing_hours import at
from tests.stores import run


def test_the_example_of_the_guide(story: Story) -> None:
    story.price("2026-11-01", "0.01")
    story.price("2026-11-01", "0.02", "2026-11-15T12:30:00Z")
    story.volume("2026-11-15T10:15:00")
    story.act("2026-11-15T11:59:00", RESOURCES.change, "v", {"size": 20})
    assert story.months("2026-11-15T12:05:00")["2026-11"] == "0.50"
    assert story.months("2026-11-15T12:45:00")["2026-11"] == "0.70"
    story.act("2026-11-15T12:50:00", RESOURCES.end, "v", "2026-11-15T12:10:00Z")
    assert story.months("2026-11-20")["2026-11"] == "0.50"


def test_an_end_in_a_closed_month_is_a_correction(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-11-30T19:00:00")
    assert story.months("2026-11-30T23:59:59")["2026-11"] == "0.50"
    assert story.months("2026-12-01T00:10:00")["2026-12"] == "0.10"
    story.act("2026-12-03", RESOURCES.end, "v", "2026-11-30T20:30:00Z")
    months = story.months("2026-12-05")
    assert (months["2026-11"], months["2026-12"]) == ("0.50", "-0.30")


def test_a_price_for_a_closed_month_is_a_correction(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-11-30T22:00:00")
    story.price("2026-12-01T00:30:00", "0.03", "2026-11-30T23:00:00Z")
    months = story.months("2026-12-01T00:40:00")
    assert (months["2026-11"], months["2026-12"]) == ("0.20", "0.50")


def test_a_first_load_has_its_history(story: Story) -> None:
    story.price("2026-11-10", "0.01")
    story.volume("2026-11-10", started="2026-10-31T22:30:00Z")
    assert story.months("2026-11-10T00:10:00")["2026-10"] == "0.20"
    story.act("2026-11-10T00:20:00", PRICES.change, "volume/gb/2026-01-01T00:00:00Z", {"price": "0.02"})
    assert story.months("2026-11-10T00:30:00")["2026-10"] == "0.40"
    story.volume("2026-12-03", "later")
    assert story.months("2026-12-04")["2026-10"] == "0.40"
    story.volume("2027-01-03", "last")
    assert story.months("2027-01-04")["2026-10"] == "0.40"


NODE_PRICE = {"kind": "volume", "unit": "gb", "node": "north", "from": "2026-01-01T00:00:00Z", "price": "0.05"}
NODE_KEY = "volume/gb/2026-01-01T00:00:00Z/north"


@pytest.mark.parametrize("removed", ["2026-11-01T03:00:00", "2026-12-05"], ids=["open month", "closed month"])
@pytest.mark.parametrize("has_general_price", [False, True])
def test_a_price_that_is_removed_has_applied(story: Story, removed: str, has_general_price: bool) -> None:
    if has_general_price:
        story.price("2026-10-01", "0.01")
    story.act("2026-10-01", PRICES.add, NODE_PRICE)
    story.volume("2026-11-01T00:10:00")
    story.act("2026-11-01T02:10:00", RESOURCES.remove, "v")
    story.act(removed, PRICES.remove, NODE_KEY)
    months = story.months("2026-12-10")
    assert (months["2026-11"], months["2026-12"]) == ("1.00", "0.00")
    assert run(story.costs.summary(ACME, "north")).record[-1].amount == "1.00"


def test_a_price_that_is_removed_and_added_from_a_later_start_has_applied(story: Story) -> None:
    story.act("2026-10-01", PRICES.add, NODE_PRICE)
    story.volume("2026-11-01T00:10:00")
    story.act("2026-11-01T02:10:00", RESOURCES.remove, "v")
    story.act("2026-11-05", PRICES.remove, NODE_KEY)
    story.act("2026-11-05", PRICES.add, NODE_PRICE | {"from": "2026-11-04T00:00:00Z"})
    assert story.months("2026-11-10")["2026-11"] == "1.00"


def test_a_removed_price_leaves_the_one_before(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.price("2026-10-01", "0.02", "2026-11-01T02:00:00Z")
    story.volume("2026-11-01T00:10:00")
    story.act("2026-11-01T03:30:00", PRICES.remove, "volume/gb/2026-11-01T02:00:00Z")
    # Two hours at 0.10, one at 0.20, and again 0.10 from the hour of the removal on.
    assert story.months("2026-11-01T04:30:00")["2026-11"] == "0.60"


def test_a_price_removed_before_the_closing_and_recorded_after_it_is_corrected(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.price("2026-10-01", "0.02", "2026-10-05T00:00:00Z")
    story.volume("2026-11-30T22:00:00")
    story.volume("2026-12-01T00:00:05", "closing")
    story.act("2026-11-30T23:59:59", PRICES.remove, "volume/gb/2026-10-05T00:00:00Z")
    months = story.months("2026-12-01T00:10:00")
    # The last hour of November cost 0.10 too much.
    assert (months["2026-11"], months["2026-12"]) == ("0.40", "0.10")


def test_a_future_price_can_be_cancelled(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.price("2026-10-01", "0.02", "2026-11-01T02:00:00Z")
    story.act("2026-10-20", PRICES.remove, "volume/gb/2026-11-01T02:00:00Z")
    story.volume("2026-11-01T00:10:00")
    assert story.months("2026-11-01T04:30:00")["2026-11"] == "0.50"


def test_several_prices_in_one_hour_correct_an_end_once(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    for start in ("12:20", "12:30", "12:50"):
        story.price("2026-10-01", f"0.{start[3:]}", f"2026-11-15T{start}:00Z")
    for kind in ("loadbalance", "image"):
        unit = "gb" if kind == "image" else "each"
        values = {"kind": kind, "unit": unit, "from": "2026-11-15T12:40:00Z", "price": "9"}
        story.act("2026-10-01", PRICES.add, values)
    story.volume("2026-11-15T12:05:00")
    story.act("2026-11-15T12:10:00", RESOURCES.end, "v")
    story.volume("2026-11-15T12:05:00", "w")
    story.act("2026-11-15T12:25:00", RESOURCES.end, "w")
    assert story.months("2026-11-15T13:10:00")["2026-11"] == "2.10"


def volume_row(**changes: Any) -> dict[str, Any]:
    row = {"id": "v", "tenant_id": ACME.id, "kind": "volume", "name": "v", "node_id": 1, "vcpus": 0, "ram_mb": 0}
    return {**row, "disk_gb": 0, "size_gb": 10, "started_at": at("2026-10-31T20:00:00"), "ended_at": None, **changes}


def test_a_resource_that_another_tenant_takes_over_is_billed_once(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-10-31T20:00:00")
    with story.cloud.engine.begin() as connection:
        changed = volume_row(), volume_row(tenant_id=RIVAL.id)
        record_resources(connection, [changed], at("2026-11-01T05:10:00"), UTC)
    months = story.months("2026-11-01T06:30:00")
    assert (months["2026-10"], months["2026-11"]) == ("0.40", "0.50")
    taken = {bill.bill_month: bill.total for bill in run(story.costs.report(RIVAL)).record}
    assert (taken["2026-10"], taken["2026-11"]) == ("0.00", "0.20")


def test_an_id_that_another_tenant_has_used_is_billed(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-11-01")
    story.act("2026-11-01T02:10:00", RESOURCES.remove, "v")
    values = {"id": "v", "tenant": "rival", "kind": "volume", "name": "v", "node": "north", "size": 10}
    story.act("2026-11-01T02:20:00", RESOURCES.add, values)
    story.cloud.clock.moment = at("2026-11-01T03:30:00")
    assert run(story.costs.report(RIVAL)).record[-1].total == "0.20"


@pytest.mark.parametrize(
    ("start", "total"),
    [("2026-11-01T01:00:00", "1.40"), ("2026-10-31T22:00:00", "1.70"), ("2026-11-01T06:00:00", "0.80")],
)
def test_another_start_keeps_later_changes(story: Story, start: str, total: str) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-11-01")
    story.act("2026-11-01T05:00:00", RESOURCES.change, "v", {"size": 20})
    before = volume_row(size_gb=20, started_at=at("2026-11-01"))
    with story.cloud.engine.begin() as connection:
        record_resources(connection, [(before, before | {"started_at": at(start)})], at("2026-11-01T09:10:00"), UTC)
    months = story.months("2026-11-01T09:30:00")
    assert Decimal(months["2026-10"] or 0) + Decimal(months["2026-11"] or 0) == Decimal(total)


@pytest.mark.parametrize(
    ("first", "ended", "removed", "total"),
    [
        ("2026-11-01T00:00:00", None, "2026-11-01T05:10:00", "0.70"),
        ("2026-11-25T00:00:00", None, "2026-11-01T05:10:00", "0.70"),
        ("2026-11-01T03:00:00", None, "2026-11-01T05:10:00", "0.70"),
        ("2026-11-01T00:00:00", "2026-11-01T01:30:00Z", "2026-11-01T05:10:00", "0.70"),
    ],
    ids=["while running", "before it started", "with a later start", "after its end"],
)
def test_an_id_that_is_used_again_is_billed_once(
    story: Story, first: str, ended: str | None, removed: str, total: str
) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-11-01T05:00:00", started=f"{first}Z")
    if ended:
        story.act("2026-11-01T05:05:00", RESOURCES.end, "v", ended)
    story.act(removed, RESOURCES.remove, "v")
    story.volume("2026-11-01T05:20:00", started="2026-11-01T00:00:00Z")
    assert story.months("2026-11-01T06:30:00")["2026-11"] == total


def test_a_price_may_be_removed_in_the_hour_of_an_end(story: Story) -> None:
    story.act("2026-10-01", PRICES.add, NODE_PRICE)
    story.volume("2026-11-01T00:10:00")
    story.act("2026-11-01T02:10:00", RESOURCES.end, "v")
    story.act("2026-11-01T02:20:00", RESOURCES.remove, "v")
    story.act("2026-11-01T02:30:00", PRICES.remove, NODE_KEY)
    assert story.months("2026-11-01T05:00:00")["2026-11"] == "1.00"


def test_a_past_end_after_a_node_was_removed(story: Story) -> None:
    for price in (NODE_PRICE, NODE_PRICE | {"node": "south", "price": "0.01"}):
        story.act("2026-10-01", PRICES.add, price)
    story.volume("2026-11-01T00:10:00")
    story.act("2026-11-01T02:10:00", RESOURCES.change, "v", {"node": "south"})
    story.act("2026-11-01T03:00:00", PRICES.remove, NODE_KEY)
    story.act("2026-11-01T03:00:00", NODES.remove, "north")
    story.act("2026-12-05", RESOURCES.end, "v", "2026-11-01T01:30:00Z")
    # 718 hours of November at 0.10.
    months = story.months("2026-12-06")
    assert (months["2026-11"], months["2026-12"]) == ("72.80", "-71.80")


@pytest.mark.parametrize(("resized", "total"), [({"size": 20}, "0.30"), ({"size": 50, "node": "south"}, "0.30")])
def test_a_past_end_ends_what_ran_then(story: Story, resized: dict[str, Any], total: str) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-11-01T09:10:00")
    story.act("2026-11-01T12:20:00", RESOURCES.change, "v", resized)
    story.act("2026-11-01T12:30:00", RESOURCES.end, "v", "2026-11-01T12:10:00Z")
    assert story.months("2026-11-01T12:35:00")["2026-11"] == "0.40"
    story.act("2026-11-01T12:40:00", RESOURCES.remove, "v")
    assert story.months("2026-11-01T14:00:00")["2026-11"] == total


@pytest.mark.parametrize("day", ["2026-11-20", "2026-11-30"], ids=["open month", "closed month"])
@pytest.mark.parametrize(
    ("verb", "arguments", "total"),
    [
        # An hour of 10 GB, and then two of 5 GB.
        (RESOURCES.change, [{"size": 5}], "0.20"),
        (RESOURCES.change, [{"size": 5, "node": "south"}], "0.20"),
        (RESOURCES.end, [], "0.20"),
        (RESOURCES.remove, [], "0.10"),
    ],
    ids=["resize", "move", "end", "remove"],
)
def test_a_change_may_be_recorded_after_a_later_one(
    story: Story, verb: Any, arguments: list[Any], total: str, day: str
) -> None:
    story.price("2026-10-01", "0.01")
    story.volume(f"{day}T22:10:00")
    following = f"{date.fromisoformat(day) + timedelta(days=1)}"
    story.act(f"{following}T00:00:01", RESOURCES.change, "v", {"size": 20})
    story.act(f"{day}T23:59:59", verb, "v", *arguments)
    story.months(f"{following}T00:10:00")
    assert run(story.costs.summary(ACME, "")).record[-1].amount == total
    with story.cloud.engine.connect() as connection:
        assert incorrect_record(connection) == []


def test_start_and_end_may_change_together(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-11-01T12:00:00")
    before = volume_row(started_at=at("2026-11-01T12:00:00"))
    after = before | {"started_at": at("2026-11-01T08:00:00"), "ended_at": at("2026-11-01T09:00:00")}
    with story.cloud.engine.begin() as connection:
        record_resources(connection, [(before, after)], at("2026-11-01T13:00:00"), UTC)
    assert story.months("2026-11-01T14:00:00")["2026-11"] == "0.20"


@pytest.mark.parametrize("change", ["add", "change"])
def test_prices_apply_from_their_start_also_after_a_removal(story: Story, change: str) -> None:
    story.price("2026-10-01", "0.01")
    story.price("2026-10-01", "0.02", "2026-11-01T02:00:00Z")
    story.volume("2026-11-01T00:10:00")
    story.act("2026-11-01T03:30:00", PRICES.remove, "volume/gb/2026-11-01T02:00:00Z")
    if change == "add":
        story.price("2026-11-01T06:30:00", "0.03", "2026-11-01T02:00:00Z")
    else:
        story.act("2026-11-01T06:30:00", PRICES.change, "volume/gb/2026-01-01T00:00:00Z", {"price": "0.05"})
    assert story.months("2026-11-01T07:30:00")["2026-11"] == {"add": "2.00", "change": "3.70"}[change]


def test_a_resource_of_closed_months_only_counts(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-11-01")
    story.volume("2026-12-02", "w", started="2026-11-05T00:00:00Z")
    story.act("2026-12-02", RESOURCES.end, "w", "2026-11-05T01:00:00Z")
    story.cloud.clock.moment = at("2026-12-03")
    assert run(story.costs.summary(ACME, "")).record[-1].count == 2


def test_a_resource_that_never_ran_does_not_count(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-11-01", started="2026-11-03T00:00:00Z")
    story.act("2026-11-02", RESOURCES.remove, "v")
    story.volume("2026-11-02", "w")
    story.cloud.clock.moment = at("2026-11-05")
    assert run(story.costs.summary(ACME, "")).record[-1].count == 1


def test_a_resource_that_lives_a_second_costs_an_hour(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-10-31T23:59:59")
    story.act("2026-11-01T00:00:00", RESOURCES.end, "v")
    months = story.months("2026-11-05")
    assert (months["2026-10"], months["2026-11"]) == ("0.10", "0.10")


def test_the_forecast_adds_the_rest_of_the_month(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-11-30T21:30:00")
    assert story.forecast("2026-11-30T22:10:00") == Forecast("2026-11", "0.20", "0.10", "0.30", 1, is_complete=True)
    story.act("2026-11-30T22:20:00", RESOURCES.end, "v")
    assert story.forecast("2026-11-30T22:30:00") == Forecast("2026-11", "0.20", "0.00", "0.20", 1, is_complete=True)


def test_what_was_not_recorded_is_null(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-10-01")
    with story.cloud.engine.begin() as connection:
        connection.execute(update(billing_state).values(complete_since=at("2026-10-15")))
    assert story.months("2026-11-01")["2026-09"] is None
    rows = {bill.bill_month: bill.is_complete for bill in run(story.costs.report(ACME)).record}
    assert (rows["2026-09"], rows["2026-10"], rows["2026-11"]) == (False, False, True)
    federated = Tenant(ACME.id, "user", CloudCredentials("https://identity.example.com/v3", "u", "p", {}, b""))
    assert {bill.total for bill in run(story.costs.report(federated)).record} == {None}
    assert {row.amount for row in run(story.costs.summary(federated, "")).record} == {None}
    assert run(story.costs.forecast(federated)).record.total is None


def test_a_removed_node_and_tenant_keep_their_costs_and_names(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-11-01T00:10:00")
    story.act("2026-11-01T01:10:00", RESOURCES.remove, "v")
    story.act("2026-11-02", NODES.remove, "north")
    story.act("2026-11-02", NODES.add, {"name": "west"})
    story.cloud.clock.moment = at("2026-11-03")
    amounts = [run(story.costs.summary(ACME, node)).record[-1].amount for node in ("north", "west", "")]
    assert amounts == ["0.10", "0.00", "0.10"]
    story.act("2026-11-03", TENANTS.remove, "acme")
    story.act("2026-11-03", TENANTS.add, {"name": "new"})
    with story.cloud.engine.connect() as connection:
        assert set(connection.scalars(select(billing_entries.c.tenant_id))) == {-2}
        names = connection.execute(select(record_names.c.id, record_names.c.name)).all()
    assert {tuple(row) for row in names} == {(-1, "north"), (-2, "acme")}


@pytest.mark.parametrize("many_entries", [0, monthly_sums.MANY_ENTRIES])
def test_a_recount_records_changes_by_something_else(
    story: Story, many_entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monthly_sums, "MANY_ENTRIES", many_entries)
    story.price("2026-10-01", "0.01")
    story.volume("2026-11-01T00:10:00")
    with story.cloud.engine.begin() as connection:
        connection.execute(update(resources).values(size_gb=30))
        assert incorrect_record(connection) == ["recorded volume of tenant acme"]
    recount(story.cloud.engine, actor="tests", now=at("2026-11-01T02:10:00"), zone=UTC)
    with story.cloud.engine.connect() as connection:
        assert incorrect_record(connection) == []
    assert story.months("2026-11-01T03:10:00")["2026-11"] == "0.80"


@pytest.mark.parametrize("many_entries", [0, monthly_sums.MANY_ENTRIES])
def test_closed_months_keep_their_time_zone(story: Story, many_entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monthly_sums, "MANY_ENTRIES", many_entries)
    story.price("2026-09-01", "0.01")
    story.volume("2026-10-31T23:30:00")
    assert story.months("2026-11-01T00:30:00")["2026-10"] == "0.10"
    story.costs = RecordedCosts(story.cloud.reader, story.cloud.clock, ZoneInfo("Europe/Berlin"), ISSUER)
    before = story.months("2026-11-01T01:30:00")
    assert (before["2026-10"], before["2026-11"]) == ("0.10", "0.20")
    story.zone = ZoneInfo("Europe/Berlin")
    story.act("2026-11-01T01:40:00", RESOURCES.change, "v", {"size": 20})
    assert story.months("2026-11-30T22:30:00")["2026-11"] == "143.70"
    assert story.months("2026-11-30T23:30:00")["2026-11"] == "143.70"
    story.zone = UTC
    story.act("2026-12-02", RESOURCES.end, "v")
    story.costs = RecordedCosts(story.cloud.reader, story.cloud.clock, UTC, ISSUER)
    months = story.months("2026-12-05")
    assert (months["2026-10"], months["2026-11"], months["2026-12"]) == ("0.10", "143.70", "5.20")


@pytest.mark.parametrize("zone_name", ["UTC", "Europe/Berlin", "Australia/Lord_Howe"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("many_entries", [10, monthly_sums.MANY_ENTRIES])
def test_a_random_history_is_exact_and_closed_months_stay(
    cloud: SmallCloud, many_entries: int, seed: int, zone_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monthly_sums, "MANY_ENTRIES", many_entries)
    zone = ZoneInfo(zone_name)
    operator = Operator(cloud, random.Random(f"{seed} {zone_name}"), zone, at("2026-01-20"))
    costs = RecordedCosts(cloud.reader, cloud.clock, zone, ISSUER)
    closed: dict[str, str | None] = {}
    for _ in range(60):
        operator.step()
        cloud.clock.moment = operator.now
        rows = run(costs.report(ACME)).record
        totals = {row.bill_month: row.total for row in rows[:-1]}
        for month, total in closed.items():
            assert totals.get(month, total) == total
        if month_of(operator.now, zone) != (2026, 1):
            closed |= totals
    with cloud.engine.connect() as connection:
        assert differences(connection) == []
    summary = run(costs.summary(ACME, "")).record
    assert summary[-1].amount == format_amount(operator.simulated())
    by_node = [run(costs.summary(ACME, node)).record[-1].amount for node in NODE_IDS]
    assert sum(Decimal(amount or 0) for amount in by_node) == Decimal(summary[-1].amount or 0)
    assert sum(Decimal(row.amount or 0) for row in summary[:-1]) == Decimal(summary[-1].amount or 0)
    last = month_of(operator.now, zone)
    if month_start(last[0], last[1] - 11, zone) <= at("2025-12-01"):
        report = run(costs.report(ACME)).record
        assert sum(Decimal(row.total or 0) for row in report) == Decimal(summary[-1].amount or 0)


@pytest.mark.parametrize("seed", range(4))
def test_a_random_history_of_replicas_whose_clocks_differ_is_exact(cloud: SmallCloud, seed: int) -> None:
    zone = ZoneInfo("Europe/Berlin")
    operator = Operator(cloud, random.Random(f"differing clocks {seed}"), zone, at("2026-01-31"))
    operator.pauses, operator.max_lag, operator.reuse_probability = (600, 3600), DAY, 0.0
    for _ in range(60):
        operator.step()
    cloud.clock.moment = operator.now
    with cloud.engine.connect() as connection:
        assert differences(connection) == []
    summary = run(RecordedCosts(cloud.reader, cloud.clock, zone, ISSUER).summary(ACME, "")).record
    assert summary[-1].amount == format_amount(operator.simulated())
