"""The domain page: lookup by ID, all fields, and clear messages for unknown IDs."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from cloudconsole import Console
from tests.browser.cloud_data import HOSTILE, Cloud, load_cloud, script_executed
from tests.browser.helpers import PHONE, ConsoleBrowser, HeldResponse, assert_accessible, sign_in, wait_until_loaded

FULL, MINIMAL, FOREIGN = "206814", "206813", "207001"
TEXTS = ["domainId", "domainName", "comment", "serviceType", "status", "queryStringSettings"]
STRUCTURED = ["cacheBehaviors", "visitControlRules"]


def domain_page(browser: ConsoleBrowser, rest: str = "", **options: Any) -> Page:
    return browser.open_signed_in(f"/#/domain{rest}", **options)


def value(page: Page, field: str) -> str:
    return page.locator(f"[data-field={field}] .value").first.inner_text()


def look_up(page: Page, domain_id: str) -> None:
    page.get_by_label("Domain ID").fill(domain_id)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
@pytest.mark.parametrize("domain_id", [FULL, MINIMAL])
def test_every_field_matches_the_api(browser: ConsoleBrowser, client: Console, domain_id: str, locale: str) -> None:
    domain = client.call("GetDomainDetail", domainId=domain_id)
    page = domain_page(browser, f"/{domain_id}", locale=locale)
    none, yes, no = ("None", "Yes", "No") if locale == "en-GB" else ("无", "是", "否")
    for field in TEXTS:
        assert value(page, field) == (domain[field] or none), field
    assert value(page, "enabled").split()[-1] == (yes if domain["enabled"] == "true" else no)
    assert page.locator("[data-field=serviceAreas] li").all_inner_texts() == domain["serviceAreas"].split(";")
    assert page.locator("[data-field=cname] code").inner_text() == domain["cname"]
    origin = domain["originConfig"]
    assert page.locator("[data-field=originIps] li").all_inner_texts() == origin["originIps"]
    assert value(page, "originDomainName") == (origin["originDomainName"] or none)
    parts = {"advOriginConfigs": origin["advOriginConfigs"], **{name: domain[name] for name in STRUCTURED}}
    for name, content in parts.items():
        shown = page.locator(f"[data-field={name}]")
        assert set(leaves(content)) <= set(shown.inner_text().split()) if content else shown.get_by_text(none).count()
        assert shown.locator("details:not([open])").count() == 0
    expect(page.locator("[data-field] .hint")).to_have_count(len(TEXTS) + len(parts) + 5)


def leaves(content: Any) -> list[str]:
    """All keys and values of a structure, as text."""
    if isinstance(content, dict):
        return [*content, *(leaf for each in content.values() for leaf in leaves(each))]
    if isinstance(content, list):
        return [leaf for each in content for leaf in leaves(each)]
    return [content if isinstance(content, str) else json.dumps(content)]


def test_a_lookup_has_its_own_url(browser: ConsoleBrowser) -> None:
    page = domain_page(browser)
    look_up(page, f"  {MINIMAL} ")
    expect(page.get_by_role("heading", name="www.example-demo.com")).to_be_visible()
    assert page.evaluate("location.hash") == f"#/domain/{MINIMAL}"
    look_up(page, FULL)
    expect(page.get_by_role("heading", name="img.demo.example.com")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="www.example-demo.com")).to_be_visible()
    expect(page.get_by_label("Domain ID")).to_have_value(MINIMAL)


def test_an_unknown_id_is_reported_at_the_field_and_stays_in_it(browser: ConsoleBrowser) -> None:
    page = domain_page(browser)
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


def test_a_late_error_does_not_move_the_focus(browser: ConsoleBrowser) -> None:
    page = domain_page(browser)
    held = HeldResponse(page, "GetDomainDetail")
    look_up(page, "999")
    expect(page.locator("[aria-busy=true]").first).to_be_attached()
    page.get_by_role("button", name="Sign out").focus()
    held.release()
    expect(page.locator(".error")).to_have_text(re.compile("999"))
    expect(page.get_by_role("button", name="Sign out")).to_be_focused()


def test_an_empty_id_sends_no_request(browser: ConsoleBrowser) -> None:
    page = domain_page(browser, "/%20")
    for typed in ("", "   "):
        look_up(page, typed)
        expect(page.locator(".error")).to_have_text("Enter a domain ID.")
        expect(page.get_by_label("Domain ID")).to_be_focused()
    assert browser.statuses(without="GetAnnouncements") == []


def test_an_invalid_id_shows_the_message_of_the_api(browser: ConsoleBrowser) -> None:
    page = domain_page(browser)
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
    expect(page.get_by_text(f"add a CNAME record for {domain.name}")).to_be_visible()
    for name, text in ((domain.cname, domain.cname), (f"ID of {flavor.name}", flavor.id)):
        page.get_by_role("button", name=f"Copy {name}", exact=True).click()
        expect(page.get_by_role("status").filter(has_text=f"Copied: {name}")).to_be_attached()
        assert page.evaluate("navigator.clipboard.readText()") == text
        page.goto("/#/flavors?cores=16")


def test_recent_lookups_are_offered_until_sign_out(browser: ConsoleBrowser) -> None:
    # Pasted IDs may have a leading space and a trailing slash.
    page = domain_page(browser, f"/%20{MINIMAL}/")
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
    page = domain_page(browser)
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
    expect(page.get_by_text("Report request ID")).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="www.example-demo.com")).to_be_visible()
    expect(page.get_by_label("Domain ID")).to_have_value(MINIMAL)
    assert browser.statuses(without="GetAnnouncements") == [500, 200]
