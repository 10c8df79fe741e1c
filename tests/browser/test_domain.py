"""The domains page: the list and its search, all fields of a domain, and the lookup of consoles without the list."""

import json
import re
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, Route, expect

from cloudconsole import Console
from tests.browser.cloud_data import HOSTILE, Cloud, load_cloud, script_executed
from tests.browser.extensions import open_without
from tests.browser.helpers import (
    PHONE,
    SIZES,
    ConsoleBrowser,
    HeldResponse,
    assert_accessible,
    screenshot,
    sign_in,
    wait_until_loaded,
)

FULL, MINIMAL, FOREIGN = "206814", "206813", "207001"
TEXTS = ["domainId", "domainName", "comment", "serviceType", "status", "queryStringSettings"]
STRUCTURED = ["cacheBehaviors", "visitControlRules"]
WITHOUT_HINT = 2
"""Fields whose label says all: domain name and acceleration."""
CHINESE = {"Deployed": "已部署", "Disabled": "已停用", "web": "网页", "download": "下载"}
AREAS = {
    "cn": ("Mainland China", "中国内地"),
    "hk": ("Hong Kong, China", "中国香港"),
    "ov": ("Outside China", "海外"),
}
ENGLISH = {"web": "Web", "download": "Download"}


def domain_page(browser: ConsoleBrowser, rest: str = "", **options: Any) -> Page:
    return browser.open_signed_in(f"/#/domain{rest}", **options)


def lookup_page(browser: ConsoleBrowser, rest: str = "", **options: Any) -> Page:
    return open_without(browser, ["GetDomains"], f"/#/domain{rest}", **options)


def value(page: Page, field: str) -> str:
    """The value of a field; empty if it is named as not configured."""
    is_unset = page.get_by_role("region", name=re.compile("^(Not configured|未配置)$")).locator(f"[data-field={field}]")
    return "" if is_unset.count() else page.locator(f"[data-field={field}] .value").first.inner_text()


def look_up(page: Page, domain_id: str) -> None:
    page.get_by_label("Domain ID").fill(domain_id)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
@pytest.mark.parametrize("domain_id", [FULL, MINIMAL])
def test_every_field_matches_the_api(browser: ConsoleBrowser, client: Console, domain_id: str, locale: str) -> None:
    domain = client.call("GetDomainDetail", domainId=domain_id)
    page = domain_page(browser, f"/{domain_id}", locale=locale)
    enabled, disabled = ("Enabled", "Disabled") if locale == "en-GB" else ("已启用", "已停用")
    words = ENGLISH if locale == "en-GB" else CHINESE
    for field in TEXTS:
        assert value(page, field) == words.get(domain[field], domain[field] or ""), field
    assert value(page, "enabled").split()[-1] == (enabled if domain["enabled"] == "true" else disabled)
    areas = [AREAS[code][locale == "zh-CN"] for code in domain["serviceAreas"].split(";")]
    assert page.locator("[data-field=serviceAreas] li").all_inner_texts() == areas
    assert page.locator("[data-field=cname] code").inner_text() == domain["cname"]
    origin = domain["originConfig"]
    assert page.locator("[data-field=originIps] li").all_inner_texts() == origin["originIps"]
    assert value(page, "originDomainName") == (origin["originDomainName"] or "")
    parts = {"advOriginConfigs": origin["advOriginConfigs"], **{name: domain[name] for name in STRUCTURED}}
    for name, content in parts.items():
        shown = page.locator(f"[data-field={name}]")
        missing = [each for each in leaves(content) if each not in shown.inner_text()]
        assert missing == [] if content else value(page, name) == ""
        assert shown.locator("details:not([open])").count() == 0
    # A domain that is disabled has one more.
    hints = len(TEXTS) + len(parts) + 5 - WITHOUT_HINT + (domain["enabled"] == "false")
    expect(page.locator("[data-field] .hint")).to_have_count(hints)


def leaves(content: Any) -> list[str]:
    """All values of a structure that are shown as they are."""
    if isinstance(content, dict):
        named = ("type", "mode", "ttlSeconds", "isps")
        return [leaf for name, each in content.items() if name not in named for leaf in leaves(each)]
    if isinstance(content, list):
        return [leaf for each in content for leaf in leaves(each)]
    if isinstance(content, bool):
        return []
    return [content if isinstance(content, str) else json.dumps(content)]


@pytest.mark.parametrize(
    ("locale", "cache", "access"),
    [
        (
            "en-GB",
            ["/static/*", "Cache for", "1 day", "Ignore query string", "Yes", "/thumb/*.webp", "1 hour", "Priority"],
            ["Referer · Allow", "Values", "Allow if empty", "IP address · Deny"],
        ),
        (
            "zh-CN",
            ["/static/*", "缓存时长", "1天", "忽略查询字符串", "是", "/thumb/*.webp", "1小时", "优先级"],
            ["来源（Referer） · 允许", "取值", "允许为空", "IP 地址 · 拒绝"],
        ),
    ],
)
def test_common_settings_are_labelled(
    browser: ConsoleBrowser, locale: str, cache: list[str], access: list[str]
) -> None:
    page = domain_page(browser, f"/{FULL}", locale=locale)
    for field, texts in (("cacheBehaviors", cache), ("visitControlRules", access)):
        for text in texts:
            expect(page.locator(f"[data-field={field}]")).to_contain_text(text)
    expect(page.get_by_text("pathPattern")).to_have_count(0)
    expect(page.get_by_text("ttlSeconds")).to_have_count(0)


def test_settings_with_unexpected_values_are_shown_as_they_are(browser: ConsoleBrowser) -> None:
    behaviors = [
        {"pathPattern": ["/a"], "ttlSeconds": "soon", "isFast": True, "constructor": "x"},
        {"pathPattern": "/b", "ttlSeconds": 5400},
        {"pathPattern": "/c", "ttlSeconds": -1, "priority": 0.5},
        {"type": "cookie", "mode": "help", "ttlSeconds": 0},
    ]

    def change(_cloud: Cloud, tenant: Cloud) -> None:
        tenant["domains"][0].update(cacheBehaviors=behaviors, status="help", serviceType="toString")

    load_cloud(browser.console, change)
    page = domain_page(browser, f"/{MINIMAL}")
    shown = page.locator("[data-field=cacheBehaviors]")
    for text in [
        "Item 1",
        "soon",
        "isFast",
        "true",
        "constructor",
        "/b",
        "90 minutes",
        "/c",
        "-1",
        "0.5",
        "cookie · help",
    ]:
        expect(shown).to_contain_text(text)
    assert (value(page, "status"), value(page, "serviceType")) == ("help", "toString")


def test_a_lookup_has_its_own_url(browser: ConsoleBrowser) -> None:
    page = lookup_page(browser)
    look_up(page, f"  {MINIMAL} ")
    expect(page.get_by_role("heading", name="www.example-demo.com")).to_be_visible()
    assert page.evaluate("location.hash") == f"#/domain/{MINIMAL}"
    look_up(page, FULL)
    expect(page.get_by_role("heading", name="img.demo.example.com")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="www.example-demo.com")).to_be_visible()
    expect(page.get_by_label("Domain ID")).to_have_value(MINIMAL)


def test_an_unknown_id_is_reported_at_the_field_and_stays_in_it(browser: ConsoleBrowser) -> None:
    page = lookup_page(browser)
    field = page.get_by_label("Domain ID")
    for domain_id in ("999", FOREIGN, "a/b?c=#%41 <b>", "域名"):
        look_up(page, domain_id)
        message = f"You have no domain with ID {domain_id}. Check the ID and try again."
        expect(page.locator(".error")).to_have_text(message)
        expect(field).to_have_value(domain_id)
        expect(field).to_be_focused()
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    assert browser.statuses(without="GetAnnouncements") == [404] * 4
    # URLs cannot contain a lone surrogate; it becomes U+FFFD.
    page.evaluate("document.querySelector('[name=domainId]').value = 'x\\ud800'")
    field.press("Enter")
    page.wait_for_url("**/x%EF%BF%BD")


def test_changing_the_language_keeps_the_typed_id(browser: ConsoleBrowser) -> None:
    page = lookup_page(browser)
    page.get_by_label("Domain ID").fill("2068")
    page.get_by_role("button", name="中文").click()
    expect(page.get_by_label("域名 ID")).to_have_value("2068")
    expect(page.get_by_role("button", name="中文")).to_be_focused()


def test_a_late_error_does_not_move_the_focus(browser: ConsoleBrowser) -> None:
    page = lookup_page(browser)
    held = HeldResponse(page, "GetDomainDetail")
    look_up(page, "999")
    expect(page.locator("[aria-busy=true]").first).to_be_attached()
    page.get_by_role("button", name="Sign out").focus()
    held.release()
    expect(page.locator(".error")).to_have_text(re.compile("999"))
    expect(page.get_by_role("button", name="Sign out")).to_be_focused()


def test_an_empty_id_sends_no_request(browser: ConsoleBrowser) -> None:
    page = lookup_page(browser, "/%20")
    for typed in ("", "   "):
        look_up(page, typed)
        expect(page.locator(".error")).to_have_text("Enter a domain ID.")
        expect(page.get_by_label("Domain ID")).to_be_focused()
    assert browser.statuses(without="GetAnnouncements") == []


def test_an_invalid_id_shows_the_message_of_the_api(browser: ConsoleBrowser) -> None:
    page = lookup_page(browser)
    page.get_by_label("Domain ID").focus()
    page.keyboard.insert_text("9" * 65)
    page.keyboard.press("Enter")
    expect(page.locator(".error")).to_have_text(re.compile(r"64"))
    expect(page.get_by_label("Domain ID")).to_have_value("9" * 65)
    assert browser.statuses(without="GetAnnouncements") == [400]
    assert_accessible(page)


def test_ids_and_names_to_use_elsewhere_can_be_copied(browser: ConsoleBrowser, client: Console) -> None:
    page = domain_page(browser, f"/{MINIMAL}", permissions=["clipboard-read", "clipboard-write"])
    domain, flavor = client.domain(MINIMAL), client.flavors().matching(vcpus=16)[0]
    expect(page.get_by_text(f"Point {domain.name} to this name with a CNAME record")).to_be_visible()
    for name, text in ((domain.cname, domain.cname), (f"ID of {flavor.name}", flavor.id)):
        page.get_by_role("button", name=f"Copy {name}", exact=True).click()
        expect(page.get_by_role("status").filter(has_text=f"Copied: {name}")).to_be_attached()
        assert page.evaluate("navigator.clipboard.readText()") == text
        page.goto("/#/flavors?cores=16")


@pytest.mark.parametrize(
    ("locale", "says", "never"),
    [
        ("en-GB", "This domain is disabled. A CNAME record takes effect only after it is enabled", "Point"),
        ("zh-CN", "该域名已停用，启用后 CNAME 记录才会生效", "解析生效"),
    ],
)
def test_a_disabled_domain_is_not_said_to_be_accelerated(
    browser: ConsoleBrowser, locale: str, says: str, never: str
) -> None:
    page = domain_page(browser, f"/{FULL}", locale=locale)
    expect(page.locator("[data-field=cname]")).to_contain_text(says)
    expect(page.locator("[data-field=cname]")).not_to_contain_text(never)


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_the_state_stands_below_a_name_that_fills_the_line(browser: ConsoleBrowser, locale: str) -> None:
    page = domain_page(browser, f"/{FULL}", locale=locale, viewport={"width": 390, "height": 844})
    name, state = page.locator("h1").bounding_box(), page.locator(".domain-state .badge").bounding_box()
    assert name
    assert state
    assert state["y"] >= name["y"] + name["height"]
    assert state["width"] > state["height"]
    assert_accessible(page)


def test_recent_lookups_are_offered_until_sign_out(browser: ConsoleBrowser) -> None:
    # Pasted IDs may have a leading space and a trailing slash.
    page = lookup_page(browser, f"/%20{MINIMAL}/")
    look_up(page, "999")
    expect(page.locator(".error")).to_have_text(re.compile("999"))
    look_up(page, FULL)
    expect(page.get_by_role("heading", name="img.demo.example.com")).to_be_visible()
    recent = page.get_by_role("navigation", name="Recent lookups")
    assert recent.get_by_role("link").all_inner_texts() == [MINIMAL]
    recent.get_by_role("link").click()
    expect(page.get_by_role("heading", name="www.example-demo.com")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator("[name=password]")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0


def test_recent_lookups_are_not_shown_to_another_account(browser: ConsoleBrowser) -> None:
    page = lookup_page(browser)
    second = browser.open_tab(page.context, f"/#/domain/{MINIMAL}")
    expect(second.get_by_role("heading", name="www.example-demo.com")).to_be_visible()
    # A page that was left receives no storage events.
    second.goto("/docs/")
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, "other")
    wait_until_loaded(page)
    second.goto("/#/domain")
    wait_until_loaded(second)
    expect(second.locator(".account strong")).to_have_text("other")
    expect(second.get_by_role("navigation", name="Recent lookups")).to_have_count(0)


def test_any_json_structure_is_shown_as_text(browser: ConsoleBrowser) -> None:
    deep: Any = "innermost"
    for step in range(30):
        deep = {f"step{step}": deep} if step % 2 else [deep, {}]
    odd = {
        **{key: [key, {key: key}] for key in HOSTILE},
        "big": 12345678901234567890123,
        "exact": 0.1234567890123456789,
        "empty": "",
        "nothing": None,
        "none": [],
        "__proto__": "plain",
        "\u202egnp.exe": "\u202efdp.exe",
        "deep": deep,
    }

    def change(_cloud: Cloud, tenant: Cloud) -> None:
        domain = tenant["domains"][0]
        domain.update(comment=HOSTILE[0], status=HOSTILE[2], serviceAreas=";".join(["hk", "x" * 200]))
        domain["cacheBehaviors"] = [odd, [1, [2]], "text", 5, True, None]

    load_cloud(browser.console, change)
    page = domain_page(browser, f"/{MINIMAL}", viewport=PHONE)
    shown = page.locator("[data-field=cacheBehaviors]")
    texts = ["12345678901234567890123", "0.12345678901234568", "Empty string", "plain", "\u202efdp.exe", "innermost"]
    for text in [*texts, *HOSTILE]:
        expect(shown).to_contain_text(text)
    assert value(page, "comment") == HOSTILE[0]
    assert value(page, "status") == HOSTILE[2]
    assert not script_executed(page)
    expect(page.locator("main img")).to_have_count(0)
    assert_accessible(page)


def test_a_failed_request_can_be_retried_with_the_same_id(browser: ConsoleBrowser) -> None:
    browser.console.fault("internal_error", call="GetDomainDetail")
    page = domain_page(browser, f"/{MINIMAL}")
    expect(page.locator(".shell-outage").get_by_text("Report request ID")).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="www.example-demo.com")).to_be_visible()
    assert browser.statuses(without="GetAnnouncements") == [500, 200]


def names(page: Page) -> list[str]:
    return page.locator(".domain-list tbody th").all_inner_texts()


def load_domains(browser: ConsoleBrowser, count: int) -> None:
    """Give the tenant so many domains, with IDs in the order of their names."""

    def change(_cloud: Cloud, tenant: Cloud) -> None:
        first = tenant["domains"][0]
        tenant["domains"] = [{**first, "id": f"{n:05}", "name": f"d{n:05}.example.com"} for n in range(count)]

    load_cloud(browser.console, change)


def serve_domains(page: Page, count: int, fail_at: str | None = None) -> None:
    """Answer GetDomains with so many domains; once with an error after the marker `fail_at`."""
    pending = {fail_at} - {None}

    def respond(route: Route) -> None:
        fields: Any = route.request.post_data_json if route.request.method == "POST" else {}
        if fields.get("action") != "GetDomains":
            route.fallback()
            return
        marker = fields.get("marker", "-1")
        if marker in pending:
            pending.discard(marker)
            error = {"message": "Try later.", "code": 503, "data": {}, "error": "unavailable"}
            route.fulfill(status=503, json=error)
            return
        first = int(marker) + 1
        ids = [f"{n:05}" for n in range(first, min(count, first + fields["limit"]))]
        rest = {"enabled": "true", "status": "", "serviceType": ""}
        data = [{"domainId": each, "domainName": f"d{each}.example.com", **rest} for each in ids]
        route.fulfill(json={"message": "Domains.", "code": 200, "data": data})

    page.route("**/api/", respond)


@pytest.mark.parametrize(("locale", "size"), [("en-GB", "desktop"), ("zh-CN", "phone")])
def test_the_list_leads_to_each_domain_and_back(
    browser: ConsoleBrowser, client: Console, locale: str, size: str
) -> None:
    page = domain_page(browser, locale=locale, viewport=SIZES[size])
    listed = client.call("GetDomains")
    rows = page.locator(".domain-list tbody tr")
    expect(rows).to_have_count(len(listed))
    enabled, disabled = ("Enabled", "Disabled") if locale == "en-GB" else ("已启用", "已停用")
    for row, domain in zip(rows.all(), listed, strict=True):
        for field in ("domainName", "domainId", "status", "serviceType"):
            words = ENGLISH if locale == "en-GB" else CHINESE
            expect(row.locator(f".col-{field}")).to_have_text(words.get(domain[field], domain[field]))
        expect(row.locator(".badge")).to_contain_text(enabled if domain["enabled"] == "true" else disabled)
    assert_accessible(page)
    screenshot(page, f"domains-{locale}-{size}")
    page.get_by_role("link", name="img.demo.example.com").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("img.demo.example.com")
    expect(page).to_have_title(re.compile("^img.demo.example.com · "))
    assert page.evaluate("location.hash") == f"#/domain/{FULL}"
    assert_accessible(page)
    page.get_by_role("link", name="All domains" if locale == "en-GB" else "全部域名").click()
    expect(rows).to_have_count(len(listed))


def test_the_domain_search_matches_name_and_id_and_is_in_the_url(browser: ConsoleBrowser) -> None:
    # A short list has no search of its own.
    page = domain_page(browser, "?search=e")
    search = page.get_by_label("Search by name or ID")
    for typed, found in (("IMG.", ["img.demo.example.com"]), ("206813", ["www.example-demo.com"]), ("nothing", [])):
        search.fill(typed)
        expect(page.get_by_role("status").filter(has_text=f"Found: {len(found)} of 2")).to_be_attached()
        assert names(page) == found
    expect(page.get_by_text("No domain has this text in its name or ID.")).to_be_visible()
    search.fill("img")
    page.wait_for_url("**/#/domain?search=img")
    page.reload()
    wait_until_loaded(page)
    expect(search).to_have_value("img")
    assert names(page) == ["img.demo.example.com"]
    # Enter opens the only match, and Back returns to the search.
    search.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("img.demo.example.com")
    page.go_back()
    expect(search).to_have_value("img")
    search.fill("example")
    search.press("Enter")
    expect(page.locator(".domain-list tbody tr")).to_have_count(2)


def test_a_tenant_without_domains_is_told_so(browser: ConsoleBrowser) -> None:
    load_cloud(browser.console, lambda _cloud, tenant: tenant.update(domains=[]))
    page = domain_page(browser)
    expect(page.get_by_text("You have no domains.")).to_be_visible()
    assert_accessible(page)


@pytest.mark.parametrize("domain_id", ["999", FOREIGN, "a/b?c=#%41 <b>"])
def test_a_link_to_an_unknown_domain_is_explained(browser: ConsoleBrowser, domain_id: str) -> None:
    page = domain_page(browser, f"/{quote(domain_id, safe='')}")
    message = f"You have no domain with ID {domain_id}. Check the ID and try again."
    expect(page.locator(".notice")).to_have_text(message)
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_have_text("Domain not found")
    expect(page).to_have_title("Domain not found · Cloud Console")
    page.get_by_role("link", name="All domains").click()
    expect(page.get_by_role("link", name="img.demo.example.com")).to_be_visible()


@pytest.mark.parametrize(("count", "has_search"), [(8, False), (9, True)])
def test_only_lists_that_are_not_seen_at_a_glance_have_a_search(
    browser: ConsoleBrowser, count: int, has_search: bool
) -> None:
    load_domains(browser, count)
    page = domain_page(browser)
    expect(page.get_by_text(f"Domains: {count}")).to_be_visible()
    expect(page.get_by_label("Search by name or ID")).to_have_count(int(has_search))


@pytest.mark.parametrize(
    ("field", "value", "english", "chinese"),
    [
        ("status", "InProgress", "In progress", "部署中"),
        ("serviceType", "vod", "Video on demand", "视频点播"),
        ("serviceAreas", "cn;zz", "Mainland China zz", "中国内地 zz"),
        ("enabled", False, "Visitors are not served.", "不对外提供服务。"),
    ],
)
def test_common_values_have_names_and_what_is_disabled_a_hint(
    browser: ConsoleBrowser, field: str, value: Any, english: str, chinese: str
) -> None:
    load_cloud(browser.console, lambda _cloud, tenant: tenant["domains"][0].update({field: value}))
    page = domain_page(browser, f"/{MINIMAL}")
    shown = page.locator(f"[data-field={field}] dd")
    expect(shown).to_contain_text(re.compile(r"\s*".join(map(re.escape, english.split()))))
    page.get_by_role("button", name="中文").click()
    expect(shown).to_contain_text(re.compile(r"\s*".join(map(re.escape, chinese.split()))))


def test_providers_have_names_and_no_time_has_a_unit(browser: ConsoleBrowser) -> None:
    behavior = {"pathPattern": "/x", "ttlSeconds": 0}
    load_cloud(browser.console, lambda _cloud, tenant: tenant["domains"][1].update(cacheBehaviors=[behavior]))
    page = domain_page(browser, f"/{FULL}")
    expect(page.get_by_text("China Telecom", exact=True)).to_be_visible()
    expect(page.get_by_text("0 seconds", exact=True)).to_be_visible()


def test_all_pages_of_a_long_list_are_loaded_and_searched(browser: ConsoleBrowser) -> None:
    load_domains(browser, 1005)
    page = domain_page(browser)
    expect(page.locator(".count")).to_have_text("Domains: 1,005")
    table = page.locator(".domain-list tbody tr")
    expect(table).to_have_count(100)
    page.get_by_role("button", name="Show 100 more").click()
    expect(table).to_have_count(200)
    expect(table.nth(100).get_by_role("rowheader")).to_be_focused()
    page.get_by_label("Search by name or ID").fill("d01004")
    expect(page.get_by_text("Found: 1 of 1,005").first).to_be_visible()
    assert names(page) == ["d01004.example.com"]
    assert browser.statuses(without="GetAnnouncements") == [200, 200]


def test_beyond_the_bound_the_search_says_what_it_covers(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in()
    serve_domains(page, 11_500)
    page.goto("/#/domain")
    expect(page.get_by_text("The search covers only the 10,000 that are loaded.")).to_be_visible()
    search = page.get_by_label("Search by name or ID")
    search.fill("10700")
    expect(page.get_by_text("No domain has this text in its name or ID.")).to_be_visible()
    by_id = page.get_by_role("link", name="Open the domain with ID 10700")
    expect(by_id).to_have_attribute("href", "#/domain/10700")
    assert_accessible(page)
    page.get_by_role("button", name="Load 10,000 more").click()
    expect(page.get_by_text("Found: 1 of 11,500").first).to_be_visible()
    assert names(page) == ["d10700.example.com"]
    expect(by_id).to_have_count(0)
    expect(page.get_by_text("There are more domains.")).to_have_count(0)


def test_a_failed_page_keeps_the_list_and_can_be_retried(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in()
    serve_domains(page, 2500, fail_at="00999")
    page.goto("/#/domain")
    expect(page.get_by_role("alert").filter(has_text="Try later.")).to_be_visible()
    expect(page.get_by_text("The search covers only the 1,000 that are loaded.")).to_be_visible()
    expect(page.locator(".domain-list tbody tr")).to_have_count(100)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".count")).to_have_text("Domains: 2,500")
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)
