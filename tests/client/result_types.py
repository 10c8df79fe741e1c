"""Exact types of what the client returns, for type checkers: `make check` (mypy) and `make test-interop` (pyright)."""

from decimal import Decimal
from typing import Any, assert_type

from cloudconsole import (
    About,
    Announcement,
    AsyncConsole,
    Console,
    ConsoleError,
    Consumption,
    CostExport,
    CostSummary,
    Domain,
    DomainSummary,
    Estimate,
    Flavors,
    Forecast,
    MonthlyBill,
    NewsItem,
    Price,
    RequestEvent,
    ResourceCost,
    ResponseEvent,
    Session,
    Url,
    UsageLimits,
)


def count(event: ResponseEvent) -> int:
    assert_type(event.request, RequestEvent)
    assert_type(event.error, ConsoleError | None)
    return event.status or 0


def sync_results(console: Console) -> None:
    assert_type(console.session, Session | None)
    assert_type(console.with_options(timeout=5, retries=0, headers={"X-A": "1"}, request_id="r"), Console)
    assert_type(console.about(), About)
    assert_type(console.usage_limits(), UsageLimits)
    assert_type(console.usage_limits().instances.free, int | None)
    assert_type(console.flavors(), Flavors)
    assert_type(console.flavors().choices(), dict[int, tuple[int, ...]])
    assert_type(console.urls(), list[Url])
    assert_type(console.domain("1"), Domain)
    assert_type(console.news(), list[NewsItem])
    assert_type(console.consumption(), Consumption)
    assert_type(console.consumption().total.month, Decimal)
    assert_type(console.domains(), list[DomainSummary])
    assert_type(console.announcements(), list[Announcement])
    assert_type(console.prices(), list[Price])
    assert_type(console.estimate([{"res_type": "instance", "flavor": "1", "count": 2}]), Estimate)
    assert_type(console.cost_summary(), list[CostSummary])
    assert_type(console.costs(by_day=True), list[ResourceCost])
    assert_type(console.monthly_bills(), list[MonthlyBill])
    assert_type(console.forecast(), Forecast)
    assert_type(console.cost_export("2026-10", format="csv"), CostExport)
    assert_type(console.call("GetNews"), Any)


async def async_results(console: AsyncConsole) -> None:
    assert_type(console.with_options(deadline=5), AsyncConsole)
    assert_type(await console.about(), About)
    assert_type(await console.usage_limits(), UsageLimits)
    assert_type(await console.flavors(), Flavors)
    assert_type(await console.urls(), list[Url])
    assert_type(await console.domain("1"), Domain)
    assert_type(await console.news(), list[NewsItem])
    assert_type(await console.consumption(), Consumption)
    assert_type(await console.domains(), list[DomainSummary])
    assert_type(await console.announcements(), list[Announcement])
    assert_type(await console.prices(), list[Price])
    assert_type(await console.estimate([]), Estimate)
    assert_type(await console.cost_summary(), list[CostSummary])
    assert_type(await console.costs(), list[ResourceCost])
    assert_type(await console.monthly_bills(), list[MonthlyBill])
    assert_type(await console.forecast(), Forecast)
    assert_type(await console.cost_export("2026-10"), CostExport)
    async with console as entered:
        assert_type(entered, AsyncConsole)


def context_and_options() -> None:
    with Console("http://console", language="zh", on_response=count, headers={"X-A": "1"}) as console:
        assert_type(console, Console)
