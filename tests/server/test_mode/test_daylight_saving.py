"""Costs around both shifts of daylight saving time in Berlin, where March 2026 has 743 hours and October 745."""

from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from typing import Any

import pytest

from cloudconsole.testing import ConsoleServer, running_console
from tests.harness import ApiClient, HttpTransport

HOURLY = Decimal("1.234567890")
# One resource that runs, and two that end in the hours before the clock goes forward, and before it goes back.
CLOUD = """\
version: 1
nodes: [hk-1]
prices:
  - {kind: volume, unit: gb, price: "0.123456789", from: 2026-01-01}
tenants:
  - name: runs
    accounts: [{username: runs, password_file: password}]
    resources:
      - {id: data, kind: volume, name: data, node: hk-1, size: 10, started: 2026-02-28T22:30:00Z}
  - name: ends
    accounts: [{username: ends, password_file: password}]
    resources:
      - {id: march, kind: volume, name: march, node: hk-1, size: 10,
         started: 2026-03-28T20:00:00Z, ended: 2026-03-29T00:30:00Z}
      - {id: october, kind: volume, name: october, node: hk-1, size: 10,
         started: 2026-10-24T20:00:00Z, ended: 2026-10-25T00:30:00Z}
"""
Login = Callable[..., ApiClient]


@pytest.fixture(scope="module")
def berlin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleServer]:
    folder = tmp_path_factory.mktemp("berlin")
    (folder / "password").write_text("my password\n")
    file = folder / "cloud.yaml"
    file.write_text(CLOUD)
    flags = ["--time-zone", "Europe/Berlin"]
    with running_console(cloud=file, clock="2026-03-01T00:00:00Z", clock_fixed=True, flags=flags) as server:
        yield server


@pytest.fixture
def at(berlin: ConsoleServer) -> Iterator[Login]:
    """Set the clock, and return a client that logs in then."""
    with closing(HttpTransport(berlin.address)) as transport:

        def login(moment: str, username: str = "runs") -> ApiClient:
            berlin.set_clock(moment)
            client = ApiClient(transport)
            assert client.login(username, "my password").status == 200
            return client

        yield login


def bills(client: ApiClient) -> dict[str, Decimal]:
    return {bill["bill_month"]: Decimal(bill["total"]) for bill in client.call("GetBillingReportList4NearlyYear").data}


def hour_cost(client: ApiClient) -> Decimal:
    return sum((Decimal(item["hour"]) for item in client.call("GetConsumptionsEstimated").data), Decimal())


def daily_rows(client: ApiClient, first: str, last: str) -> list[tuple[Any, ...]]:
    """Return start, end and hours of each row, whose amount must be that of its hours."""
    rows = client.call("GetConsumptionsByQuery", interval="day", start_at=first, end_at=last).data
    assert all(Decimal(row["amount"]) == HOURLY * int(row["cost_time"]) / 3600 for row in rows)
    return [(row["start_at"], row["end_at"], int(row["cost_time"]) / 3600) for row in rows]


@pytest.mark.parametrize(
    ("moment", "month", "hours", "hours_left"),
    [
        # 28 days, and the hours from 00:00 and 01:00; then that from 03:00.
        ("2026-03-29T01:59:59+01:00", "2026-03", 674, 69),
        ("2026-03-29T03:00:00+02:00", "2026-03", 675, 68),
        ("2026-03-29T03:59:59+02:00", "2026-03", 675, 68),
        ("2026-03-29T04:00:00+02:00", "2026-03", 676, 67),
        ("2026-03-31T23:59:59+02:00", "2026-03", 743, 0),
        ("2026-04-01T00:00:00+02:00", "2026-04", 1, 719),
        # 24 days, and the hours from 00:00, 01:00, 02:00, again 02:00, and 03:00.
        ("2026-10-25T01:59:59+02:00", "2026-10", 578, 167),
        ("2026-10-25T02:00:00+02:00", "2026-10", 579, 166),
        ("2026-10-25T02:59:59+02:00", "2026-10", 579, 166),
        ("2026-10-25T02:00:00+01:00", "2026-10", 580, 165),
        ("2026-10-25T02:59:59+01:00", "2026-10", 580, 165),
        ("2026-10-25T03:00:00+01:00", "2026-10", 581, 164),
        ("2026-10-31T23:59:59+01:00", "2026-10", 745, 0),
        ("2026-11-01T00:00:00+01:00", "2026-11", 1, 719),
    ],
)
def test_every_hour_is_billed_once(at: Login, moment: str, month: str, hours: int, hours_left: int) -> None:
    client = at(moment)
    assert hour_cost(client) == HOURLY
    assert bills(client)[month] == HOURLY * hours
    forecast = client.call("GetForecast").data
    assert (forecast["month"], forecast["hours_left"]) == (month, hours_left)
    amounts = [Decimal(forecast[name]) for name in ("so_far", "rest", "total")]
    assert amounts == [HOURLY * hours, HOURLY * hours_left, HOURLY * (hours + hours_left)]


def test_a_month_has_the_hours_of_its_clock(at: Login) -> None:
    found = bills(at("2026-11-01T00:00:00+01:00"))
    hours = {"2026-03": 743, "2026-04": 720, "2026-05": 744, "2026-06": 720, "2026-07": 744, "2026-08": 744}
    hours |= {"2026-09": 720, "2026-10": 745, "2026-11": 1}
    # The resource started half an hour before March.
    assert {month: total for month, total in found.items() if total} == {
        month: HOURLY * count for month, count in ({"2026-02": 1} | hours).items()
    }


@pytest.mark.parametrize(
    ("days", "hours"),
    [
        (("2026-03-28", "2026-03-29", "2026-03-30", "2026-03-31"), (24, 23, 24)),
        (("2026-10-24", "2026-10-25", "2026-10-26", "2026-10-27"), (24, 25, 24)),
    ],
)
def test_a_day_has_the_hours_of_its_clock(at: Login, days: tuple[str, ...], hours: tuple[int, ...]) -> None:
    client = at("2026-11-10T00:00:00+01:00")
    midnights = [f"{day} 00:00:00" for day in days]
    expected = list(zip(midnights[:-1], midnights[1:], hours, strict=True))
    assert daily_rows(client, days[0], days[2]) == expected


@pytest.mark.parametrize(
    ("moment", "end", "hours"),
    [
        ("2026-03-29T01:59:59+01:00", "03:00:00", 2),
        ("2026-03-29T03:00:00+02:00", "04:00:00", 3),
        ("2026-10-25T01:59:59+02:00", "02:00:00", 2),
        # The hour that occurs twice: its first occurrence ends when the second begins.
        ("2026-10-25T02:30:00+02:00", "02:00:00", 3),
        ("2026-10-25T02:30:00+01:00", "03:00:00", 4),
        ("2026-10-25T03:00:00+01:00", "04:00:00", 5),
    ],
)
def test_the_day_of_a_shift_goes_up_to_the_current_hour(at: Login, moment: str, end: str, hours: int) -> None:
    day = moment[:10]
    assert daily_rows(at(moment), day, day) == [(f"{day} 00:00:00", f"{day} {end}", hours)]


@pytest.mark.parametrize(
    ("moment", "is_billed"),
    [
        # Ended at 01:30: not billed any more at 03:00, which is half an hour later.
        ("2026-03-29T01:59:59+01:00", True),
        ("2026-03-29T03:00:00+02:00", False),
        # Ended at 02:30 for the first time: the second hour from 02:00 is another one.
        ("2026-10-25T02:59:59+02:00", True),
        ("2026-10-25T02:00:00+01:00", False),
        ("2026-10-25T02:59:59+01:00", False),
    ],
)
def test_an_end_is_billed_in_its_hour_only(at: Login, moment: str, is_billed: bool) -> None:
    assert hour_cost(at(moment, "ends")) == (HOURLY if is_billed else 0)


def test_resources_that_end_before_a_shift_are_billed_for_all_their_hours(at: Login) -> None:
    found = bills(at("2026-11-01T00:00:00+01:00", "ends"))
    # From 21:00 to 01:30, and from 22:00 to the first 02:30.
    assert (found["2026-03"], found["2026-10"]) == (HOURLY * 5, HOURLY * 5)
