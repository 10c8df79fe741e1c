"""What stands around the pages: languages, themes, titles and addresses, at every width and without a mouse."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looking import (
    DESKTOP,
    PHONE,
    Eyes,
    faults_of,
    is_cut_off,
    settled,
    shoot,
    sign_in,
    signed_in,
    tab_to,
)


def heading(page: Page, name: str) -> Any:
    return page.get_by_role("heading", level=1, name=name, exact=True)


@pytest.mark.parametrize(
    ("locale", "language", "title"),
    [("en-GB", "en", "Sign in"), ("zh-CN", "zh", "登录"), ("zh-TW", "zh", "登录"), ("fr-FR", "en", "Sign in")],
)
def test_the_language_is_the_browsers_where_it_is_one_of_ours(
    eyes: Eyes, locale: str, language: str, title: str
) -> None:
    page = eyes.open(locale=locale)
    expect(heading(page, title)).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", language)


def test_another_language_is_kept_and_comes_to_every_tab(eyes: Eyes) -> None:
    page = eyes.open()
    other = eyes.open_tab(page.context)
    chinese = page.get_by_role("button", name="中文")
    expect(chinese).to_have_attribute("lang", "zh")
    chinese.click()
    expect(heading(page, "登录")).to_be_visible()
    expect(chinese).to_be_focused()
    expect(chinese).to_have_attribute("aria-pressed", "true")
    expect(heading(other, "登录")).to_be_visible()
    page.reload()
    expect(heading(page, "登录")).to_be_visible()
    expect(page).to_have_title("登录 · 云控制台")


def test_what_was_typed_stays_when_the_language_changes(eyes: Eyes) -> None:
    page = eyes.open()
    page.get_by_label("Username").fill("demo")
    page.get_by_label("Password", exact=True).fill("half a pass")
    page.get_by_role("button", name="中文").click()
    expect(page.get_by_label("用户名")).to_have_value("demo")
    expect(page.get_by_label("密码", exact=True)).to_have_value("half a pass")


def test_messages_of_the_console_are_in_the_language_of_the_page(eyes: Eyes) -> None:
    page = eyes.open(locale="zh-CN")
    page.get_by_label("用户名").fill("demo")
    page.get_by_label("密码", exact=True).fill("wrong")
    page.get_by_role("button", name="登录").click()
    expect(page.locator("form")).to_contain_text("用户名或密码错误，或账户已停用。")


def test_a_theme_is_kept_and_comes_to_every_tab(eyes: Eyes) -> None:
    page = eyes.open()
    other = eyes.open_tab(page.context)
    page.get_by_role("button", name="Dark").click()
    expect(page.get_by_role("button", name="Dark")).to_be_focused()
    for each in (page, other):
        expect(each.locator("html")).to_have_attribute("data-theme", "dark")
        expect(each.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="As the system").click()
    for each in (page, other):
        expect(each.locator("html")).not_to_have_attribute("data-theme", "dark")


def test_a_theme_is_there_before_the_page_is(eyes: Eyes) -> None:
    page = eyes.open()
    page.get_by_role("button", name="Dark").click()
    page.route("**/main.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"


def test_pages_have_titles_headings_and_addresses_and_one_finds_the_way_back(eyes: Eyes) -> None:
    page = signed_in(eyes)
    for name, address in (("Flavors", "/#/flavors"), ("Domain", "/#/domain"), ("Overview", "/#/")):
        page.get_by_role("link", name=name).click()
        expect(heading(page, name)).to_be_focused()
        expect(page).to_have_title(f"{name} · Cloud Console")
        expect(page.locator("[aria-current=page]")).to_have_text(name)
        assert page.url == eyes.console.address + address
    page.go_back()
    expect(heading(page, "Domain")).to_be_focused()
    page.go_back()
    expect(heading(page, "Flavors")).to_be_focused()
    page.go_forward()
    expect(heading(page, "Domain")).to_be_focused()
    page.reload()
    settled(page)
    expect(heading(page, "Domain")).not_to_be_focused()


@pytest.mark.parametrize("address", ["#/nowhere", "#/nowhere/at?all=1", "#/%E0%A4%A", "#/constructor"])
def test_an_address_of_no_page_says_so_and_leads_home(eyes: Eyes, address: str) -> None:
    page = eyes.open(f"/{address}")
    sign_in(page)
    expect(heading(page, "No such page")).to_be_visible()
    expect(page).to_have_title("No such page · Cloud Console")
    page.get_by_role("link", name="Go to the overview").click()
    expect(heading(page, "Overview")).to_be_focused()


def test_without_scripts_the_page_says_what_it_needs_in_both_languages(eyes: Eyes) -> None:
    page = eyes.open(java_script_enabled=False)
    expect(page.locator("noscript p")).to_contain_text(["This page needs JavaScript.", "本页面需要 JavaScript。"])
    page.locator("noscript a").first.click()
    assert page.url == eyes.console.address + "/docs/"


@pytest.mark.parametrize("size", ["phone", "desktop"])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_everybody_can_read_and_use_sign_in_and_shell(eyes: Eyes, language: str, theme: str, size: str) -> None:
    options = {"locale": language, "color_scheme": theme, "viewport": {"phone": PHONE, "desktop": DESKTOP}[size]}
    page = eyes.open("/#/nowhere", **options)
    submit = page.locator("button[type=submit]")
    expect(submit).to_be_enabled()
    shoot(page, f"sign-in-{language}-{theme}-{size}")
    submit.click()
    expect(page.locator("[aria-invalid=true]")).to_have_count(2)
    assert faults_of(page) == ""
    assert not is_cut_off(page)
    page.locator("[name=username]").fill("demo")
    page.locator("[name=password]").fill("console-demo")
    submit.click()
    expect(page.locator("nav")).to_be_visible()
    if size == "phone":
        page.locator(".menu-button").click()
    assert faults_of(page) == ""
    assert not is_cut_off(page)


def test_fingers_find_what_they_aim_at(eyes: Eyes) -> None:
    page = eyes.open("/#/nowhere", viewport=PHONE)
    sign_in(page)
    page.get_by_role("button", name="Menu").click()
    targets = page.locator("header :is(a, button), footer a")
    boxes = [target.bounding_box() for target in targets.all() if target.is_visible()]
    assert len(boxes) > 8
    assert [box for box in boxes if box is None or box["height"] < 36 or box["width"] < 24] == []
    in_head = page.locator("header :is(a, button)").all()
    assert all((each.bounding_box() or {"height": 0})["height"] >= 44 for each in in_head)


def test_the_menu_of_a_phone_works_by_keyboard(eyes: Eyes) -> None:
    page = eyes.open("/#/nowhere", viewport=PHONE)
    sign_in(page)
    menu = page.get_by_role("button", name="Menu")
    expect(menu).to_have_attribute("aria-expanded", "false")
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
    menu.press("Enter")
    expect(menu).to_have_attribute("aria-expanded", "true")
    tab_to(page, "Sign out")
    page.keyboard.press("Escape")
    expect(menu).to_be_focused()
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()


def test_a_long_name_is_cut_short_and_nothing_is_pushed_out(eyes: Eyes) -> None:
    page = signed_in(eyes, "/#/nowhere", viewport=PHONE)
    name = "a.very.long.name.of.a.person.with.many.names@a-department.example.com"
    page.evaluate(
        """name => {
          const account = JSON.parse(localStorage.getItem("cloudconsole.account"));
          localStorage.setItem("cloudconsole.account", JSON.stringify({ ...account, username: name }));
        }""",
        name,
    )
    page.reload()
    page.get_by_role("button", name="Menu").click()
    expect(page.get_by_text(name)).to_be_visible()
    assert not is_cut_off(page)


def test_one_can_skip_to_the_content(eyes: Eyes) -> None:
    page = signed_in(eyes, "/#/nowhere")
    page.reload()
    settled(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Go to the overview")).to_be_focused()
    assert page.url.endswith("/#/nowhere")


def test_whatever_has_the_keyboard_can_be_seen_to_have_it(eyes: Eyes) -> None:
    page = signed_in(eyes, "/#/nowhere")
    page.reload()
    settled(page)
    seen = []
    for _ in range(14):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        seen.append(focused.inner_text() or focused.get_attribute("aria-label"))
        outline = focused.evaluate(
            "each => { const s = getComputedStyle(each); return [s.outlineStyle, s.outlineWidth] }"
        )
        assert outline == ["solid", "3px"], seen[-1]
    assert seen[0] == "Skip to the content"
    assert {"Cloud Console", "Overview", "Sign out", "English", "Dark", "Go to the overview"} <= set(seen)


def test_who_wants_no_motion_gets_none(eyes: Eyes) -> None:
    page = eyes.open()
    seconds = page.locator("button[type=submit]").evaluate("each => getComputedStyle(each).transitionDuration")
    assert max(float(each.strip().removesuffix("s")) for each in seconds.split(",")) < 0.001


def test_programs_are_shown_their_way(eyes: Eyes) -> None:
    page = eyes.open()
    expect(page.get_by_role("link", name="OpenAPI")).to_have_attribute("href", "/openapi.json")
    page.get_by_role("link", name="reference of the interface").click()
    assert page.url == eyes.console.address + "/docs/"
