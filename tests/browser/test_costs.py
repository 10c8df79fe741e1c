"""The costs page: its amounts are those of the API and its files those of the command line."""

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from cloudconsole import Console
from cloudconsole.spec.csv_lines import csv_line
from tests.browser.cloud_data import HOSTILE, Cloud, load_cloud, script_executed
from tests.browser.helpers import (
    PHONE,
    ConsoleBrowser,
    HeldResponse,
    assert_accessible,
    screenshot,
    serve_modules,
    sign_in,
    stop_clock,
    wait_until_loaded,
    wait_until_painted,
)
from tests.fork_server import run_forked

CENT = Decimal("0.01")
PERIODS = ["hour", "day", "month", "year"]
WIDTHS = [390, 1100, 1440, 2560]
HUGE = "123456789012345678901.123456789"
CSV = re.compile(r"^Download \w+ \d+ \(CSV\)$")
FOCUS = "FOCUS CSV (for cost tools)"
Responses = dict[str, Callable[[dict[str, Any]], Any]]

# Every amount within the card and cell that contain it, with no text that has to be scrolled to.
CUT = """() => [...document.querySelectorAll("main .amount")].filter((amount) => {
  if (amount.offsetParent === null || amount.closest(".visually-hidden")) return false;
  const { left, right } = amount.getBoundingClientRect();
  for (let box = amount.parentElement; box.tagName !== "MAIN"; box = box.parentElement) {
    const outer = box.getBoundingClientRect();
    const isInline = getComputedStyle(box).display === "inline";
    if (!isInline && (left < outer.left - 1 || right > outer.right + 1 || box.scrollWidth > box.clientWidth + 1)) {
      return true;
    }
  }
  return false;
}).map((amount) => amount.innerText)"""

# Amounts and nodes of tables that are broken over several lines.
BROKEN = """() => [...document.querySelectorAll(".data-table :is(.amount, .nowrap)")].filter((each) =>
  new Set([...each.getClientRects()].map(({ top }) => top)).size > 1 || each.innerText.includes("\\n")
).map((each) => each.innerText)"""


def panel(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=title, exact=True)


def rounded(amount: Decimal) -> str:
    return "< 0.01" if 0 < amount < CENT / 2 else f"{amount.quantize(CENT, ROUND_HALF_UP):,f}"


def table(scope: Locator) -> list[list[str]]:
    """The cells of the visible table's rows, below its headings, without the change from the month before."""
    rows = scope.locator("tbody tr, tfoot tr").all()
    texts = [[cell.inner_text() for cell in row.locator("th, td").all()] for row in rows]
    return [[text.partition("\nCompared with ")[0].replace("\xa0", " ") for text in row] for row in texts]


def respond(page: Page, responses: Responses) -> None:
    """Replace the data of some actions; the functions receive the request."""

    def handle(route: Route) -> None:
        request = route.request.post_data_json if route.request.method == "POST" else None
        if isinstance(request, dict) and request.get("action") in responses:
            data = responses[request["action"]](request)
            route.fulfill(json={"code": 200, "message": "", "data": data})
        else:
            route.fallback()

    page.route("**/api/", handle)


def open_with(browser: ConsoleBrowser, responses: Responses, path: str = "/#/costs", **options: Any) -> Page:
    page = browser.open(path, **options)
    respond(page, responses)
    sign_in(page)
    wait_until_loaded(page)
    return page


def consumption(number: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "res_type": "volume",
        "res_meta": {"vcpus": 0, "memory_gb": 0, "size_gb": 1},
        "start_at": "2026-11-01 00:00:00",
        "end_at": "2026-11-15 13:00:00",
        "name": f"disk {number}",
        "region": "hk-1",
        "unit_price": "0.01",
        "billing_type": "hourly",
        "amount": "1.00",
        "remarks": "",
        "billing_id": "2026-11",
        "cost_time": "3600",
        "res_id": f"v-{number}",
        "id": f"v-{number:08}/0/0",
        "is_billing": True,
        **fields,
    }


@pytest.mark.parametrize("account", ["demo", "other"])
def test_estimated_costs_are_rounded_and_on_demand_exact(browser: ConsoleBrowser, account: str) -> None:
    page = browser.open_signed_in("/#/costs", username=account)
    with Console(browser.console.address, username=account, password=browser.console.accounts[account]) as client:
        costs = client.consumption()
    estimated = panel(page, "Cost at the current rate")
    items = sorted(costs, key=lambda cost: -cost.hour)
    shown = [row[1:] for row in table(estimated)]
    assert shown == [[rounded(getattr(each, period)) for period in PERIODS] for each in (*items, costs.total)]
    page.get_by_label("Show exact amounts").check()
    shown = [row[1:] for row in table(estimated)]
    assert shown == [[f"{getattr(each, period):,f}" for period in PERIODS] for each in (*items, costs.total)]
    expect(estimated.locator("thead th")).to_have_text(["Kind", "Hour", "Day", "30 days", "365 days"])
    page.reload()
    expect(page.get_by_label("Show exact amounts")).to_be_checked()
    expect(estimated.locator("tfoot .exact").last).to_be_visible()


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [
        ("2.345", "CNY", "2.35"),
        ("2.344999999", "CNY", "2.34"),
        ("-2.345", "CNY", "−2.35"),
        ("0.004999999", "CNY", "< 0.01"),
        ("-0.004", "CNY", "> −0.01"),
        ("0.005", "CNY", "0.01"),
        ("0.00", "CNY", "0.00"),
        ("999.995", "CNY", "1,000.00"),
        ("1234.50", "JPY", "1,235"),
        ("0.40", "JPY", "< 1"),
        ("1.2345", "KWD", "1.235"),
        ("1.005", "not a currency", "1.01"),
        (HUGE, "CNY", "123,456,789,012,345,678,901.12"),
    ],
)
def test_amounts_are_rounded_half_up_to_the_unit_of_the_currency(
    browser: ConsoleBrowser, amount: str, currency: str, shown: str
) -> None:
    page = browser.open(bypass_csp=True)
    serve_modules(page)
    text = page.evaluate(
        """async ([amount, currency]) => {
          return (await import("/modules/components/amount.js")).roundedText(amount, currency);
        }""",
        [amount, currency],
    )
    assert text == shown


def test_this_month_and_its_forecast_match_the_api(browser: ConsoleBrowser, client: Console) -> None:
    page = browser.open_signed_in("/#/costs?exact=1")
    forecast = client.forecast()
    month = panel(page, "This month")
    assert month.locator("dd").all_inner_texts() == [
        f"{amount:,f} CNY" for amount in (forecast.so_far, forecast.total, forecast.rest)
    ]
    expect(month.locator("dt").last).to_have_text(f"Rest of the month ({forecast.hours_left} hours left)")
    expect(month.locator(".notice")).to_have_count(0)


def test_twelve_months_are_bars_and_a_table(browser: ConsoleBrowser, client: Console) -> None:
    page = browser.open_signed_in("/#/costs?exact=1")
    bills = client.call("GetBillingReportList4NearlyYear")
    history = panel(page, "Last twelve months")
    expect(history.locator("[data-month]")).to_have_count(12)
    expect(history.get_by_role("button", name="October 2026: 1,169.40618 CNY")).to_have_attribute(
        "aria-pressed", "false"
    )
    history.get_by_text("Show as a table").click()
    amounts = [Decimal(bill["total"]) for bill in reversed(bills)]
    assert [row[1:] for row in table(history)] == [[f"{amount:,f}"] for amount in amounts]
    heights = [bar.bounding_box() or {"height": 0} for bar in history.locator(".bar:not(.forecast)").all()]
    order = sorted(range(12), key=lambda number: heights[number]["height"])
    assert [amounts[11 - number] for number in order] == sorted(amounts)


@pytest.mark.parametrize("by", ["kind", "node", "resource"])
def test_a_month_is_broken_down_by_amount(browser: ConsoleBrowser, by: str) -> None:
    page = browser.open_signed_in(f"/#/costs?month=2026-10&exact=1&by={by}")
    with Console(browser.console.address, username="demo", password="console-demo") as client:
        costs = list(client.costs("2026-10-01", "2026-10-31"))
    sums: dict[str, Decimal] = {}
    for cost in costs:
        key = {"kind": cost.res_type, "node": cost.region, "resource": cost.res_id}[by]
        sums[key] = sums.get(key, Decimal()) + cost.amount
    breakdown = panel(page, "Monthly breakdown")
    rows = table(breakdown)
    expected = [*sorted(sums.values(), reverse=True), sum(sums.values())]
    assert [Decimal(row[-2].replace(",", "")) for row in rows] == expected
    if by != "kind":
        assert {row[0].split("\n")[-1] for row in rows[:-1]} == set(sums)
    assert rows[-1][-1] == "100.0%"


def test_search_group_and_month_are_in_the_url(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/costs")
    breakdown = panel(page, "Monthly breakdown")
    expect(breakdown.get_by_label("Month")).to_have_value("2026-11")
    breakdown.get_by_label("Month").select_option("2026-10")
    expect(breakdown.get_by_text("Costs of October 2026 in CNY")).to_be_visible()
    expect(page.get_by_role("status").get_by_text("October 2026: 1,169.41 CNY")).to_be_attached()
    breakdown.get_by_role("radio", name="By resource").check(force=True)
    breakdown.get_by_label("Search").fill("DATA")
    expect(page.get_by_role("status").get_by_text("Found: 2 of 9")).to_be_attached()
    assert page.url.endswith("#/costs?month=2026-10&by=resource&search=DATA")
    page.reload()
    expect(breakdown.locator("tbody th")).to_have_text([re.compile("web-data-2"), re.compile("web-data")])
    assert table(breakdown)[-1][0] == "Total of those found"
    page.get_by_role("button", name="September 2026:").click()
    expect(breakdown.get_by_text("Costs of September 2026 in CNY")).to_be_visible()
    expect(breakdown.get_by_label("Month")).to_have_value("2026-09")
    expect(page.get_by_role("button", name="September 2026:")).to_have_attribute("aria-pressed", "true")
    breakdown.get_by_label("Search").fill("no such resource")
    expect(breakdown.get_by_text("Nothing matches.")).to_be_visible()


def test_back_and_forward_return_to_month_group_and_kind(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/costs")
    breakdown = panel(page, "Monthly breakdown")
    month = breakdown.get_by_label("Month")
    start = page.evaluate("history.length")
    page.get_by_role("button", name="October 2026:").click()
    expect(breakdown.get_by_text("Costs of October 2026 in CNY")).to_be_visible()
    # The same month again is no step.
    page.get_by_role("button", name="October 2026:").click()
    breakdown.get_by_role("radio", name="By node").check(force=True)
    breakdown.get_by_role("radio", name="By kind").check(force=True)
    breakdown.get_by_role("button", name="Volumes").click()
    expect(breakdown.get_by_role("radio", name="By resource")).to_be_checked()
    breakdown.get_by_label("Search").fill("DATA")
    expect(breakdown.get_by_text("Found: 2 of")).to_be_visible()
    page.wait_for_url("**search=DATA")
    assert page.evaluate("history.length") == start + 4
    page.evaluate("document.querySelector('main h1').dataset.mark = 'kept'")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.go_back()
    expect(breakdown.get_by_role("radio", name="By kind")).to_be_checked()
    expect(breakdown.get_by_role("button", name="Remove filter")).to_have_count(0)
    expect(breakdown.get_by_label("Search")).to_have_value("")
    page.go_back()
    expect(breakdown.get_by_role("radio", name="By node")).to_be_checked()
    expect(breakdown.locator(".by-node")).to_be_visible()
    page.go_back()
    expect(breakdown.get_by_role("radio", name="By kind")).to_be_checked()
    assert requests == []
    page.go_back()
    expect(month).to_have_value("2026-11")
    expect(breakdown.get_by_text("Costs of November 2026 in CNY")).to_be_visible()
    expect(page.get_by_role("button", name="November 2026 so far:")).to_have_attribute("aria-pressed", "true")
    for _ in range(4):
        page.go_forward()
    expect(breakdown.get_by_text("Costs of October 2026 in CNY")).to_be_visible()
    expect(breakdown.get_by_role("button", name="Remove filter Kind: Volumes")).to_be_visible()
    expect(breakdown.get_by_label("Search")).to_have_value("DATA")
    # All of this without loading the page again.
    expect(page.locator("main h1")).to_have_attribute("data-mark", "kept")


@pytest.mark.parametrize("month", ["2026-13", "1969-12", "9999-01", "x", "2026-10-01"])
def test_an_invalid_month_in_the_url_means_the_current_one(browser: ConsoleBrowser, month: str) -> None:
    page = browser.open_signed_in(f"/#/costs?month={month}&by=nothing")
    breakdown = panel(page, "Monthly breakdown")
    expect(breakdown.get_by_label("Month")).to_have_value("2026-11")
    expect(breakdown.get_by_role("radio", name="By kind")).to_be_checked()


def test_an_earlier_month_can_be_linked_to(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/costs?month=2024-02")
    breakdown = panel(page, "Monthly breakdown")
    expect(breakdown.get_by_label("Month")).to_have_value("2024-02")
    expect(breakdown.get_by_text("No recorded costs in February 2024.")).to_be_visible()


def test_a_month_without_costs_has_one_statement_and_no_downloads(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/costs?month=2026-01")
    breakdown = panel(page, "Monthly breakdown")
    expect(breakdown.get_by_text("No costs in January 2026.")).to_be_visible()
    expect(breakdown.locator("p:visible")).to_have_count(1)
    for name in (CSV, FOCUS):
        expect(breakdown.get_by_role("button", name=name)).to_be_disabled()
        expect(breakdown.get_by_role("button", name=name)).to_have_attribute(
            "title", re.compile("no costs to download")
        )
    expect(breakdown.get_by_label("Search")).to_have_count(0)
    assert_accessible(page)
    breakdown.get_by_label("Month").select_option("2026-10")
    expect(breakdown.get_by_role("button", name="Download October 2026 (CSV)")).to_be_enabled()


def test_a_month_that_has_not_begun_leads_to_the_current_one(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/costs?month=2031-01")
    breakdown = panel(page, "Monthly breakdown")
    expect(breakdown.get_by_text("January 2031 has not begun yet. This is the current month.")).to_be_visible()
    expect(breakdown.get_by_label("Month")).to_have_value("2026-11")
    expect(breakdown.locator("option")).to_have_count(12)
    expect(breakdown.get_by_role("button", name="Download November 2026 (CSV)")).to_be_enabled()
    expect(page.get_by_role("button", name="November 2026 so far:")).to_have_attribute("aria-pressed", "true")
    breakdown.get_by_label("Month").select_option("2026-10")
    expect(breakdown.get_by_text("Costs of October 2026 in CNY")).to_be_visible()
    expect(breakdown.get_by_text("has not begun yet")).to_have_count(0)


def test_a_closed_month_is_compared_with_the_one_before(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/costs?month=2026-10&exact=1")
    with Console(browser.console.address, username="demo", password="console-demo") as client:
        bills = {bill.month: bill.total for bill in client.monthly_bills()}
    october, september = bills["2026-10"], bills["2026-09"]
    assert october is not None
    assert september is not None
    summary = panel(page, "Monthly breakdown").locator(".month-summary")
    expect(summary.locator("[data-figure=month] dd")).to_have_text(f"{october:,f} CNY", use_inner_text=True)
    percent = ((october - september) / september * 100).quantize(Decimal("0.1"), ROUND_HALF_UP)
    change = summary.locator("[data-figure=change]")
    expect(change).to_contain_text("Compared with September 2026")
    expect(change).to_contain_text(f"{october - september:+,f} CNY ({percent:+}%)", use_inner_text=True)
    expect(change).to_contain_text("31 days instead of 30")
    panel(page, "Monthly breakdown").get_by_label("Month").select_option("2026-11")
    # The first panel shows the same.
    expect(summary).to_be_empty()
    expect(summary.locator("[data-figure=change]")).to_have_count(0)


@pytest.mark.parametrize(
    ("previous", "is_complete"), [(None, False), ("5.00", False), ("0.00", True), ("5.00", True), ("12.00", True)]
)
def test_only_complete_months_are_compared(browser: ConsoleBrowser, previous: str | None, is_complete: bool) -> None:
    bills = [
        {"bill_month": "2026-09", "total": previous, "complete": is_complete},
        {"bill_month": "2026-10", "total": "10.00", "complete": True},
        {"bill_month": "2026-11", "total": "1.00", "complete": True},
    ]
    data: Responses = {
        "GetBillingReportList4NearlyYear": lambda _: bills,
        "GetConsumptionsByQuery": lambda _: [consumption(amount="10.00")],
    }
    page = open_with(browser, data, "/#/costs?month=2026-10")
    change = panel(page, "Monthly breakdown").locator("[data-figure=change] dd")
    if not is_complete:
        expect(change).to_have_count(0)
        return
    shown = {"0.00": "+10.00 CNY", "5.00": "+5.00 CNY (+100.0%)", "12.00": "−2.00 CNY (−16.7%)"}[str(previous)]
    expect(change).to_have_text(f"{shown}31 days instead of 30")


@pytest.mark.parametrize(("by", "text", "key"), [("kind", "Volumes", "res_type"), ("node", "hk-1", "region")])
def test_a_kind_or_node_leads_to_its_resources(browser: ConsoleBrowser, by: str, text: str, key: str) -> None:
    page = browser.open_signed_in(f"/#/costs?month=2026-10&exact=1&by={by}&search={text}")
    breakdown = panel(page, "Monthly breakdown")
    amount = table(breakdown)[0][-2]
    breakdown.get_by_role("button", name=text, exact=True).click()
    assert page.url.endswith(f"&by=resource&{by}={'volume' if by == 'kind' else text}")
    expect(breakdown.get_by_role("radio", name="By resource")).to_be_focused()
    with Console(browser.console.address, username="demo", password="console-demo") as client:
        rows = client.call("GetConsumptionsByQuery", start_at="2026-10-01", end_at="2026-10-31")
    found = {row["res_id"] for row in rows if row[key] in (text, "volume")}
    rows_shown = table(breakdown)
    assert {row[0].split("\n")[1] for row in rows_shown[:-1]} == found
    assert (rows_shown[-1][0], rows_shown[-1][-2]) == ("Total of those found", amount)
    page.reload()
    expect(breakdown.locator("tbody tr")).to_have_count(len(found))
    breakdown.get_by_role("button", name="Remove filter").click()
    expect(breakdown.locator("tbody tr")).to_have_count(9)
    expect(breakdown.get_by_role("radio", name="By resource")).to_be_focused()


@pytest.mark.parametrize("name", ["kind", "node"])
def test_an_unknown_filter_in_the_url_finds_nothing_and_can_be_removed(browser: ConsoleBrowser, name: str) -> None:
    page = browser.open_signed_in(f"/#/costs?month=2026-10&{name}=%3Cimg%20src%3Dx%3E")
    breakdown = panel(page, "Monthly breakdown")
    expect(breakdown.get_by_text("Nothing matches.")).to_be_visible()
    breakdown.get_by_role("button", name=f"Remove filter {name.title()}: <img src=x>").click()
    expect(breakdown.locator("tbody tr")).to_have_count(3)
    assert page.url.endswith("/#/costs?month=2026-10")


def test_hours_and_prices_of_a_resource_are_shown(browser: ConsoleBrowser) -> None:
    size = {"vcpus": 0, "memory_gb": 0, "size_gb": 2}
    first = {"start_at": "2026-10-01 00:00:00", "end_at": "2026-10-02 00:00:00", "cost_time": "86400"}
    second = {"start_at": "2026-10-02 00:00:00", "end_at": "2026-11-01 00:00:00", "cost_time": "2592000"}
    middle = {"start_at": "2026-10-13 14:00:00", "end_at": "2026-10-21 00:00:00", "cost_time": "640800"}
    rows = [
        consumption(1, is_billing=False, amount="0.24", **first),
        consumption(1, is_billing=False, amount="14.40", unit_price="0.02", res_meta=size, id="v-1/1", **second),
        consumption(2, is_billing=False, amount="1.78", **middle),
    ]
    bills = [{"bill_month": month, "total": "16.42", "complete": True} for month in ("2026-10", "2026-11")]
    page = open_with(
        browser,
        {"GetConsumptionsByQuery": lambda _: rows, "GetBillingReportList4NearlyYear": lambda _: bills},
        "/#/costs?month=2026-10&by=resource",
    )
    shown = table(panel(page, "Monthly breakdown"))
    assert shown[0][1:5] == [
        "Volumes\n2 GB",
        "hk-1",
        "1 GB · 24 h × 0.01 = 0.24\nFrom 2 Oct 2026, 00:00: 2 GB · 720 h × 0.02 = 14.40",
        "14.64",
    ]
    assert shown[1][0] == "disk 2\nv-2\nStarted 13 Oct Ended 20 Oct"
    assert shown[1][3:5] == ["178 h × 0.01", "1.78"]


def test_the_price_per_hour_is_explained_by_the_prices(browser: ConsoleBrowser, client: Console) -> None:
    page = browser.open_signed_in("/#/costs?by=resource")
    wait_until_loaded(page)
    rates = dict(
        zip(page.locator(".resource-id").all_inner_texts(), page.locator(".rate").all_inner_texts(), strict=True)
    )
    assert rates["i-d0000003"] == "0.8864 = 8 cores × 0.0365 + 32 GB RAM × 0.0182 + base price 0.012"
    assert rates["i-d0000004"] == "0.072 = 1 core × 0.0418 + 1 GB RAM × 0.0182 + base price 0.012"
    assert rates["v-d0000001"] == "0.0385125 = 100 GB × 0.000385125"
    rows = client.call("GetConsumptionsByQuery", start_at="2026-11-01", end_at="2026-11-30")
    for row in rows:
        price, _, terms = rates[row["res_id"]].partition(" = ")
        assert price == row["unit_price"]
        numbers = [re.findall(r"[\d.]+", term) for term in terms.split(" + ")]
        products = [Decimal(each[-1]) * (Decimal(each[0]) if len(each) == 2 else 1) for each in numbers]
        assert sum(products) == Decimal(price)


def test_the_months_show_corrections_apart(browser: ConsoleBrowser) -> None:
    amounts = [("10.00", "0.00"), ("12.50", "2.50"), ("8.00", "-2.00"), (None, None)]
    bills = [
        {"bill_month": f"2026-{month:02}", "total": total, "corrections": corrections, "complete": True}
        for month, (total, corrections) in enumerate(amounts, 8)
    ]
    page = open_with(browser, {"GetBillingReportList4NearlyYear": lambda _: bills})
    history = panel(page, "Last twelve months")
    assert history.locator(".legend li").all_inner_texts() == [
        "Usage",
        "Corrections for earlier months",
        "Credits for earlier months",
    ]
    for month, text in [
        ("2026-08", "August 2026: 10.00 CNY"),
        ("2026-09", "September 2026: 12.50 CNY Usage 10.00, Corrections 2.50"),
        ("2026-10", "October 2026: 8.00 CNY Usage 10.00, Corrections −2.00"),
    ]:
        expect(history.locator(f"[data-month='{month}'] .visually-hidden")).to_have_text(text)
    bars = "each => [each.style.height, each.firstChild?.className, each.firstChild?.style.height]"
    shown = [each.evaluate(bars) for each in history.locator(".bar:not(.forecast)").all()]
    # Of 12.50 in a scale up to 15; the credit is what is missing to the usage.
    assert [part for _, part, _ in shown] == [None, "correction", "credit"]
    assert [part for *_, part in shown[1:]] == ["20%", "20%"]
    assert shown[0][0] == shown[2][0]
    history.get_by_text("Show as a table").click()
    assert table(history) == [
        ["November 2026", "", "", "Unknown"],
        ["October 2026", "10.00", "−2.00", "8.00"],
        ["September 2026", "10.00", "2.50", "12.50"],
        ["August 2026", "10.00", "0.00", "10.00"],
    ]
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert_accessible(page)
    page.set_viewport_size(PHONE)
    assert_accessible(page)
    screenshot(page, "costs-corrections")


def test_resources_are_compared_with_the_month_before(browser: ConsoleBrowser) -> None:
    amounts = {"09": {1: "1.00", 2: "5.00", 4: "2.00"}, "10": {1: "3.50", 2: "4.00", 3: "7.00", 4: "2.00"}}

    def rows(request: dict[str, Any]) -> list[dict[str, Any]]:
        of_month = amounts.get(request["start_at"][5:7], {})
        return [consumption(number, amount=amount, is_billing=False) for number, amount in of_month.items()]

    bills = [{"bill_month": f"2026-{month}", "total": "1.00", "complete": True} for month in ("09", "10", "11")]
    responses: Responses = {"GetConsumptionsByQuery": rows, "GetBillingReportList4NearlyYear": lambda _: bills}
    page = open_with(browser, responses, "/#/costs?month=2026-10&by=resource")
    cells = page.locator(".breakdown-table tbody .col-amount")
    compared = "Compared with September 2026"
    expected = ["7.00 New", "4.00 −1.00", "3.50 +2.50", "2.00"]
    expect(cells).to_have_text([each.replace(" ", f"{compared} ") for each in expected], use_inner_text=False)
    assert_accessible(page)
    page.get_by_label("By kind").check()
    expect(cells).to_have_text([f"16.50{compared} +8.50"])
    # Nothing is known about the month before, or the month is not over.
    for month in ("2026-09", "2026-11"):
        page.get_by_label("Month", exact=True).select_option(month)
        expect(page.locator(".breakdown-slot[aria-busy]")).to_have_count(0)
        wait_until_loaded(page)
        expect(page.locator(".change")).to_have_count(0)


TYPED = {"res_type": "volume", "unit": "gb", "region": None, "in_force": True, "start_at": "2026-01-01 00:00:00"}


@pytest.mark.parametrize(
    ("prices", "expected"),
    [
        ([("ssd", "0.01")], ["0.01 = 1 GB × 0.01"]),
        ([(None, "0.02"), ("hdd", "0.003"), ("ssd", "0.01")], ["0.01 = 1 GB × 0.01"]),
        ([(None, "0.011")], []),
        ([], []),
    ],
)
def test_prices_that_do_not_add_up_explain_nothing(
    browser: ConsoleBrowser, prices: list[tuple[str | None, str]], expected: list[str]
) -> None:
    items = [{**TYPED, "type": type_name, "price": price, "end_at": None} for type_name, price in prices]
    balancer = consumption(2, res_type="loadbalance", unit_price="0.085")
    page = open_with(
        browser,
        {"GetConsumptionsByQuery": lambda _: [consumption(), balancer], "GetPrices": lambda _: items},
        "/#/costs?by=resource",
    )
    wait_until_loaded(page)
    expect(page.locator(".breakdown-table tbody tr")).to_have_count(2)
    assert page.locator(".rate").all_inner_texts() == expected


def test_of_a_partly_recorded_month_no_start_is_guessed(browser: ConsoleBrowser) -> None:
    row = consumption(start_at="2026-10-13 14:00:00", end_at="2026-10-21 00:00:00", is_billing=False)
    bills = [{"bill_month": month, "total": "1.00", "complete": False} for month in ("2026-10", "2026-11")]
    page = open_with(
        browser,
        {"GetConsumptionsByQuery": lambda _: [row], "GetBillingReportList4NearlyYear": lambda _: bills},
        "/#/costs?month=2026-10&by=resource",
    )
    assert table(panel(page, "Monthly breakdown"))[0][0] == "disk 1\nv-1"


def test_of_two_months_the_last_one_chosen_is_shown(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/costs")
    held = HeldResponse(page, "GetConsumptionsByQuery")
    breakdown = panel(page, "Monthly breakdown")
    with page.expect_request("**/api/"):
        breakdown.get_by_label("Month").select_option("2026-10")
    breakdown.get_by_label("Month").select_option("2026-09")
    expect(breakdown.get_by_text("Costs of September 2026 in CNY")).to_be_visible()
    with page.expect_response("**/api/"):
        held.release()
    page.wait_for_function("document.querySelectorAll('[aria-busy]').length === 0")
    expect(breakdown.get_by_text("Costs of September 2026 in CNY")).to_be_visible()


def test_a_month_is_shown_although_the_one_before_fails(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/nowhere")

    def fail(route: Route) -> None:
        fields: Any = route.request.post_data_json if route.request.method == "POST" else {}
        if fields.get("start_at") == "2026-09-01":
            route.fulfill(status=502, body="")
        else:
            route.fallback()

    page.route("**/api/", fail)
    page.goto("/#/costs?month=2026-10")
    wait_until_loaded(page)
    expect(page.locator(".breakdown-table tbody tr")).to_have_count(3)
    expect(page.locator(".change, .error-box")).to_have_count(0)


def test_a_refresh_loads_all_panels_and_keeps_what_is_chosen(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/costs?month=2026-10")
    expect(page.get_by_text("As of")).to_have_count(1)
    page.get_by_label("By node").check(force=True)
    page.get_by_label("Search").fill("hk")
    page.wait_for_url("**search=hk")
    page.get_by_text("Show as a table").click()
    actions: list[Any] = []
    page.on("request", lambda request: actions.append((request.post_data_json or {}).get("action")))
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_role("status").get_by_text("Page refreshed.")).to_be_attached()
    wait_until_loaded(page)
    assert sorted(set(actions)) == sorted({*SECTIONS, "GetConsumptionsEstimated"} - {"GetCostExport"})
    expect(page.get_by_label("By node")).to_be_checked()
    expect(page.get_by_label("Search")).to_have_value("hk")
    expect(page.get_by_label("Month", exact=True)).to_have_value("2026-10")
    expect(page.locator(".cost-table")).to_have_attribute("open", "")


def test_during_an_outage_the_month_that_was_loaded_last_stays(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/costs?month=2026-10")
    page.get_by_role("link", name="Domains").click()
    wait_until_loaded(page)
    page.route("**/api/", lambda route: route.abort())
    page.goto("/#/costs?month=2026-10")
    expect(page.locator(".shell-outage").get_by_role("alert")).to_be_visible()
    expect(page.get_by_text("Not loaded")).to_have_count(0)
    expect(page.locator(".breakdown-table caption")).to_contain_text("Costs of October 2026 in CNY")
    # Another month has not been loaded.
    page.get_by_label("Month", exact=True).select_option("2026-09")
    expect(page.get_by_text("Not loaded")).to_have_count(1)


def test_the_forecast_of_the_current_month_is_outlined(browser: ConsoleBrowser, client: Console) -> None:
    page = browser.open_signed_in("/#/costs")
    forecast = client.forecast()
    assert forecast.so_far is not None
    assert forecast.total is not None
    chart = page.locator(".cost-chart")
    expect(chart.locator(".readout")).to_contain_text(f"November 2026 so far: {rounded(forecast.so_far)}")
    expect(chart.locator(".readout")).to_contain_text(f"Forecast for the month {rounded(forecast.total)}")
    outline, bar = (
        chart.locator("li").last.locator(selector).bounding_box() for selector in (".forecast", ".bar:not(.forecast)")
    )
    assert outline
    assert bar
    assert outline["height"] / bar["height"] == pytest.approx(float(forecast.total / forecast.so_far), rel=0.02)
    expect(chart.locator(".forecast")).to_have_count(1)
    chart.get_by_role("button", name="October 2026:").hover()
    expect(chart.locator(".readout")).not_to_contain_text("Forecast")
    # Its own panel says that it failed.
    browser.console.fault("internal_error", call="GetForecast")
    page.goto("/#/nowhere")
    page.goto("/#/costs")
    wait_until_loaded(page)
    expect(chart.locator(".forecast")).to_have_count(0)
    expect(panel(page, "Last twelve months").get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize(("format_name", "name"), [("csv", "costs-2026-10.csv"), ("focus", "costs-2026-10-focus.csv")])
def test_a_download_is_the_export_of_the_command_line(
    browser: ConsoleBrowser, tmp_path: Path, format_name: str, name: str
) -> None:
    browser_page = browser.open_signed_in("/#/costs?month=2026-10")
    limits = []

    # Small pages, so that there are several.
    def shrink(route: Route) -> None:
        body = route.request.post_data_json if route.request.method == "POST" else None
        if isinstance(body, dict) and body.get("action") == "GetCostExport":
            limits.append(body["limit"])
            route.continue_(post_data={**body, "limit": 2})
        else:
            route.fallback()

    browser_page.route("**/api/", shrink)
    with browser_page.expect_download() as download:
        browser_page.get_by_role("button", name=CSV if format_name == "csv" else FOCUS).click()
    assert download.value.suggested_filename == name
    connection = {"CLOUDCONSOLE_URL": browser.console.address, "CLOUDCONSOLE_USERNAME": "demo"}
    environment = {**connection, "CLOUDCONSOLE_PASSWORD": "console-demo", "HOME": str(tmp_path)}
    command = ["costs", "export", "--month", "2026-10", "--format", format_name]
    result = run_forked(command, environment)
    assert result.returncode == 0, result.stderr
    # Spreadsheet programs need the mark to read UTF-8.
    mark = b"\xef\xbb\xbf" if format_name == "csv" else b""
    assert download.value.path().read_bytes() == mark + result.stdout.encode()
    rows = len(result.stdout.splitlines()) - 1
    assert len(limits) > rows / 2
    assert set(limits) == {1000}
    expect(browser_page.locator(".download-status")).to_have_text(f"Downloaded {name}, rows: {rows}")


def test_lines_of_a_file_are_those_of_the_command_line(browser: ConsoleBrowser) -> None:
    texts = [
        *("", "plain", "a,b", 'say "x"', "two\nlines", "two\r\nlines", "\r", "数据库", "a;b", "'quoted'", "\ufeff=1"),
        *("=1+1", "+1", "-1", "-1.5e3", "-x", "@SUM(A1)", "＝1", "＋1", "－1", "＠x", "\t=1", " =1", "\u3000=1"),
        *("\x1c=1", "\x85=1", "\xa0=1", "\u200b=1", "\n", "1e5", "-1\n", "--1", "0x1"),
        *(
            "a;=1",
            "a; =1;-2;b",
            'a;"=1;',
            "a;-2",
            "a;-x",
            "-1;b",
            "a\t@x\t-1",
            "a\n=1",
            "a;\u3000＝1",
        ),
        *("hk;ov", ";", "=;="),
    ]
    page = browser.open(bypass_csp=True)
    serve_modules(page)
    lines = page.evaluate(
        """async (rows) => {
          const { csvLine } = await import("/modules/pages/costs/csv.js");
          return rows.map(csvLine);
        }""",
        [[text, "next"] for text in texts],
    )
    assert lines == [csv_line([text, "next"]) for text in texts]


def test_a_failed_download_saves_nothing_and_can_be_retried(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/costs")
    browser.console.fault("internal_error", call="GetCostExport")
    page.get_by_role("button", name=CSV).click()
    status = page.locator(".download-status")
    expect(status.get_by_role("alert")).to_be_visible()
    expect(page.get_by_role("button", name=CSV)).to_have_attribute("aria-disabled", "false")
    with page.expect_download():
        status.get_by_role("button", name="Try again").click()


def test_a_failed_download_is_forgotten_when_the_month_is_loaded_again(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/nowhere")
    stop_clock(page)
    page.route("**/api/", lambda route: route.abort())
    page.goto("/#/costs")
    page.get_by_role("button", name=CSV).click()
    status = page.locator(".download-status")
    expect(status.get_by_role("alert")).to_be_visible()
    page.unroute("**/api/")
    page.locator(".shell-outage").get_by_role("button", name="Try again").click()
    expect(status).to_be_empty()


def test_the_link_to_the_resources_leads_to_the_breakdown(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in(viewport=PHONE)
    page.get_by_role("link", name="Costs by resource").click()
    heading = page.get_by_role("heading", name="Monthly breakdown")
    expect(heading).to_be_focused()
    wait_until_loaded(page)
    expect(heading).to_be_in_viewport()
    # Only once: reload and Back restore the position.
    assert page.evaluate("location.hash") == "#/costs?by=resource"


@pytest.mark.parametrize(
    "second",
    [
        {"columns": ["a", "b"], "rows": [], "next_marker": None},
        {"columns": ["a"], "rows": [], "next_marker": "m"},
        {"columns": ["a"], "rows": [["1", "2"]], "next_marker": None},
    ],
)
def test_an_inconsistent_export_is_rejected(browser: ConsoleBrowser, second: dict[str, Any]) -> None:
    first = {"columns": ["a"], "rows": [["1"]], "next_marker": "m"}
    page = open_with(browser, {"GetCostExport": lambda request: second if "marker" in request else first})
    page.get_by_role("button", name=CSV).click()
    expect(page.locator(".download-status").get_by_role("alert")).to_contain_text("unexpected response")


def test_unknown_costs_are_shown_as_unknown(browser: ConsoleBrowser) -> None:
    def months(_request: object) -> list[dict[str, Any]]:
        known = [{"bill_month": f"2026-{number:02}", "total": "5.00", "complete": True} for number in range(1, 11)]
        none = {"bill_month": "2025-12", "total": None, "complete": False}
        return [none, *known, {"bill_month": "2026-11", "total": "3.00", "complete": False}]

    no_forecast = {
        "month": "2026-11",
        "so_far": "3.00",
        "rest": None,
        "total": None,
        "hours_left": 9,
        "complete": False,
    }
    gaps = [
        consumption(res_type="gap", res_id="", amount="0.00", id=f"~/{hour}/0", start_at=f"2026-11-15 {hour}:00:00")
        for hour in range(11, 16)
    ]
    page = open_with(
        browser,
        {
            "GetBillingReportList4NearlyYear": months,
            "GetForecast": lambda _: no_forecast,
            "GetConsumptionsByQuery": lambda _: [consumption(amount="3.00"), *gaps],
        },
    )
    month = panel(page, "This month")
    assert month.locator("dd").all_inner_texts() == ["3.00 CNY", "Unknown", "Unknown"]
    expect(month).to_contain_text("Part of this month was not recorded.")
    history = panel(page, "Last twelve months")
    expect(history.get_by_role("button", name="December 2025: not recorded")).to_contain_text("?")
    expect(history.get_by_role("button", name="November 2026 so far: 3.00 CNY (partly recorded)")).to_be_visible()
    expect(history.locator("[aria-pressed=true] .bar")).to_have_css("background-image", re.compile("gradient"))
    history.get_by_text("Show as a table").click()
    shown = table(history)
    assert (shown[0][1:], shown[-1][1:]) == (["3.00", "Partial"], ["Unknown", "None"])
    breakdown = panel(page, "Monthly breakdown")
    assert [row[0] for row in table(breakdown)] == ["Volumes", "Total"]
    expect(breakdown.locator(".gaps > ul li").first).to_have_text("15 Nov 2026, 11:00 to 15 Nov 2026, 13:00")
    expect(breakdown.locator(".gaps > ul li")).to_have_count(3)
    breakdown.get_by_text("2 more").click()
    expect(breakdown.locator(".gaps li").last).to_be_visible()
    assert_accessible(page)
    screenshot(page, "costs-unknown")


def test_a_console_without_a_record_says_so(browser: ConsoleBrowser) -> None:
    nothing = {"month": "2026-11", "so_far": None, "rest": None, "total": None, "hours_left": 9, "complete": False}
    bills = [{"bill_month": f"2026-{number:02}", "total": None, "complete": False} for number in range(1, 13)]
    page = open_with(
        browser,
        {
            "GetForecast": lambda _: nothing,
            "GetBillingReportList4NearlyYear": lambda _: bills,
            "GetConsumptionsByQuery": lambda _: [],
        },
    )
    expect(panel(page, "This month")).to_contain_text("This console has no record of past costs.")
    expect(panel(page, "Monthly breakdown")).to_contain_text("was not recorded.")
    assert_accessible(page)


def test_corrections_are_included_and_named(browser: ConsoleBrowser) -> None:
    correction: dict[str, Any] = {"billing_type": "correction", "remarks": "price", "cost_time": "0"}
    rows = [
        consumption(id="/0/0", res_id="", name="", region="", amount="-2.50", **correction),
        consumption(1, amount="10.00", cost_time="1256400"),
        consumption(1, amount="0.50", id="v-00000001/0/1", region="hk-2", **correction),
    ]
    page = open_with(browser, {"GetConsumptionsByQuery": lambda _: rows}, "/#/costs?by=resource")
    breakdown = panel(page, "Monthly breakdown")
    assert [row[0::4] for row in table(breakdown)] == [
        ["disk 1\nv-1", "10.50"],
        ["Correction of prices", "−2.50"],
        ["Total", "8.00"],
    ]
    first = breakdown.locator("tbody tr").first
    expect(first).to_contain_text("hk-1, hk-2")
    expect(first.locator(".line")).to_have_text(["349 h × 0.01 = 10.00", "Correction (price): 0.50"])
    assert breakdown.locator(".month-summary dd").all_inner_texts() == ["8.00 CNY", "10.00 CNY", "−2.00 CNY"]
    expect(breakdown.locator(".month-summary dt")).to_have_text(
        ["November 2026 so far", "Usage", "Corrections for earlier months"]
    )
    breakdown.get_by_role("radio", name="By node").check(force=True)
    assert [row[:4] for row in table(breakdown)] == [
        ["hk-1", "10.00", "0.00", "10.00"],
        ["hk-2", "0.00", "0.50", "0.50"],
        ["No node", "0.00", "−2.50", "−2.50"],
        ["Total", "10.00", "−2.00", "8.00"],
    ]
    assert_accessible(page)


def test_a_large_month_is_loaded_in_parts(browser: ConsoleBrowser) -> None:
    total = 12_345

    def page_of(request: dict[str, Any]) -> list[dict[str, Any]]:
        first = int(request.get("marker", "v-00000000").partition("/")[0][2:]) + 1
        return [consumption(number) for number in range(first, min(total, first + request["limit"] - 1) + 1)]

    page = open_with(browser, {"GetConsumptionsByQuery": page_of}, "/#/costs?by=resource")
    breakdown = panel(page, "Monthly breakdown")
    expect(breakdown).to_contain_text("The amounts below are those of the first 10,000 only.")
    expect(breakdown.locator("tfoot th")).to_have_text("Total of loaded records")
    expect(breakdown.locator("tfoot .amount")).to_have_text("10,000.00")
    expect(breakdown.locator("tbody tr")).to_have_count(100)
    assert_accessible(page)
    breakdown.get_by_role("button", name="Load more").click()
    expect(breakdown.locator("tfoot .amount")).to_have_text("12,345.00")
    expect(breakdown.locator("tfoot th")).to_have_text("Total")
    expect(breakdown.get_by_role("button", name="Load more")).to_have_count(0)
    expect(breakdown.get_by_role("radio", name="By resource")).to_be_focused()
    breakdown.get_by_role("button", name="Show 100 more").click()
    expect(breakdown.locator("tbody tr")).to_have_count(200)
    expect(breakdown.locator("tbody tr:nth-child(101) th")).to_be_focused()


def test_prices_in_force_and_to_come_match_the_api(browser: ConsoleBrowser, client: Console) -> None:
    def change(cloud: Cloud, _tenant: Cloud) -> None:
        cloud["prices"].append({"kind": "image", "unit": "gb", "price": "0.000000123", "from": "2027-01-01T00:00:00Z"})

    load_cloud(browser.console, change)
    page = browser.open_signed_in("/#/costs")
    prices = panel(page, "Prices")
    tables = [table(each) for each in prices.locator("table").all()]
    expected = client.prices()
    assert [len(rows) for rows in tables] == [
        sum(price.in_force for price in expected),
        sum(not price.in_force for price in expected),
    ]
    shown = [row[3] for rows in tables for row in rows]
    assert shown == [f"{price.price:f}" for price in sorted(expected, key=lambda price: not price.in_force)]
    assert tables[1] == [["Images", "Per GB", "All", "0.000000123", "1 Jan 2027, 00:00"]]
    assert tables[0][0] == ["Instances", "Per instance (base price)", "All", "0.012", "1 Jan 2025, 00:00", "No end"]


SECTIONS = {
    "GetForecast": "This month",
    "GetBillingReportList4NearlyYear": "Last twelve months",
    "GetConsumptionsByQuery": "Monthly breakdown",
    "GetCostExport": "Monthly breakdown",
    "GetPrices": "Prices",
}


@pytest.mark.parametrize("extensions", [[], *([name] for name in SECTIONS), ["GetDomains"], None])
def test_only_what_the_console_has_is_shown_and_requested(
    browser: ConsoleBrowser, extensions: list[str] | None
) -> None:
    page = browser.open("about:blank")
    requested: set[str] = set()

    def handle(route: Route) -> None:
        if route.request.method == "POST":
            requested.add((route.request.post_data_json or {})["action"])
            return route.fallback()
        response = route.fetch()
        body = response.json()
        body["data"]["extensions"] = extensions
        if extensions is None:
            del body["data"]["extensions"]
        return route.fulfill(response=response, json=body)

    page.route("**/api/", handle)
    page.goto("/#/costs")
    sign_in(page)
    wait_until_loaded(page)
    wanted = {SECTIONS[name] for name in extensions or [] if name in SECTIONS}
    titles = page.locator("main h2").all_inner_texts()
    assert set(titles) == {"Cost at the current rate", *wanted}
    assert requested - {"GetCostExport"} == {"GetConsumptionsEstimated", *(extensions or [])} - {
        "GetCostExport",
        "GetDomains",
    }
    expect(page.locator(".error-box")).to_have_count(0)
    expect(page.get_by_role("button", name=CSV)).to_have_count(int(extensions == ["GetCostExport"]))
    expect(page.locator(".breakdown")).to_have_count(int(extensions == ["GetConsumptionsByQuery"]))
    page.get_by_role("link", name="Overview").click()
    wait_until_loaded(page)
    expect(panel(page, "Costs").locator(".cost-figures dd")).to_have_count(2)
    expect(page.locator(".error-box")).to_have_count(0)


def test_a_failing_action_does_not_affect_other_panels(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/nowhere")
    actions = {"GetConsumptionsEstimated": "Cost at the current rate", **SECTIONS}
    del actions["GetCostExport"]
    for action, title in actions.items():
        browser.console.fault("internal_error", call=action)
        page.goto("/#/nowhere")
        page.goto("/#/costs")
        failed = panel(page, title)
        expect(failed.get_by_role("alert")).to_have_count(1)
        wait_until_loaded(page)
        expect(page.get_by_role("button", name="Try again")).to_have_count(1)
        failed.get_by_role("button", name="Try again").click()
        expect(page.get_by_role("alert").get_by_text("request ID")).to_have_count(0)


@pytest.mark.parametrize("path", ["/#/", "/#/costs", "/#/costs?exact=1&by=resource"])
def test_no_amount_is_cut_at_any_width(browser: ConsoleBrowser, path: str) -> None:
    hours = ["0.000000001", HUGE]
    kinds = ["image", "volume"]
    items = [{"res_type": kind, **dict.fromkeys(PERIODS, amount)} for kind, amount in zip(kinds, hours, strict=True)]
    bills = [{"bill_month": f"2026-{number:02}", "total": HUGE, "complete": True} for number in range(1, 13)]
    price = {"res_type": "volume", "unit": "gb", "region": None, "type": "ssd", "in_force": True, "price": HUGE}
    page = open_with(
        browser,
        {
            "GetConsumptionsEstimated": lambda _: items,
            "GetForecast": lambda _: {
                "month": "2026-12",
                "so_far": HUGE,
                "rest": HUGE,
                "total": HUGE,
                "hours_left": 9,
                "complete": True,
            },
            "GetBillingReportList4NearlyYear": lambda _: bills,
            "GetConsumptionsByQuery": lambda _: [consumption(amount=HUGE)],
            "GetPrices": lambda _: [{**price, "start_at": "2025-01-01 00:00:00", "end_at": "2027-01-01 00:00:00"}],
        },
        path,
    )
    for summary in page.locator("main summary").all():
        summary.click()
    assert page.locator("main .amount:visible").count() >= 2
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        wait_until_painted(page)
        assert page.evaluate(CUT) == [], width
        assert_accessible(page)
        screenshot(page, f"costs-huge-{width}")


def test_the_cost_table_fits_at_every_width_with_usual_amounts(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/costs?exact=1")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        wait_until_painted(page)
        assert page.evaluate(CUT) == [], width
        assert page.evaluate(BROKEN) == [], width


@pytest.mark.parametrize("by", ["kind", "node", "resource"])
@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_amounts_and_nodes_stay_on_one_line(browser: ConsoleBrowser, by: str, locale: str) -> None:
    correction = {"billing_type": "correction", "remarks": "start", "cost_time": "0"}
    rows = [
        consumption(number, region="sh-1", amount=amount, id=f"v-{number:08}/0/{index}", **fields)
        for number in range(1, 4)
        for index, (amount, fields) in enumerate([("123456.78", {}), ("10187.764321", correction)])
    ]
    page = open_with(browser, {"GetConsumptionsByQuery": lambda _: rows}, f"/#/costs?exact=1&by={by}", locale=locale)
    for width in [390, 768, 1100, 1440]:
        page.set_viewport_size({"width": width, "height": 900})
        wait_until_painted(page)
        assert page.evaluate(BROKEN) == [], width
        assert page.evaluate(CUT) == [], width
        assert_accessible(page)
        screenshot(page, f"costs-by-{by}-{locale}-{width}")


def test_hostile_names_are_shown_as_text(browser: ConsoleBrowser) -> None:
    rows = [
        consumption(number, name=text, region=text, res_id=f"id {number} {text}") for number, text in enumerate(HOSTILE)
    ]
    price = {"res_type": HOSTILE[0], "unit": HOSTILE[1], "region": HOSTILE[0], "type": HOSTILE[4], "price": "1.00"}
    times = {"start_at": HOSTILE[0], "end_at": HOSTILE[1], "in_force": False}
    page = open_with(
        browser,
        {"GetConsumptionsByQuery": lambda _: rows, "GetPrices": lambda _: [{**price, **times}]},
        "/#/costs?by=resource",
        viewport=PHONE,
    )
    assert page.locator(".breakdown-table tbody th bdi:first-child").all_text_contents() == HOSTILE
    expect(page.locator("main img, main b, main script")).to_have_count(0)
    assert not script_executed(page)
    assert_accessible(page)
