"""Doctor checks of billable resources without a price."""

from pathlib import Path

import pytest

from tests.conftest import SAMPLE_TIME
from tests.server.doctor.conftest import Check, execute, levels

HOUR = int(SAMPLE_TIME) // 3600 * 3600


def test_prices_of_the_sample_are_ok(check: Check) -> None:
    assert levels(check("prices")) == ["ok"]


def test_resources_without_a_price_are_reported_by_kind(check: Check, data: Path) -> None:
    execute(data, "cloud", "DELETE FROM prices WHERE kind IN ('instance', 'volume')")
    findings = check("prices")
    assert levels(findings) == ["problem", "problem"]
    assert ["instance" in findings[0].text, "volume" in findings[1].text] == [True, True]
    assert "admin price add --kind volume --unit gb --price 0 --from 2026-11-15T12:00:00Z" in findings[1].command


@pytest.mark.parametrize(
    ("started", "ended", "level"),
    [
        (HOUR - 7200, HOUR - 1, "ok"),
        (HOUR - 7200, HOUR, "problem"),
        (int(SAMPLE_TIME) + 60, None, "ok"),
    ],
    ids=["ended before this hour", "ended in this hour", "starts later"],
)
def test_only_resources_of_this_hour_need_a_price(
    check: Check, data: Path, started: int, ended: int | None, level: str
) -> None:
    execute(data, "cloud", "DELETE FROM prices WHERE kind = 'volume'")
    end = "NULL" if ended is None else ended
    execute(data, "cloud", f"UPDATE resources SET started_at = {started}, ended_at = {end} WHERE kind = 'volume'")
    assert levels(check("prices")) == [level]
