"""Forms of the admin UI in a real browser: what they offer, ask, restore and show beside the fields."""

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.helpers import DESKTOP, ConsoleBrowser, axe_violations, overflows, screenshot, sign_in

NARROW: ViewportSize = {"width": 390, "height": 844}
WIDE: ViewportSize = {"width": 1440, "height": 900}


@pytest.fixture
def page(browser: ConsoleBrowser) -> Page:
    """The home page of a signed-in operator."""
    opened = browser.open("/admin/")
    sign_in(opened, "operator")
    expect(opened.get_by_role("heading", level=1)).to_have_text("Overview")
    return opened


@pytest.mark.parametrize(("size", "scheme"), [(WIDE, "light"), (NARROW, "dark")], ids=["wide", "narrow"])
@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_forms_with_panels_are_accessible(
    browser: ConsoleBrowser, size: ViewportSize, scheme: str, locale: str
) -> None:
    page = browser.open("/admin/", viewport=size, color_scheme=scheme, locale=locale)
    sign_in(page, "operator")
    expect(page.locator(".main-nav")).to_be_visible()
    for name, path in {
        "price-panel": "/admin/price/add/",
        "resource-panel": "/admin/resource/add/?tenant=demo",
        "tenant-remove": "/admin/tenant/remove/?key=demo",
        "node-remove": "/admin/node/remove/?key=hk-1",
    }.items():
        page.goto(path)
        assert (name, axe_violations(page), overflows(page)) == (name, "", False)
        screenshot(page, f"admin-{name}-{size['width']}-{scheme}-{locale[:2]}")
    page.goto("/admin/quota/one/?key=demo")
    page.locator("#field-cores").fill("1")
    page.locator("main form button.primary").first.click()
    expect(page.locator("button[name=confirmations]")).to_be_visible()
    assert (axe_violations(page), overflows(page)) == ("", False)
    screenshot(page, f"admin-quota-ask-{size['width']}-{scheme}-{locale[:2]}")
    page.context.clear_cookies(name="operatorid")
    page.locator("button[name=confirmations]").click()
    expect(page.locator("main input[name=unsaved]")).to_be_attached()
    assert (axe_violations(page), overflows(page)) == ("", False)
    screenshot(page, f"admin-unsaved-{size['width']}-{scheme}-{locale[:2]}")


def test_unlimited_disables_its_number(page: Page) -> None:
    page.goto("/admin/quota/one/?key=demo")
    number, unlimited = page.locator("#field-cores"), page.locator("#field-cores-unlimited")
    unlimited.check()
    expect(number).to_be_disabled()
    unlimited.uncheck()
    expect(number).to_be_enabled()
    expect(number).to_have_value("64")
    unlimited.check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("changed")
    expect(unlimited).to_be_checked()
    expect(number).to_be_disabled()


def test_language_keeps_a_rejected_form_and_enter_sends_it(page: Page) -> None:
    page.goto("/admin/tenant/add/")
    page.locator("#field-name").fill("demo")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("already exists")
    page.locator("#field-name").fill("demo 2")
    page.get_by_role("button", name="中文").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("添加租户")
    expect(page.locator("#field-name")).to_have_value("demo 2")
    page.locator("#field-name").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("租户 demo 2")


def test_free_quota_beside_a_resource_follows_the_chosen_tenant(page: Page) -> None:
    page.goto("/admin/resource/add/")
    panel = page.locator(".form-panel")
    expect(panel).to_have_count(0)
    tenant = page.get_by_label("Tenant", exact=True)
    for name in ("demo", "other"):
        tenant.fill(name)
        tenant.press("Tab")
        expect(panel.get_by_role("heading")).to_have_text(f"Quotas of {name}, used and limit")
    tenant.fill("unknown")
    tenant.press("Tab")
    expect(panel).to_have_count(0)


def test_form_is_restored_without_javascript(browser: ConsoleBrowser) -> None:
    page = browser.open("/admin/", java_script_enabled=False)
    sign_in(page, "operator")
    expect(page.locator(".main-nav")).to_be_visible()
    page.goto("/admin/tenant/add/")
    page.get_by_label("Name", exact=True).fill("planned")
    page.context.clear_cookies(name="operatorid")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("alert")).to_contain_text("nothing was changed")
    sign_in(page, "operator")
    expect(page.get_by_role("alert")).to_contain_text("it is not saved yet")
    expect(page.get_by_label("Name", exact=True)).to_have_value("planned")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Tenant planned")


def test_tenants_are_searched_while_typing(page: Page) -> None:
    for name in ("north-east", "south-east"):
        page.goto("/admin/tenant/add/")
        page.get_by_label("Name", exact=True).fill(name)
        page.get_by_role("button", name="Add").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(name)
    page.goto("/admin/resource/add/")
    page.locator("#field-tenant").press_sequentially("EAST")
    options = page.locator("#field-tenant-names option")
    expect(options).to_have_count(2)
    assert [option.get_attribute("value") for option in options.all()] == ["north-east", "south-east"]


def test_resource_form_shows_the_sizes_of_the_kind_and_fills_in_a_flavor(page: Page) -> None:
    page.goto("/admin/resource/add/")
    page.get_by_label("Kind").select_option("volume")
    expect(page.locator("#field-vcpus")).to_be_hidden()
    expect(page.locator("#field-size")).to_be_visible()
    page.get_by_label("Kind").select_option("instance")
    expect(page.locator("#field-size")).to_be_hidden()
    page.locator("#flavor").press_sequentially("2C4G40G")
    expect(page.locator("#field-vcpus")).to_have_value("2")
    expect(page.locator("#field-ram")).to_have_value("4096")
    expect(page.locator("#field-disk")).to_have_value("40")


def test_price_form_lists_the_prices_of_the_kind(browser: ConsoleBrowser) -> None:
    page = browser.open("/admin/", viewport=DESKTOP)
    sign_in(page, "operator")
    expect(page.locator(".main-nav")).to_be_visible()
    page.goto("/admin/price/add/")
    prices = page.locator(".form-panel li")
    page.get_by_label("Kind").select_option("volume")
    expect(prices.filter(visible=True).first).to_contain_text("GB of a volume")
    expect(prices.filter(has_text="GB of an image")).to_be_hidden()
