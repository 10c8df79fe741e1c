"""The operators' start page and the page of a tenant in a real browser."""

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.helpers import ConsoleBrowser, assert_accessible, screenshot, sign_in

SIZES: dict[str, ViewportSize] = {
    "desktop": {"width": 1440, "height": 900},
    "phone": {"width": 390, "height": 844},
}


def fill_a_quota(page: Page) -> None:
    """Give the tenant demo a quota below its usage."""
    page.goto("/admin/quota/one/?key=demo")
    page.locator("input[type=text][name='gigabytes']").fill("1")
    page.locator("main form button.primary").click()
    page.locator("button[name=confirmations]").click()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_overview_and_tenant_are_accessible_and_fit(
    browser: ConsoleBrowser, size: str, scheme: str, locale: str
) -> None:
    page = browser.open("/admin/", viewport=SIZES[size], color_scheme=scheme, locale=locale)
    sign_in(page, "operator", "wrong")
    expect(page.get_by_role("alert")).to_be_visible()
    sign_in(page, "operator")
    expect(page.locator(".main-nav")).to_be_visible()
    fill_a_quota(page)
    for name, path in (("overview", "/admin/"), ("tenant", "/admin/tenant/one/?key=demo")):
        page.goto(path)
        assert_accessible(page)
        screenshot(page, f"operator-{name}-{size}-{scheme}-{locale[:2]}")
    expect(page.locator("#quotas-heading")).to_be_visible()


def test_from_what_needs_attention_to_where_it_is_dealt_with(browser: ConsoleBrowser) -> None:
    page = browser.open("/admin/", java_script_enabled=False)
    sign_in(page, "operator", "wrong")
    sign_in(page, "operator")
    expect(page.locator(".main-nav")).to_be_visible()
    fill_a_quota(page)
    page.goto("/admin/")
    attention = page.get_by_role("region", name="Needs attention")
    expect(attention).to_contain_text("No backup has been made")
    attention.get_by_role("link", name="Failed sign-ins of operators").click()
    expect(page.locator("tbody tr").filter(has_text="Operator sign-in").first).to_contain_text("failed")
    page.goto("/admin/")
    attention.get_by_role("link", name="demo: volume and snapshot storage").click()
    expect(page.get_by_role("region", name="Quotas")).to_contain_text("over quota")
    expect(page.get_by_role("region", name="Costs")).to_contain_text("so far")
