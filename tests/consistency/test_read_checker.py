"""Reads of possible states are accepted; all others are detected and classified."""

import pytest
from consistency.history import Response
from consistency.read_checker import FRACTURED, FUTURE, NEVER, STALE

from tests.consistency.history_builder import (
    LIMITED,
    QUOTA,
    VOLUME_PRICE,
    HistoryBuilder,
    limited,
    news,
    resource,
    volume,
)

BEFORE, DURING, AFTER = (5, 6), (10.5, 10.6), (20, 21)
"""Times of a read relative to a write from 10 to 11."""


@pytest.fixture
def builder() -> HistoryBuilder:
    return HistoryBuilder()


@pytest.mark.parametrize(("time", "number"), [(BEFORE, 10), (DURING, 10), (DURING, 20), (AFTER, 20)])
def test_the_old_quota_is_possible_until_the_acknowledgement_and_the_new_one_from_the_start_of_the_write(
    builder: HistoryBuilder, time: tuple[float, float], number: int
) -> None:
    builder.write(10, 11, QUOTA, limited(20))
    builder.usage(*time, limited(number))
    assert builder.problems == []


@pytest.mark.parametrize(
    ("time", "number", "problem"), [(BEFORE, 20, FUTURE), (AFTER, 10, STALE), (AFTER, 30, NEVER), (DURING, 30, NEVER)]
)
def test_an_impossible_quota_is_detected(
    builder: HistoryBuilder, time: tuple[float, float], number: int, problem: str
) -> None:
    builder.write(10, 11, QUOTA, limited(20))
    builder.usage(*time, limited(number))
    assert problem in builder.problem


def test_a_stale_read_is_reported_with_the_end_of_its_validity(builder: HistoryBuilder) -> None:
    builder.write(10, 11, QUOTA, limited(20))
    builder.usage(11.25, 12, LIMITED)
    assert builder.problem == "GetUsageLimits: stale read: valid until 11.000, request began 0.250 s later"


def test_a_read_that_began_before_the_acknowledgement_may_return_the_old_value(builder: HistoryBuilder) -> None:
    builder.write(10, 11, QUOTA, limited(20))
    builder.usage(10.99, 15, LIMITED)
    builder.usage(9, 10.01, limited(20))
    assert builder.problems == []


def test_reads_during_a_write_may_see_it_in_either_order(builder: HistoryBuilder) -> None:
    builder.write(10, 11, QUOTA, limited(20))
    builder.usage(10.1, 10.2, limited(20))
    builder.usage(10.3, 10.4, LIMITED)
    assert builder.problems == []


@pytest.mark.parametrize("number", [10, 20])
def test_a_write_of_unknown_outcome_may_take_effect_at_any_later_time_or_never(
    builder: HistoryBuilder, number: int
) -> None:
    builder.write(10, 11, QUOTA, limited(20), "unknown")
    builder.usage(500, 501, limited(number))
    assert builder.problems == []


def test_a_write_of_unknown_outcome_has_no_effect_before_its_start(builder: HistoryBuilder) -> None:
    builder.write(10, 11, QUOTA, limited(20), "unknown")
    builder.usage(8, 9, limited(20))
    assert FUTURE in builder.problem


@pytest.mark.parametrize(("number", "problem"), [(10, STALE), (20, STALE), (30, None)])
def test_a_later_acknowledgement_decides_a_write_of_unknown_outcome(
    builder: HistoryBuilder, number: int, problem: str | None
) -> None:
    builder.write(10, 11, QUOTA, limited(20), "unknown")
    builder.write(12, 13, QUOTA, limited(30))
    builder.usage(14, 15, limited(number))
    assert builder.problems == [] if problem is None else problem in builder.problem


def test_a_no_op_retry_dates_the_effect_to_any_time_since_the_first_attempt(builder: HistoryBuilder) -> None:
    builder.write(10, 11, QUOTA, limited(20), "unknown")
    builder.write(12, 13, QUOTA, limited(20), changed=False)
    builder.usage(10.1, 10.2, limited(20))
    builder.usage(12.9, 14, LIMITED)
    assert builder.problems == []
    builder.usage(13.1, 14, LIMITED)
    assert STALE in builder.problem


def test_a_rejected_write_has_no_effect(builder: HistoryBuilder) -> None:
    builder.write(10, 11, QUOTA, limited(20), "rejected")
    builder.usage(12, 13, LIMITED)
    assert builder.problem.startswith("write rejected")


def test_resources_count_from_creation_to_removal(builder: HistoryBuilder) -> None:
    builder.write(10, 11, resource("a"), volume(5))
    builder.write(12, 13, resource("b"), volume(7))
    builder.write(20, 21, resource("a"), None)
    builder.volumes(5, 6)
    builder.volumes(11, 12, 5)
    builder.volumes(14, 15, 5, 7)
    builder.volumes(22, 23, 7)
    assert builder.problems == []


@pytest.mark.parametrize(
    ("time", "sizes", "problem"),
    [
        ((11.5, 11.6), [], STALE),
        ((14, 15), [5], STALE),
        ((14, 15), [7], NEVER),
        ((14, 15), [5, 9], NEVER),
        ((22, 23), [5, 7], STALE),
        ((11.5, 11.6), [5, 7], FUTURE),
    ],
)
def test_a_missing_late_or_early_resource_is_detected(
    builder: HistoryBuilder, time: tuple[float, float], sizes: list[int], problem: str
) -> None:
    builder.write(10, 11, resource("a"), volume(5))
    builder.write(12, 13, resource("b"), volume(7))
    builder.write(20, 21, resource("a"), volume(6))
    builder.volumes(*time, *sizes)
    assert problem in builder.problem


def test_concurrent_writes_may_be_seen_in_any_order(builder: HistoryBuilder) -> None:
    builder.write(10, 11, resource("a"), volume(5))
    builder.write(10, 11, resource("b"), volume(7))
    for sizes in ([], [5], [7], [5, 7]):
        builder.volumes(10.4, 10.5, *sizes)
    assert builder.problems == []


def test_a_long_read_may_see_any_state_of_its_duration_but_no_other(builder: HistoryBuilder) -> None:
    builder.write(10, 11, resource("a"), volume(5))
    builder.write(12, 13, resource("a"), volume(6))
    builder.write(14, 15, resource("b"), volume(7))
    for sizes in ([], [5], [6], [6, 7]):
        builder.volumes(9, 16, *sizes)
    assert builder.problems == []
    builder.volumes(9, 16, 5, 7)
    assert NEVER in builder.problem


def test_a_fractured_read_is_detected(builder: HistoryBuilder) -> None:
    builder.write(10, 11, QUOTA, limited(20))
    builder.write(12, 13, resource("a"), volume(5))
    builder.volumes(9, 14, limits=limited(20))
    builder.volumes(9, 14, 5, limits=limited(20))
    assert builder.problems == []
    builder.volumes(9, 14, 5, limits=LIMITED)
    assert FRACTURED in builder.problem


def test_a_partially_updated_quota_is_detected(builder: HistoryBuilder) -> None:
    builder.write(10, 11, QUOTA, limited(20))
    builder.usage(10.2, 10.4, {**limited(20), "cores": 10})
    assert NEVER in builder.problem


def test_a_cost_combines_resources_and_prices_of_the_same_time(builder: HistoryBuilder) -> None:
    builder.write(10, 11, resource("a"), volume(5))
    builder.write(12, 13, VOLUME_PRICE, 2000)
    builder.costs(5, 6)
    builder.costs(11, 12, volume=5000)
    builder.costs(14, 15, volume=10_000)
    assert builder.problems == []


@pytest.mark.parametrize(
    ("time", "cost", "problem"),
    [((14, 15), 5000, STALE), ((14, 15), 14_000, FUTURE), ((9, 18), 7000, FRACTURED), ((9, 18), 1, NEVER)],
)
def test_an_impossible_cost_is_detected(
    builder: HistoryBuilder, time: tuple[float, float], cost: int, problem: str
) -> None:
    builder.write(10, 11, resource("a"), volume(5))
    builder.write(12, 13, VOLUME_PRICE, 2000)
    builder.write(16, 17, resource("a"), volume(7))
    builder.costs(*time, volume=cost)
    assert problem in builder.problem


def test_instances_are_billed_by_vcpu_and_started_gigabyte(builder: HistoryBuilder) -> None:
    builder.write(10, 11, resource("a"), {"kind": "instance", "vcpus": 2, "ram": 1025, "size": 0, "ended": False})
    builder.costs(12, 13, instance=5000)
    assert builder.problems == []


def test_an_ended_resource_is_billed_until_the_end_of_the_hour_but_not_used(builder: HistoryBuilder) -> None:
    builder.write(10, 11, resource("a"), volume(5))
    builder.write(12, 13, resource("a"), volume(5, ended=True))
    builder.volumes(14, 15)
    builder.costs(14, 15, volume=5000)
    builder.costs(3700, 3701)
    assert builder.problems == []


@pytest.mark.parametrize(("time", "costs"), [((3700, 3701), {"volume": 5000}), ((3000, 3001), {})])
def test_an_ended_resource_billed_too_long_or_too_short_is_detected(
    builder: HistoryBuilder, time: tuple[float, float], costs: dict[str, int]
) -> None:
    builder.write(10, 11, resource("a"), volume(5))
    builder.write(12, 13, resource("a"), volume(5, ended=True))
    builder.costs(*time, **costs)
    assert len(builder.problems) == 1


@pytest.mark.parametrize(("time", "costs"), [((3650, 3651), {"volume": 5000}), ((3650, 3651), {}), ((7250, 7251), {})])
def test_a_resource_that_ended_around_a_full_hour_may_be_billed_for_either_hour(
    builder: HistoryBuilder, time: tuple[float, float], costs: dict[str, int]
) -> None:
    builder.write(10, 11, resource("a"), volume(5))
    builder.write(3590, 3610, resource("a"), volume(5, ended=True))
    builder.costs(*time, **costs)
    assert builder.problems == []


@pytest.mark.parametrize("costs", [{"volume": 5000}, {}])
def test_a_resource_that_may_have_ended_may_be_billed_or_not(builder: HistoryBuilder, costs: dict[str, int]) -> None:
    builder.write(10, 11, resource("a"), volume(5))
    builder.write(12, 13, resource("a"), volume(5, ended=True), "unknown")
    builder.costs(4000, 4001, **costs)
    assert builder.problems == []


def test_news_appear_and_disappear_with_the_acknowledgement(builder: HistoryBuilder) -> None:
    builder.write(10, 11, ("news", "1"), news("one"))
    builder.write(12, 13, ("news", "1"), news("one", disabled=True))
    builder.news(5, 6)
    builder.news(11, 12, "one")
    builder.news(14, 15)
    assert builder.problems == []


@pytest.mark.parametrize(
    ("titles", "problem"), [([], STALE), (["two"], NEVER), (["one", "one"], FRACTURED), (["one", "two"], NEVER)]
)
def test_impossible_news_are_detected(builder: HistoryBuilder, titles: list[str], problem: str) -> None:
    builder.write(10, 11, ("news", "1"), news("one"))
    builder.news(12, 13, *titles)
    assert problem in builder.problem


def test_news_are_sorted_newest_first(builder: HistoryBuilder) -> None:
    builder.write(10, 11, ("news", "1"), news("one"))
    builder.write(10, 11, ("news", "2"), news("two", date=1_750_000_000 - 3600))
    shown = [("2025-06-15 15:06:40", "one"), ("2025-06-15 14:06:40", "two")]
    data = [{"date": date, "url": "https://news.example.com/", "title": title} for date, title in shown]
    builder.read(12, 13, builder.login(-2, -1), Response(200, data=data), "GetNews")
    assert builder.problems == []
    builder.read(12, 13, builder.login(-2, -1), Response(200, data=data[::-1]), "GetNews")
    assert FRACTURED in builder.problem


@pytest.mark.parametrize("action", ["GetUsageLimits", "GetNews", "GetConsumptionsEstimated"])
@pytest.mark.parametrize(
    "data", [None, [{}], {}, [{"res_type": "volume", "hour": "x", "day": "", "month": "", "year": ""}]]
)
def test_an_invalid_response_is_detected(builder: HistoryBuilder, action: str, data: object) -> None:
    builder.write(10, 11, ("news", "1"), news("one"))
    builder.write(10, 11, resource("a"), volume(5))
    builder.read(12, 13, builder.login(-2, -1), Response(200, data=data), action)
    assert len(builder.problems) == 1


def test_contradictory_amounts_are_detected(builder: HistoryBuilder) -> None:
    data = [{"res_type": "volume", "hour": "1.00", "day": "24.00", "month": "720.00", "year": "8640.00"}]
    builder.read(12, 13, builder.login(-2, -1), Response(200, data=data), "GetConsumptionsEstimated")
    assert "contradictory amounts" in builder.problem
