"""Nothing moves while a page loads, however slow the responses are."""

import pytest
from playwright.sync_api import Page, Route, ViewportSize

from tests.browser.cloud_data import Cloud, load_cloud
from tests.browser.helpers import ConsoleBrowser, sign_in, wait_until_loaded, wait_until_painted

MAX_SHIFT = 0.05
SIZES: dict[str, ViewportSize] = {"desktop": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}
PAGES = ["", "costs", "costs?by=resource", "flavors", "flavors?items=instance*3*4", "domain", "domain/206813"]
_OBSERVE = """
window.shifts = [];
new PerformanceObserver((list) => shifts.push(...list.getEntries().map((entry) => entry.value)))
  .observe({ type: "layout-shift", buffered: true });
"""


def open_observed(browser: ConsoleBrowser, size: str, locale: str = "en-GB") -> Page:
    page = browser.open("/#/nowhere", viewport=SIZES[size], locale=locale)
    sign_in(page)
    wait_until_loaded(page)
    page.add_init_script(_OBSERVE)
    return page


def shift_of(page: Page, address: str) -> float:
    """Load a page, the newest response first and each in a frame of its own, and return how much has moved."""
    held: list[Route] = []
    page.goto("about:blank")
    page.route("**/api/", lambda route: held.append(route))
    page.goto(f"/#/{address}")
    while held or page.locator("[aria-busy=true]").count():
        if held:
            route = held.pop()
            route.fulfill(response=route.fetch())
        wait_until_painted(page)
    page.unroute("**/api/")
    total: float = page.evaluate("shifts.reduce((sum, each) => sum + each, 0)")
    return total


@pytest.mark.parametrize(("size", "locale"), [("desktop", "en-GB"), ("phone", "zh-CN")])
def test_nothing_moves_while_a_page_loads(browser: ConsoleBrowser, size: str, locale: str) -> None:
    page = open_observed(browser, size, locale)
    shifts = {address: shift_of(page, address) for address in PAGES}
    assert {address: shift for address, shift in shifts.items() if shift >= MAX_SHIFT} == {}


@pytest.mark.parametrize("size", SIZES)
def test_nothing_moves_for_quotas_that_come_first(browser: ConsoleBrowser, size: str) -> None:
    def change(_: Cloud, tenant: Cloud) -> None:
        tenant["quotas"] |= {"cores": 13, "volumes": 2, "ram": 41472}

    load_cloud(browser.console, change)
    assert shift_of(open_observed(browser, size), "") < MAX_SHIFT
