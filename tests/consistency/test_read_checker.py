"""Reads of possible states are accepted; all others are detected and classified."""

from typing import Any

import pytest
from consistency.history import Response
from consistency.read_checker import FRACTURED, FUTURE, NEVER, STALE

from tests.consistency.history_builder import QUOTA, VOLUME_PRICE, HistoryBuilder, limited, news, resource, volume

Writes = list[tuple[Any, ...]]
Time = tuple[float, float]


@pytest.fixture
def builder() -> HistoryBuilder:
    return HistoryBuilder()


def assert_found(builder: HistoryBuilder, problem: str | None) -> None:
    assert builder.problems == [] if problem is None else problem in builder.problem


WRITTEN: Writes = [(10, 11, QUOTA, limited(20))]
UNKNOWN: Writes = [(10, 11, QUOTA, limited(20), "unknown")]
DECIDED: Writes = [*UNKNOWN, (12, 13, QUOTA, limited(30))]


@pytest.mark.parametrize(
    ("writes", "time", "number", "problem"),
    [
        # The old value is possible until the acknowledgement, the new one from the start of the write.
        (WRITTEN, (5, 6), 10, None),
        (WRITTEN, (5, 6), 20, FUTURE),
        (WRITTEN, (9, 10.01), 20, None),
        (WRITTEN, (10.5, 10.6), 30, NEVER),
        (WRITTEN, (10.99, 15), 10, None),
        (WRITTEN, (20, 21), 10, STALE),
        (WRITTEN, (20, 21), 30, NEVER),
        # A write of unknown outcome may take effect at any later time or never, until another write decides it.
        (UNKNOWN, (8, 9), 20, FUTURE),
        (UNKNOWN, (500, 501), 20, None),
        (DECIDED, (14, 15), 10, STALE),
        (DECIDED, (14, 15), 20, STALE),
        (DECIDED, (14, 15), 30, None),
    ],
)
def test_quotas(builder: HistoryBuilder, writes: Writes, time: Time, number: int, problem: str | None) -> None:
    for write in writes:
        builder.write(*write)
    builder.usage(*time, limited(number))
    assert_found(builder, problem)


def test_a_stale_read_is_reported_with_the_end_of_its_validity(builder: HistoryBuilder) -> None:
    builder.write(10, 11, QUOTA, limited(20))
    builder.usage(11.25, 12, limited(10))
    assert builder.problem == "GetUsageLimits: stale read: valid until 11.000, request began 0.250 s later"


def test_a_no_op_retry_dates_the_effect_to_any_time_since_the_first_attempt(builder: HistoryBuilder) -> None:
    builder.write(10, 11, QUOTA, limited(20), "unknown")
    builder.write(12, 13, QUOTA, limited(20), changed=False)
    builder.usage(10.1, 10.2, limited(20))
    builder.usage(12.9, 14, limited(10))
    assert builder.problems == []
    builder.usage(13.1, 14, limited(10))
    assert STALE in builder.problem


def test_a_rejected_write_has_no_effect(builder: HistoryBuilder) -> None:
    builder.write(10, 11, QUOTA, limited(20), "rejected")
    builder.usage(12, 13, limited(10))
    assert builder.problem.startswith("write rejected")


def test_a_partially_updated_quota_is_detected(builder: HistoryBuilder) -> None:
    builder.write(10, 11, QUOTA, limited(20))
    builder.usage(10.2, 10.4, {**limited(20), "cores": 10})
    assert NEVER in builder.problem


@pytest.mark.parametrize(
    ("time", "sizes", "problem"),
    [
        ((11.5, 11.6), [], STALE),
        ((11.5, 11.6), [5, 7], FUTURE),
        ((14, 15), [5, 7], None),
        ((14, 15), [5], STALE),
        ((14, 15), [7], FUTURE),
        ((14, 15), [5, 9], NEVER),
        ((22, 23), [5, 7], STALE),
        ((32, 33), [7], None),
        ((32, 33), [6, 7], STALE),
    ],
)
def test_resources_count_from_creation_to_removal(
    builder: HistoryBuilder, time: Time, sizes: list[int], problem: str | None
) -> None:
    builder.write(10, 11, resource("a"), volume(5))
    builder.write(12, 13, resource("b"), volume(7))
    builder.write(20, 21, resource("a"), volume(6))
    builder.write(30, 31, resource("a"), None)
    builder.volumes(*time, *sizes)
    assert_found(builder, problem)


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
    builder.volumes(9, 14, 5, limits=limited(10))
    assert FRACTURED in builder.problem


PRICED: Writes = [(10, 11, resource("a"), volume(5)), (12, 13, VOLUME_PRICE, 2000), (16, 17, resource("a"), volume(7))]
ENDED: Writes = [(10, 11, resource("a"), volume(5)), (12, 13, resource("a"), volume(5, ended=True))]

INSTANCE: Writes = [(10, 11, resource("a"), {"kind": "instance", "vcpus": 2, "ram": 1025, "size": 0, "ended": False})]


@pytest.mark.parametrize(
    ("writes", "time", "costs", "problem"),
    [
        # A cost combines resources and prices of the same time.
        (PRICED, (14, 15), {"volume": 10_000}, None),
        (PRICED, (14, 15), {"volume": 5000}, STALE),
        (PRICED, (14, 15), {"volume": 14_000}, FUTURE),
        (PRICED, (9, 18), {"volume": 7000}, FRACTURED),
        (PRICED, (9, 18), {"volume": 1}, NEVER),
        # Instances are billed by vCPU and started gigabyte.
        (INSTANCE, (12, 13), {"instance": 5000}, None),
        # An ended resource is billed until the end of the hour.
        (ENDED, (14, 15), {"volume": 5000}, None),
        (ENDED, (3000, 3001), {}, "GetConsumptionsEstimated"),
        (ENDED, (3700, 3701), {}, None),
        (ENDED, (3700, 3701), {"volume": 5000}, "GetConsumptionsEstimated"),
    ],
)
def test_costs(builder: HistoryBuilder, writes: Writes, time: Time, costs: dict[str, int], problem: str | None) -> None:
    for write in writes:
        builder.write(*write)
    builder.costs(*time, **costs)
    assert_found(builder, problem)


@pytest.mark.parametrize(
    ("time", "titles", "problem"),
    [
        ((11, 12), ["one"], None),
        ((11.5, 11.6), [], STALE),
        ((11.5, 11.6), ["two"], NEVER),
        ((11.5, 11.6), ["one", "one"], FRACTURED),
        ((11.5, 11.6), ["one", "two"], NEVER),
        ((14, 15), [], None),
    ],
)
def test_news(builder: HistoryBuilder, time: Time, titles: list[str], problem: str | None) -> None:
    builder.write(10, 11, ("news", "1"), news("one"))
    builder.write(12, 13, ("news", "1"), news("one", disabled=True))
    builder.news(*time, *titles)
    assert_found(builder, problem)


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
