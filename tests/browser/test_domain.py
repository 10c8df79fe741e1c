"""The domain: looked up by its id, every field of it shown, and in plain words where there is none."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from cloudconsole import Console
from cloudconsole.testing import ConsoleServer
from tests.browser.changing import HOSTILE, Cloud, change_cloud, ran_scripts
from tests.browser.looking import LOOKS, PHONE, Eyes, faults_of, is_cut_off, look_well, settled, sign_in, signed_in

RICH, PLAIN, OTHERS = "206814", "206813", "207001"
TEXTS = ["domainId", "domainName", "comment", "serviceType", "status", "queryStringSettings"]
STRUCTURED = ["cacheBehaviors", "visitControlRules"]


def domain_page(eyes: Eyes, rest: str = "", **options: Any) -> Page:
    return signed_in(eyes, f"/#/domain{rest}", **options)


def value(page: Page, field: str) -> str:
    return page.locator(f"[data-field={field}] .value").first.inner_text()


def look_up(page: Page, domain_id: str) -> None:
    page.get_by_label("Domain ID").fill(domain_id)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
@pytest.mark.parametrize("domain_id", [RICH, PLAIN])
def test_every_field_is_as_the_interface_tells_it(eyes: Eyes, interface: Console, domain_id: str, locale: str) -> None:
    told = interface.call("GetDomainDetail", domainId=domain_id)
    page = domain_page(eyes, f"/{domain_id}", locale=locale)
    none, yes, no = ("None", "Yes", "No") if locale == "en-GB" else ("无", "是", "否")
    for field in TEXTS:
        assert value(page, field) == (told[field] or none), field
    assert value(page, "enabled").split()[-1] == (yes if told["enabled"] == "true" else no)
    assert page.locator("[data-field=serviceAreas] li").all_inner_texts() == told["serviceAreas"].split(";")
    assert page.locator("[data-field=cname] code").inner_text() == told["cname"]
    origin = told["originConfig"]
    assert page.locator("[data-field=originIps] li").all_inner_texts() == origin["originIps"]
    assert value(page, "originDomainName") == (origin["originDomainName"] or none)
    parts = {"advOriginConfigs": origin["advOriginConfigs"], **{name: told[name] for name in STRUCTURED}}
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


def test_a_lookup_has_an_address_of_its_own(eyes: Eyes) -> None:
    page = domain_page(eyes)
    look_up(page, f"  {PLAIN} ")
    expect(page.get_by_role("heading", name="www.example-demo.com")).to_be_visible()
    assert page.evaluate("location.hash") == f"#/domain/{PLAIN}"
    look_up(page, RICH)
    expect(page.get_by_role("heading", name="img.demo.example.com")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="www.example-demo.com")).to_be_visible()
    expect(page.get_by_label("Domain ID")).to_have_value(PLAIN)


def test_an_unknown_id_is_told_at_the_field_and_kept(eyes: Eyes) -> None:
    page = domain_page(eyes)
    field = page.get_by_label("Domain ID")
    for domain_id in ("999", OTHERS, "a/b?c=#%41 <b>", "域名"):
        look_up(page, domain_id)
        said = f"You have no domain with ID {domain_id}. Check the ID and try again."
        expect(page.locator(".error")).to_have_text(said)
        expect(field).to_have_value(domain_id)
        expect(field).to_be_focused()
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    assert eyes.statuses() == [404] * 4
    # Half of a character cannot be in an address: it becomes one that stands for what is lost.
    page.evaluate("document.querySelector('[name=domainId]').value = 'x\\ud800'")
    field.press("Enter")
    page.wait_for_url("**/x%EF%BF%BD")


def test_a_refusal_that_comes_late_leaves_the_keyboard_where_it_is(eyes: Eyes, console: ConsoleServer) -> None:
    page = domain_page(eyes)
    console.fault(delay=2, call="GetDomainDetail")
    look_up(page, "999")
    expect(page.locator("[aria-busy=true]").first).to_be_attached()
    page.get_by_role("button", name="Sign out").focus()
    expect(page.locator(".error")).to_have_text(re.compile("999"))
    expect(page.get_by_role("button", name="Sign out")).to_be_focused()


def test_nothing_is_asked_without_an_id(eyes: Eyes) -> None:
    page = domain_page(eyes, "/%20")
    for typed in ("", "   "):
        look_up(page, typed)
        expect(page.locator(".error")).to_have_text("Enter a domain ID.")
        expect(page.get_by_label("Domain ID")).to_be_focused()
    assert eyes.statuses() == []


def test_an_id_that_cannot_be_is_refused_in_the_console_s_words(eyes: Eyes) -> None:
    page = domain_page(eyes)
    page.get_by_label("Domain ID").focus()
    page.keyboard.insert_text("9" * 65)
    page.keyboard.press("Enter")
    expect(page.locator(".error")).to_have_text(re.compile(r"64"))
    expect(page.get_by_label("Domain ID")).to_have_value("9" * 65)
    assert eyes.statuses() == [400]
    assert faults_of(page) == ""


def test_the_cname_is_copied_and_told_what_for(eyes: Eyes, interface: Console) -> None:
    page = domain_page(eyes, f"/{PLAIN}", permissions=["clipboard-read", "clipboard-write"])
    domain = interface.domain(PLAIN)
    page.get_by_role("button", name=f"Copy {domain.cname}").click()
    expect(page.get_by_role("status").filter(has_text=f"Copied: {domain.cname}")).to_be_attached()
    assert page.evaluate("navigator.clipboard.readText()") == domain.cname
    expect(page.get_by_text(f"add a CNAME record for {domain.name}")).to_be_visible()


def test_ids_of_before_are_offered_until_one_signs_out(eyes: Eyes) -> None:
    # What is pasted into an address may have more around it.
    page = domain_page(eyes, f"/%20{PLAIN}/")
    look_up(page, "999")
    expect(page.locator(".error")).to_have_text(re.compile("999"))
    look_up(page, RICH)
    expect(page.get_by_role("heading", name="img.demo.example.com")).to_be_visible()
    before = page.get_by_role("navigation", name="Recent lookups")
    assert before.get_by_role("link").all_inner_texts() == [PLAIN]
    before.get_by_role("link").click()
    expect(page.get_by_role("heading", name="www.example-demo.com")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator("[name=password]")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0


def test_ids_of_before_are_nothing_to_the_next_account(eyes: Eyes) -> None:
    page = domain_page(eyes)
    away = eyes.open_tab(page.context, f"/#/domain/{PLAIN}")
    expect(away.get_by_role("heading", name="www.example-demo.com")).to_be_visible()
    # A page that has been left hears nothing of what the others do.
    away.goto("/docs/")
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, "other")
    settled(page)
    away.goto("/#/domain")
    settled(away)
    expect(away.locator(".account strong")).to_have_text("other")
    expect(away.get_by_role("navigation", name="Recent lookups")).to_have_count(0)


def test_structures_of_any_kind_are_text(eyes: Eyes, console: ConsoleServer, tmp_path: Path) -> None:
    deep: Any = "the bottom"
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

    change_cloud(console, tmp_path, change)
    page = domain_page(eyes, f"/{PLAIN}", viewport=PHONE)
    shown = page.locator("[data-field=cacheBehaviors]")
    for text in (
        "12345678901234567890123",
        "0.12345678901234568",
        "Empty string",
        "plain",
        "\u202efdp.exe",
        "the bottom",
        *HOSTILE,
    ):
        expect(shown).to_contain_text(text)
    assert value(page, "comment") == HOSTILE[0]
    assert value(page, "status") == HOSTILE[2]
    assert not ran_scripts(page)
    expect(page.locator("main img")).to_have_count(0)
    assert not is_cut_off(page)
    assert faults_of(page) == ""


def test_a_failing_call_is_told_with_a_retry_that_keeps_the_id(eyes: Eyes, console: ConsoleServer) -> None:
    console.fault("internal_error", call="GetDomainDetail")
    page = domain_page(eyes, f"/{PLAIN}")
    expect(page.get_by_text("If you contact support, quote")).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="www.example-demo.com")).to_be_visible()
    expect(page.get_by_label("Domain ID")).to_have_value(PLAIN)
    assert eyes.statuses() == [500, 200]


@pytest.mark.parametrize(("locale", "theme", "size"), LOOKS)
def test_it_is_fit_to_be_read_by_all(eyes: Eyes, locale: str, theme: str, size: str) -> None:
    page = domain_page(eyes, f"/{RICH}", locale=locale, color_scheme=theme)
    settled(page)
    look_well(page, f"domain-{locale[:2]}-{theme}", size)
