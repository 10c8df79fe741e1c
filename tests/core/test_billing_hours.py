"""Hours and months in all time zones: they partition time."""

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

import pytest

from cloudconsole.core.billing_hours import Calendar, month_of, month_start, spans

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
    assert sum(span.hours for span in found) == len(expected)
    for first, last in expected:
        span = next(span for span in found if span.start <= first < span.end)
        for second in (first, (first + last) // 2, last - 1):
            assert (span.hour_start(second), span.hour_end(second)) == (first, last)
        left = [hour for hour in expected if first <= hour[0] < span.end]
        assert span.hours_from(last - 1) == len(left)
        assert span.hours_before(last - 1) == span.hours - len(left)


def test_months_begin_at_their_first_moment() -> None:
    for name in available_timezones():
        zone = ZoneInfo(name)
        starts = [month.start for month in Calendar(zone).months(at("2025-06-15"), at("2027-06-15"))][1:]
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


@pytest.mark.parametrize(
    ("former", "present"), [("Europe/Paris", "America/New_York"), ("America/New_York", "Europe/Paris")]
)
def test_closed_months_keep_their_zone(former: str, present: str) -> None:
    until = at("2026-11-01", former)
    calendar = Calendar(ZoneInfo(present), [(until, ZoneInfo(former))])
    months = calendar.months(at("2026-09-10"), at("2027-01-10"))
    assert [month.label for month in months] == ["2026-09", "2026-10", "2026-11", "2026-12", "2027-01"]
    assert [month.start for month in months[:3]] == [at(f"2026-{number}-01", former) for number in ("09", "10", "11")]
    assert [month.start for month in months[3:]] == [at(text, present) for text in ("2026-12-01", "2027-01-01")]
    assert [month.end for month in months[:-1]] == [month.start for month in months[1:]]
    for month in months:
        for second in (month.start, month.start + 3600 * 7, month.end - 1):
            assert calendar.month_at(second) == month


def test_price_starts_divide_months_at_their_hour() -> None:
    start, end = at("2026-10-31T20:30:00"), at("2026-11-02")
    starts = [at("2026-10-01"), at("2026-10-31T22:10:00"), at("2026-10-31T22:50:00"), at("2026-11-01"), end]
    found = Calendar(UTC).divide(start, end, starts)
    assert [span.start for span in found] == [start, at("2026-10-31T22:00:00"), at("2026-11-01")]
    assert [span.hours for span in found] == [2, 2, 24]
