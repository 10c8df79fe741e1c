"""Hours and months in all time zones: they partition time."""

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

import pytest

from cloudconsole.core.billing_hours import month_of, month_start, month_starts, spans

LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
ODD = [
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "Asia/Kolkata",
    "America/St_Johns",
    "Europe/Berlin",
    "UTC",
    "Africa/Cairo",
]


def at(text: str, zone: str = "UTC") -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp())


def hours(start: int, end: int, zone: str) -> list[tuple[int, int]]:
    """The hours of a period, minute by minute."""
    found: list[tuple[object, int]] = []
    for second in range(start, end, 60):
        local = datetime.fromtimestamp(second, UTC).astimezone(ZoneInfo(zone))
        key = (local.date(), local.hour, local.utcoffset())
        if not found or found[-1][0] != key:
            found.append((key, second))
    starts = [second for _, second in found]
    return list(pairwise([*starts, end]))


@pytest.mark.parametrize("zone", ODD)
@pytest.mark.parametrize("day", ["2026-03-28", "2026-04-04", "2026-10-03", "2026-10-24", "2026-11-15"])
def test_hours_are_those_on_the_wall(zone: str, day: str) -> None:
    start = at(day)
    expected = hours(start, start + 3 * 86_400, zone)
    found = list(spans(start, start + 3 * 86_400, ZoneInfo(zone)))
    assert [span.start for span in found[1:]] == [span.end for span in found[:-1]]
    assert sum(span.hours_from(span.start) for span in found) == len(expected)
    for first, last in expected:
        span = next(span for span in found if span.start <= first < span.end)
        for second in (first, (first + last) // 2, last - 1):
            assert span.hour_start(second) == first
        left = [hour for hour in expected if first <= hour[0] < span.end]
        assert span.hours_from(last - 1) == len(left)


def test_months_begin_at_their_first_moment() -> None:
    for name in available_timezones():
        zone = ZoneInfo(name)
        starts = month_starts(at("2025-06-15"), at("2027-06-15"), zone)
        assert len(starts) == 24, name
        for start in starts:
            assert month_of(start, zone) != month_of(start - 1, zone), name
            assert month_start(*month_of(start, zone), zone) == start, name


def test_months_continue_beyond_the_year() -> None:
    assert month_start(2026, 13, ZoneInfo("UTC")) == at("2027-01-01")
    assert month_start(2026, 0, ZoneInfo("UTC")) == at("2025-12-01")
    assert month_start(2026, -11, ZoneInfo("UTC")) == at("2025-01-01")


def test_most_zones_have_one_span() -> None:
    for zone in ("UTC", "Europe/Berlin", "Asia/Shanghai", "Asia/Kolkata"):
        assert len(list(spans(at("2024-01-01"), at("2027-01-01"), ZoneInfo(zone)))) == 1
    assert len(list(spans(at("2024-01-01"), at("2027-01-01"), LORD_HOWE))) == 7
