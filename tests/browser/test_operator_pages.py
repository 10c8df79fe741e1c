"""The admin UI in a real browser: end-to-end flows, accessibility and layout."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from cloudconsole.operator.parsing import parse_json
from tests.browser.helpers import DESKTOP, PHONE, SIZES, ConsoleBrowser, axe_violations, overflows, screenshot, sign_in
from tests.server.admin_ui.pages import GETS

KEYS = {
    "tenant": "demo",
    "account": "demo",
    "quota": "demo",
    "node": "hk-1",
    "price": "volume/gb/2025-01-01T00:00:00Z/hk-1",
    "resource": "i-d0000001",
    "flavor": "1",
    "url": "url-d3m0l1nk",
    "domain": "206814",
    "news": "3",
}
ALIKE = ("disable", "enable", "remove")
"""Verbs whose pages differ in names only; those of tenants and accounts stand for all."""


def _pages() -> Iterator[str]:
    for path in GETS:
        entity, verb, *_ = [*path.strip("/").split("/")[1:], "", ""]
        if verb not in ALIKE or entity in ("tenant", "account"):
            yield f"{path}?key={KEYS[entity]}" if verb not in ("", "add") else path


PAGES = [*_pages(), "/admin/audit/?log=access", "/admin/tenant/one/?key=unknown"]
HAS_SCROLLING_TABLE = "[...document.querySelectorAll('.scroll')].some((list) => list.scrollWidth > list.clientWidth)"
"""Whether a table scrolls horizontally."""
MISALIGNED_CARDS = """() => [...document.querySelectorAll('.listing tbody tr')].flatMap((row) => {
  const values = [...row.querySelectorAll('td:not(.blank) > :is(bdi, time)')];
  const positions = new Set(values.map((value) => Math.round(value.getBoundingClientRect().left)));
  const badge = row.querySelector('.badge');
  const isStretched = badge && badge.offsetWidth > 200;
  return positions.size > 1 || isStretched ? [row.textContent] : [];
})"""
"""The cards of a list whose values are not left-aligned."""
NAV_ITEM_HIDDEN = """() => {
  const item = document.querySelector('.main-nav [aria-current]')?.getBoundingClientRect();
  return Boolean(item) && (item.left < 0 || item.right > innerWidth);
}"""
"""Whether the current navigation item is scrolled out of view."""


@pytest.fixture
def page(browser: ConsoleBrowser) -> Page:
    """The home page of a signed-in operator."""
    opened = browser.open("/admin/")
    sign_in(opened, "operator")
    expect(opened.get_by_role("heading", level=1)).to_have_text("Overview")
    return opened


def heading(page: Page, text: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_contain_text(text)


@pytest.mark.parametrize(
    ("size", "scheme", "locale"),
    [
        ("desktop", "light", "en-GB"),
        ("phone", "dark", "en-GB"),
        ("desktop", "dark", "zh-CN"),
        ("phone", "light", "zh-CN"),
    ],
)
def test_all_pages_are_accessible_without_overflow(
    browser: ConsoleBrowser, size: str, scheme: str, locale: str
) -> None:
    page = browser.open("/admin/", viewport=SIZES[size], color_scheme=scheme, locale=locale)
    language = locale.partition("-")[0]
    assert (axe_violations(page), overflows(page)) == ("", False)
    screenshot(page, f"admin-sign-in-{size}-{scheme}-{language}")
    sign_in(page, "operator")
    heading(page, "Overview" if language == "en" else "概览")
    for path in PAGES:
        page.goto(path)
        name = path.removeprefix("/admin/").partition("?")[0].strip("/").replace("/", "-") or "home"
        assert page.locator("html").get_attribute("lang") == language
        has_scrolling_table = page.evaluate(HAS_SCROLLING_TABLE) if size == "desktop" else False
        assert (name, axe_violations(page), overflows(page), has_scrolling_table) == (name, "", False, False)
        if size == "phone":
            assert (name, page.evaluate(MISALIGNED_CARDS), page.evaluate(NAV_ITEM_HIDDEN)) == (name, [], False)
        screenshot(page, f"admin-{name}-{size}-{scheme}-{language}")


def test_language_can_be_chosen_without_javascript(browser: ConsoleBrowser) -> None:
    page = browser.open("/admin/", java_script_enabled=False)
    sign_in(page, "operator")
    heading(page, "Overview")
    page.goto("/admin/node/")
    expect(page.get_by_role("group", name="Theme")).to_be_hidden()
    page.get_by_role("button", name="中文").click()
    heading(page, "节点")
    expect(page.get_by_role("button", name="中文")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="English").click()
    heading(page, "Nodes")


def test_language_and_theme_are_shared_with_the_tenant_console(page: Page) -> None:
    page.get_by_role("button", name="中文").click()
    heading(page, "概览")
    page.get_by_role("button", name="深色").click()
    expect(page.get_by_role("button", name="深色")).to_have_attribute("aria-pressed", "true")
    page.goto("/")
    expect(page.locator("html")).to_have_attribute("lang", "zh")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="English").click()
    page.get_by_role("button", name="Light").click()
    page.goto("/admin/news/")
    heading(page, "News")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    expect(page.get_by_role("button", name="Light")).to_have_attribute("aria-pressed", "true")


def test_a_choice_elsewhere_does_not_resend_a_form(page: Page) -> None:
    page.goto("/admin/tenant/add/")
    page.evaluate("localStorage.setItem('cloudconsole.language', '\"zh\"')")
    page.get_by_label("Name").fill("demo")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("alert")).to_contain_text("already exists")
    expect(page.get_by_label("Name")).to_have_value("demo")
    page.goto("/admin/")
    heading(page, "概览")


def test_price_form_offers_the_units_of_the_kind(page: Page) -> None:
    page.goto("/admin/price/add/")
    unit = page.get_by_label("Unit")
    options = unit.locator("option:not([value=''])")
    expect(options).to_have_count(4)
    page.get_by_label("Kind").select_option("volume")
    expect(options).to_have_text(["Per GB"])
    expect(unit).to_have_value("gb")
    page.get_by_label("Kind").select_option("instance")
    expect(options).to_have_text(["Each", "Per core", "Per GB of RAM"])
    expect(unit).to_have_value("")


def test_price_form_shows_the_type_where_it_applies_and_finds_flavors(page: Page) -> None:
    page.goto("/admin/price/add/")
    kind, unit, type_field = (page.get_by_label(name) for name in ("Kind", "Unit", "Type"))
    expect(type_field).to_be_hidden()
    kind.select_option("volume")
    expect(type_field).to_be_visible()
    expect(type_field).not_to_have_attribute("list", re.compile("."))
    kind.select_option("image")
    expect(type_field).to_be_hidden()
    kind.select_option("instance")
    expect(type_field).to_be_hidden()
    unit.select_option("each")
    type_field.press_sequentially("2C4G")
    expect(page.locator("#field-type-names option[value='2C4G40G']")).to_have_count(1)
    unit.select_option("vcpu")
    expect(type_field).to_be_visible()
    type_field.clear()
    unit.select_option("ram_gb")
    expect(type_field).to_be_hidden()


def test_news_preview_has_the_date_format_of_tenants(page: Page, browser: ConsoleBrowser) -> None:
    page.goto("/admin/news/one/?key=10")
    page.get_by_role("button", name="Preview").click()
    date = page.locator(".news-preview time")
    expect(date).not_to_have_text(re.compile(r"^\d{4}-"))
    tenant = browser.open_signed_in("/")
    expect(tenant.locator("time").get_by_text(date.inner_text(), exact=True).first).to_be_visible()


def test_printed_page_names_account_and_time(page: Page) -> None:
    page.goto("/admin/tenant/")
    printed = page.locator(".print-only")
    expect(printed).to_be_hidden()
    page.emulate_media(media="print")
    expect(printed).to_have_text(re.compile(r"Account operator, page of 2026-11-\d\d \d\d:\d\d:\d\d"))
    expect(printed).to_be_visible()
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
    expect(page.get_by_role("table")).to_be_visible()


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_fields_of_a_domain_have_the_names_that_tenants_see(browser: ConsoleBrowser, locale: str) -> None:
    tenant = browser.open_signed_in("/#/domain/206813", locale=locale)
    labels = tenant.locator("[data-field] dt:not(.dns-record dt), [data-field] > h2:not(.cname h2)")
    expect(labels.first).to_be_visible()
    names = set(labels.all_inner_texts())
    page = browser.open("/admin/domain/one/?key=206813", locale=locale)
    sign_in(page, "operator")
    expect(page.get_by_label("CNAME")).to_be_visible()
    shown = {re.sub(r"\s*[–（(].*", "", text) for text in page.locator("main label, main dt").all_inner_texts()}
    # The heading of the page has the ID, the actions the acceleration.
    assert (len(names) > 8, names - shown - {"Domain ID", "域名 ID", "Acceleration", "加速"}) == (True, set())


def test_json_errors_are_shown_in_chinese(browser: ConsoleBrowser) -> None:
    page = browser.open("/admin/domain/one/?key=206813", locale="zh-CN")
    sign_in(page, "operator")
    page.get_by_label("缓存行为", exact=True).fill('{"a" 1}')
    expect(page.locator("#field-cacheBehaviors-syntax-error")).to_have_text("第 1 行第 6 列：缺少冒号")


def test_a_time_shortened_by_the_browser_is_not_a_change(page: Page) -> None:
    page.goto("/admin/news/one/?key=3")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_contain_text("nothing to change")


def test_a_rejected_form_focuses_the_error_and_keeps_typed_text(page: Page) -> None:
    page.goto("/admin/resource/add/")
    page.get_by_label("Tenant").fill("demo")
    page.get_by_label("ID", exact=True).fill("i-9")
    page.get_by_label("Kind").select_option("instance")
    page.get_by_label("Name").fill("big")
    page.get_by_label("Node").fill("hk-1")
    page.get_by_label("Cores").fill("999")
    page.get_by_label("RAM").fill("1024")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("alert")).to_be_focused()
    expect(page.get_by_role("alert")).to_contain_text("Over quota")
    expect(page.get_by_label("Cores")).to_have_value("999")
    page.get_by_label("Cores").press("Enter")
    expect(page.get_by_role("alert")).to_be_focused()
    page.get_by_role("button", name="Add anyway").click()
    heading(page, "Resource i-9")


INVALID_JSON = [
    "[",
    '[1,\n 2\n "x"]',
    '{"a" 1}',
    "{a: 1}",
    '["abc',
    '["a\tb"]',
    '["\\q"]',
    '["\\u12"]',
    "[1] 2",
    '{"a":}',
    "[nul]",
    "[01]",
    '["😀", x]',
]


def test_json_is_checked_while_typing_and_can_be_formatted(page: Page) -> None:
    page.goto("/admin/domain/one/?key=206813")
    field = page.get_by_label("Cache behaviors", exact=True)
    error = page.locator("#field-cacheBehaviors-syntax-error")
    for text in INVALID_JSON:
        with pytest.raises(ValueError, match="line") as raised:
            parse_json(text)
        message = str(raised.value).partition("; ")[2]
        field.fill(text)
        expect(error).to_have_text(message[0].upper() + message[1:])
    field.fill('{"a": 1}')
    expect(error).to_have_text("Must be a list")
    page.get_by_label("Advanced origin settings", exact=True).fill('{"a": 1}')
    page.get_by_role("button", name="Format Advanced origin settings").click()
    expect(page.locator("#field-originConfig-advOriginConfigs-syntax-error")).to_have_text("")
    field.fill('[{"a":0.10,"b":[],"c":{"d":"x, {y}: \\"z\\""}} ]')
    page.get_by_role("button", name="Format Cache behaviors").click()
    text = field.input_value()
    assert '"a": 0.10,' in text
    assert json.loads(text) == [{"a": 0.1, "b": [], "c": {"d": 'x, {y}: "z"'}}]
    assert text.count("\n") > 4


def test_the_servers_json_error_disappears_when_the_text_changes(page: Page) -> None:
    page.goto("/admin/domain/one/?key=206813")
    field = page.get_by_label("Cache behaviors", exact=True)
    field.fill("{}")
    page.get_by_role("button", name="Save").click()
    expect(field).to_have_accessible_description(re.compile("must be a list"))
    expect(field).to_have_attribute("aria-invalid", "true")
    gap = page.evaluate(
        "document.querySelector('.notice').getBoundingClientRect().top"
        " - document.querySelector('h1').getBoundingClientRect().bottom"
    )
    assert gap >= 8
    field.fill("[]")
    expect(page.get_by_text("must be a list", exact=True)).to_have_count(0)
    expect(field).not_to_have_attribute("aria-invalid", "true")
    expect(field).not_to_have_accessible_description(re.compile("must be a list"))


def test_filters_are_collapsed_on_phones_and_open_without_javascript(browser: ConsoleBrowser) -> None:
    page = browser.open("/admin/resource/", viewport=PHONE, java_script_enabled=False)
    sign_in(page, "operator")
    field = page.get_by_label("ID or name")
    expect(field).to_be_hidden()
    page.get_by_text("Search resources").click()
    field.fill("web-da")
    page.get_by_role("button", name="Search").click()
    expect(field).to_have_value("web-da")
    expect(field).to_be_visible()
    box = page.get_by_label("Active only").bounding_box()
    assert box
    assert min(box["width"], box["height"]) >= 24
    page.set_viewport_size(DESKTOP)
    page.get_by_role("link", name="Clear filters").click()
    expect(field).to_be_visible()


def test_the_pages_work_by_keyboard_and_without_javascript(browser: ConsoleBrowser) -> None:
    page = browser.open("/admin/tenant/add/", java_script_enabled=False)
    expect(page.get_by_label("Username")).to_be_focused()
    page.keyboard.type("operator")
    page.keyboard.press("Tab")
    page.keyboard.type("console-operator")
    page.keyboard.press("Enter")
    heading(page, "Add a tenant")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to main content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("acme")
    page.keyboard.press("Enter")
    heading(page, "Tenant acme")


def test_the_back_button_shows_nothing_after_sign_out(page: Page) -> None:
    page.goto("/admin/account/")
    page.get_by_role("button", name="Sign out").click()
    heading(page, "Sign in")
    page.go_back()
    heading(page, "Sign in")
