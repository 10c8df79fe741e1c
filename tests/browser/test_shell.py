"""The shell: languages, themes, titles, routes, keyboard use at every width, and how the pages are loaded."""

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import PASSWORDS
from tests.browser.helpers import (
    DESKTOP,
    PHONE,
    SIZES,
    ConsoleBrowser,
    assert_accessible,
    overflows,
    screenshot,
    sign_in,
    tab_to,
    wait_until_loaded,
    wait_until_painted,
)

BUDGET = 100_000
"""Bytes of a first visit."""

SECOND_BUDGET = 10_000


def heading(page: Page, name: str) -> Any:
    return page.get_by_role("heading", level=1, name=name, exact=True)


@pytest.mark.parametrize(("locale", "language"), [("en-GB", "en"), ("zh-CN", "zh"), ("zh-TW", "zh"), ("fr-FR", "en")])
def test_the_language_follows_the_browser_if_supported(browser: ConsoleBrowser, locale: str, language: str) -> None:
    page = browser.open(locale=locale)
    expect(heading(page, {"en": "Sign in", "zh": "登录"}[language])).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", language)


def test_the_chosen_language_is_stored_and_applies_to_every_tab(browser: ConsoleBrowser) -> None:
    page = browser.open()
    other = browser.open_tab(page.context)
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


def test_changing_the_language_keeps_typed_text(browser: ConsoleBrowser) -> None:
    page = browser.open()
    page.get_by_label("Username").fill("demo")
    page.get_by_label("Password", exact=True).fill("half a pass")
    page.get_by_role("button", name="中文").click()
    expect(page.get_by_label("用户名")).to_have_value("demo")
    expect(page.get_by_label("密码", exact=True)).to_have_value("half a pass")
    sign_in(page)
    expect(page.get_by_role("navigation")).to_be_visible()


def test_api_messages_are_in_the_language_of_the_page(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/domain/206813", locale="zh-CN")
    browser.console.advance(31 * 60)
    page.reload()
    wrong = page.get_by_text("用户名或密码错误，或账户已停用。")
    expect(page.get_by_text("登录已失效，请重新登录后继续。")).to_be_visible()
    page.get_by_label("密码", exact=True).fill("wrong")
    page.get_by_role("button", name="登录").click()
    expect(wrong).to_be_visible()
    # The request is not repeated: the message stays in its language and is marked with it.
    page.get_by_role("button", name="English").click()
    expect(wrong).to_have_attribute("lang", "zh")
    expect(page.locator(".notice")).to_have_count(1)


def test_the_chosen_theme_is_stored_and_applies_to_every_tab(browser: ConsoleBrowser) -> None:
    page = browser.open()
    other = browser.open_tab(page.context)
    page.get_by_role("button", name="Dark").click()
    expect(page.get_by_role("button", name="Dark")).to_be_focused()
    for each in (page, other):
        expect(each.locator("html")).to_have_attribute("data-theme", "dark")
        expect(each.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="System").click()
    for each in (page, other):
        expect(each.locator("html")).not_to_have_attribute("data-theme", "dark")


def test_the_theme_is_applied_before_the_scripts_run(browser: ConsoleBrowser) -> None:
    page = browser.open()
    page.get_by_role("button", name="Dark").click()
    page.route("**/main.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"


def test_pages_have_titles_headings_and_urls_and_support_back_and_forward(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in()
    pages = (("Costs", "/#/costs"), ("Flavors", "/#/flavors"), ("Domains", "/#/domain"), ("Overview", "/#/"))
    for name, address in pages:
        page.get_by_role("link", name=name, exact=True).click()
        expect(heading(page, name)).to_be_focused()
        expect(page).to_have_title(f"{name} · Cloud Console")
        expect(page.locator("[aria-current=page]")).to_have_text(name)
        assert page.url == browser.console.address + address
    page.go_back()
    expect(heading(page, "Domains")).to_be_focused()
    page.go_back()
    expect(heading(page, "Flavors")).to_be_focused()
    page.go_forward()
    expect(heading(page, "Domains")).to_be_focused()
    page.reload()
    wait_until_loaded(page)
    expect(heading(page, "Domains")).not_to_be_focused()


def test_an_unknown_route_shows_not_found_and_links_to_the_overview(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/nowhere")
    for address in ("#/nowhere", "#/nowhere/at?all=1", "#/%E0%A4%A", "#/constructor"):
        page.goto(f"/{address}")
        expect(heading(page, "Page not found")).to_be_visible()
        expect(page).to_have_title("Page not found · Cloud Console")
        page.get_by_role("link", name="Go to the overview").click()
        expect(heading(page, "Overview")).to_be_focused()


def test_without_javascript_the_page_says_so_in_both_languages(browser: ConsoleBrowser) -> None:
    page = browser.open(java_script_enabled=False)
    expect(page.locator("noscript p")).to_contain_text(["This page requires JavaScript.", "本页面需要 JavaScript。"])
    expect(page.get_by_text("Loading…")).to_be_hidden()
    page.locator("noscript a").first.click()
    assert page.url == browser.console.address + "/docs/"


@pytest.mark.parametrize("policy", ["script-src 'none'", "default-src 'none'"])
def test_if_its_script_does_not_run_the_page_suggests_a_reload(browser: ConsoleBrowser, policy: str) -> None:
    def restrict(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, headers={**response.headers, "content-security-policy": policy})

    page = browser.open("/docs/")
    page.route(f"{browser.console.address}/", restrict)
    page.goto("/")
    expect(page.get_by_text("reload the page. The console requires a current browser")).to_be_visible()
    expect(page.get_by_text("请刷新页面；本控制台需要较新版本的浏览器")).to_be_visible()
    assert_accessible(page)
    screenshot(page, f"no-script-{policy.partition('-')[0]}")
    browser.console_errors.clear()


# Every combination of two values is covered.
@pytest.mark.parametrize(
    ("locale", "theme", "size"),
    [
        ("en-GB", "light", "desktop"),
        ("zh-CN", "light", "phone"),
        ("en-GB", "dark", "phone"),
        ("zh-CN", "dark", "desktop"),
    ],
)
def test_all_pages_are_accessible_in_all_variants(browser: ConsoleBrowser, locale: str, theme: str, size: str) -> None:
    variant = f"{locale[:2]}-{theme}"
    page = browser.open("/#/nowhere", locale=locale, color_scheme=theme, viewport=SIZES[size])
    submit = page.locator("button[type=submit]")
    expect(submit).to_be_enabled()
    screenshot(page, f"sign-in-{variant}-{size}")
    submit.click()
    expect(page.locator("[aria-invalid=true]")).to_have_count(2)
    assert_accessible(page)
    sign_in(page)
    expect(page.locator("nav")).to_be_visible()
    if size == "phone":
        page.locator(".menu-button").click()
    assert_accessible(page)
    pages = {
        "overview": "",
        "costs-page": "costs?by=resource",
        "flavors": "flavors?cores=2&ram=4096&sort=ram&items=instance*3*4+volume*99*100",
        "domains": "domain",
        "domain": "domain/206814",
        "nowhere": "nowhere",
    }
    for name, address in pages.items():
        page.goto(f"/#/{address}")
        wait_until_loaded(page)
        expect(page.locator(f".{name}, main").first).to_be_visible()
        for summary in page.locator("details.cost-table summary, details.cost-method summary").all():
            summary.click()
        for kind, viewport in SIZES.items():
            page.set_viewport_size(viewport)
            wait_until_painted(page)
            assert not overflows(page)
            if kind == size:
                assert_accessible(page)
            screenshot(page, f"{name}-{variant}-{kind}")


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_commands_of_the_api_reference_work_and_leave_no_files(
    browser: ConsoleBrowser, tmp_path: Path, shell: str
) -> None:
    page = browser.open("/docs/")
    command = page.get_by_role("group", name="Log in with curl").inner_text()
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [shell, "-c", command],
        input=PASSWORDS["demo"] + "\n",
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stderr == "Password of demo: \n"
    assert (json.loads(done.stdout)["message"], done.stdout[-1]) == ("Usage and limits.", "\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("theme", ["Light", "Dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_api_reference_is_accessible_in_the_chosen_theme(browser: ConsoleBrowser, theme: str, size: str) -> None:
    page = browser.open(viewport=SIZES[size])
    page.get_by_role("button", name=theme).click()
    page.goto("/docs/")
    expect(page.locator("html")).to_have_attribute("data-theme", theme.lower())
    assert_accessible(page)
    headings = page.locator("h1, h2, h3, h4")
    levels = headings.evaluate_all("all => all.map(each => Number(each.tagName[1]))")
    assert all(after - before <= 1 for before, after in pairwise(levels))
    sizes = headings.evaluate_all("all => all.map(each => [each.tagName, parseFloat(getComputedStyle(each).fontSize)])")
    assert len(set(map(tuple, sizes))) == 4
    assert [tag for tag, _ in sorted(dict(sizes).items(), key=lambda each: -each[1])] == ["H1", "H2", "H3", "H4"]
    code = page.get_by_role("group", name="Log in with curl")
    expect(code).to_contain_text(f"base={browser.console.address}\n")
    code.focus()
    expect(code).to_be_focused()
    contents = page.get_by_role("navigation", name="Contents")
    page.locator("#errors").scroll_into_view_if_needed()
    expect(contents).to_be_in_viewport() if size == "desktop" else expect(contents).not_to_be_in_viewport()
    expect(page.get_by_role("link", name="Cloud Console", exact=True)).to_have_attribute("href", "/")
    assert {response.status for response in browser.responses} == {200}
    screenshot(page, f"docs-{theme}-{size}")


def test_the_contents_of_the_api_reference_are_filtered_and_mark_the_section(browser: ConsoleBrowser) -> None:
    page = browser.open("/docs/", viewport=DESKTOP)
    contents = page.get_by_role("navigation", name="Contents")
    links = contents.get_by_role("link")
    expect(contents.locator("[aria-current]")).to_have_text("First steps")
    # By name and by purpose.
    page.get_by_label("Filter").fill("DOMAIN")
    expect(links).to_have_text(["GetDomainDetail", "GetDomains"])
    expect(contents.get_by_text("Basics")).to_be_hidden()
    page.get_by_label("Filter").fill("no such action")
    expect(links).to_have_count(0)
    expect(contents.get_by_text("No matches")).to_be_visible()
    page.get_by_label("Filter").fill("quota limits")
    page.keyboard.press("Enter")
    page.wait_for_url("**/docs/#GetUsageLimits")
    expect(contents.locator("[aria-current]")).to_have_text("GetUsageLimits")
    page.get_by_label("Filter").fill("")
    page.locator("#errors").scroll_into_view_if_needed()
    page.evaluate("document.getElementById('errors').scrollIntoView()")
    expect(contents.locator("[aria-current]")).to_have_text("Errors")
    page.set_viewport_size(PHONE)
    expect(contents.get_by_text("Basics")).to_be_hidden()
    contents.get_by_text("Contents").click()
    expect(contents.get_by_text("Basics")).to_be_visible()
    assert_accessible(page)


def test_the_api_reference_offers_the_theme_and_says_in_chinese_that_it_is_in_english(browser: ConsoleBrowser) -> None:
    page = browser.open("/docs/", viewport=PHONE)
    expect(page.locator("main [lang=zh]").first).to_contain_text("本文档为英文")
    themes = page.get_by_role("group", name="Theme")
    expect(themes.locator("[aria-pressed=true]")).to_have_accessible_name("System")
    themes.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(themes.locator("[aria-pressed=true]")).to_have_accessible_name("Dark")
    page.goto("/")
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    page.goto("/docs/")
    themes.get_by_role("button", name="System").click()
    assert page.evaluate("[localStorage['cloudconsole.theme'], document.documentElement.dataset.theme]") == [None, None]
    assert_accessible(page)
    # It does not cover the code.
    button, code = (
        each.bounding_box()
        for each in (
            page.get_by_role("button", name="Copy: Log in with curl"),
            page.get_by_role("group", name="Log in with curl"),
        )
    )
    assert button
    assert code
    assert button["y"] + button["height"] <= code["y"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_for_an_unknown_path_is_accessible(browser: ConsoleBrowser, theme: str) -> None:
    page = browser.open("/nowhere", color_scheme=theme, viewport=PHONE)
    expect(heading(page, "Page not found")).to_be_visible()
    assert_accessible(page)
    page.get_by_role("link", name="Go to the console").click()
    expect(page.get_by_role("button", name="Sign in")).to_be_enabled()


@pytest.mark.parametrize("permissions", [["clipboard-read", "clipboard-write"], []])
def test_the_examples_of_the_api_reference_are_copied(browser: ConsoleBrowser, permissions: list[str]) -> None:
    page = browser.open("/docs/", permissions=permissions)
    if not permissions:
        page.evaluate("void (navigator.clipboard.writeText = () => Promise.reject(new Error('denied')))")
    code = page.get_by_role("group", name="Body of GetNews")
    page.get_by_role("button", name="Copy: Body of GetNews").click()
    expect(page.get_by_role("status").get_by_text("Copied" if permissions else "Selected")).to_be_attached()
    copied = page.evaluate("navigator.clipboard.readText()" if permissions else "getSelection().toString()")
    assert copied.strip() == code.inner_text() == '{"action": "GetNews"}'


def test_the_commands_of_the_api_reference_for_python_and_the_cli_work(browser: ConsoleBrowser, tmp_path: Path) -> None:
    page = browser.open("/docs/")
    environment = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}
    for name, program in (("Python", [sys.executable, "-c"]), ("the CLI", ["sh", "-c"])):
        command = page.get_by_role("group", name=f"Log in with {name}").inner_text()
        done = subprocess.run(
            [*program, command],
            input=PASSWORDS["demo"] + "\n",
            env=environment | ({"CLOUDCONSOLE_PASSWORD": PASSWORDS["demo"]} if name == "the CLI" else {}),
            capture_output=True,
            text=True,
            check=True,
        )
        assert ("maxTotalCores" if name == "Python" else "cores") in done.stdout


def test_a_printed_page_names_account_region_and_time(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/flavors")
    note = page.locator("footer .print-only")
    expect(note).to_be_hidden()
    page.emulate_media(media="print")
    expect(note).to_be_visible()
    expect(note).to_contain_text(f"Account demo, region {browser.console.address}/v3")
    page.clock.set_fixed_time("2026-11-15T20:30:05Z")
    page.pdf()
    expect(note.get_by_text("Printed at ")).to_have_text("Printed at 15 Nov 2026, 20:30:05 (UTC)")
    expect(page.get_by_role("link", name="API reference")).to_be_hidden()
    expect(page.get_by_role("navigation")).to_be_hidden()
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
    page.emulate_media(media="screen")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Username")).to_be_visible()
    expect(note).to_have_count(0)


def test_touch_targets_are_large_enough(browser: ConsoleBrowser) -> None:
    page = browser.open("/#/nowhere", viewport=PHONE)
    sign_in(page)
    page.get_by_role("button", name="Account").click()
    targets = page.locator("header :is(a, button), footer a")
    boxes = [target.bounding_box() for target in targets.all() if target.is_visible()]
    assert len(boxes) > 8
    assert [box for box in boxes if box is None or box["height"] < 36 or box["width"] < 24] == []
    in_header = page.locator("header :is(a, button)").all()
    assert all((each.bounding_box() or {"height": 0})["height"] >= 44 for each in in_header)


def test_the_mobile_menu_works_by_keyboard(browser: ConsoleBrowser) -> None:
    page = browser.open("/#/nowhere", viewport=PHONE)
    sign_in(page)
    menu = page.get_by_role("button", name="Account")
    expect(menu).to_have_attribute("aria-expanded", "false")
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
    menu.press("Enter")
    expect(menu).to_have_attribute("aria-expanded", "true")
    tab_to(page, "Sign out")
    page.keyboard.press("Escape")
    expect(menu).to_be_focused()
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()


def test_a_long_username_is_truncated_without_overflow(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/nowhere", viewport=PHONE)
    name = "a.very.long.name.of.a.person.with.many.names@a-department.example.com"
    page.evaluate(
        """name => {
          const account = JSON.parse(localStorage.getItem("cloudconsole.account"));
          localStorage.setItem("cloudconsole.account", JSON.stringify({ ...account, username: name }));
        }""",
        name,
    )
    page.reload()
    page.get_by_role("button", name="Account").click()
    expect(page.get_by_text(name, exact=True)).to_be_visible()
    assert not overflows(page)


def test_the_skip_link_moves_the_focus_to_the_content(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/nowhere")
    page.reload()
    wait_until_loaded(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to main content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Go to the overview")).to_be_focused()
    assert page.url.endswith("/#/nowhere")


def test_the_focus_is_always_visible(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/nowhere")
    page.reload()
    wait_until_loaded(page)
    seen = []
    for _ in range(14):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        seen.append(focused.inner_text() or focused.get_attribute("aria-label"))
        outline = focused.evaluate(
            "each => { const s = getComputedStyle(each); return [s.outlineStyle, s.outlineWidth] }"
        )
        assert outline == ["solid", "3px"], seen[-1]
    assert seen[0] == "Skip to main content"
    assert {"Cloud Console", "Overview", "Sign out", "English", "Dark", "Go to the overview"} <= set(seen)


def test_reduced_motion_is_respected(browser: ConsoleBrowser) -> None:
    page = browser.open()
    seconds = page.locator("button[type=submit]").evaluate("each => getComputedStyle(each).transitionDuration")
    assert max(float(each.strip().removesuffix("s")) for each in seconds.split(",")) < 0.001


TEXT_SPACING = """
* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }
p { margin-bottom: 2em !important }
"""
"""The text spacing of WCAG 1.4.12, which must not lose content."""


def test_text_spacing_causes_no_overflow_in_narrow_windows(browser: ConsoleBrowser) -> None:
    page = browser.open()
    page.set_viewport_size({"width": 320, "height": 740})
    page.evaluate(
        """rules => {
          const sheet = new CSSStyleSheet();
          sheet.replaceSync(rules);
          document.adoptedStyleSheets = [sheet];
        }""",
        TEXT_SPACING,
    )
    assert not overflows(page)
    sign_in(page)
    wait_until_loaded(page)
    page.locator(".menu-button").click()
    for address in ("#/", "#/flavors?cores=2&ram=4096", "#/domain/206814", "#/domain/none"):
        page.evaluate("address => { location.hash = address }", address)
        wait_until_loaded(page)
        assert not overflows(page), address
        screenshot(page, f"spaced-{address[2:8]}")


def test_selection_is_visible_with_forced_colors(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in(forced_colors="active")

    def backgrounds(selector: str) -> list[str]:
        read = "each => each.map(one => getComputedStyle(one).backgroundColor)"
        found: list[str] = page.locator(selector).evaluate_all(read)
        return found

    def stands_out(chosen: str, all_options: str) -> bool:
        [own] = backgrounds(chosen)
        return backgrounds(all_options).count(own) == 1

    assert stands_out("header nav [aria-current]", "header nav a")
    assert stands_out("header [aria-pressed=true][data-focus-key^=language]", "header [data-focus-key^=language]")
    assert stands_out("header [aria-pressed=true][data-focus-key^=theme]", "header [data-focus-key^=theme]")
    screenshot(page, "forced-overview")
    page.evaluate("location.hash = '#/costs'")
    expect(page.locator(".segments")).to_be_visible()
    assert stands_out(".segments :checked + span", ".segments span")
    assert stands_out("[data-month][aria-pressed=true] .bar:not(.forecast)", "[data-month] .bar:not(.forecast)")
    screenshot(page, "forced-costs")
    page.evaluate("location.hash = '#/flavors?cores=2&ram=4096'")
    expect(page.locator("[name=ram]:checked")).to_have_count(1)
    for name in ("cores", "ram"):
        assert stands_out(f"[name={name}]:checked + span", f"[name={name}] + span")
    screenshot(page, "forced-flavors")


def test_pages_comply_with_their_content_security_policy_and_request_only_the_console(browser: ConsoleBrowser) -> None:
    requested: list[str] = []
    page = browser.open()
    page.add_init_script(
        "window.violations = [];"
        "addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective))"
    )
    page.on("request", lambda request: requested.append(request.url))
    page.reload()
    sign_in(page)
    for name in ("Flavors", "Domains", "Overview"):
        page.get_by_role("link", name=name, exact=True).click()
        wait_until_loaded(page)
    assert "script-src 'sha256-" in (browser.responses[0].header_value("content-security-policy") or "")
    assert page.evaluate("violations") == []
    assert [url for url in requested if not url.startswith(browser.console.address + "/")] == []
    assert f"{browser.console.address}/api/" in requested


def test_the_policy_prevents_text_from_becoming_markup(browser: ConsoleBrowser) -> None:
    page = browser.open()
    with page.expect_console_message(lambda message: "TrustedHTML" in message.text):
        attempt = "try { document.body.innerHTML = '<b>bold</b>' } catch (problem) { problem.name }"
        assert page.evaluate(attempt) == "TypeError"
    expect(page.locator("b")).to_have_count(0)
    browser.console_errors.clear()


def network_events(page: Page, event: str) -> list[Any]:
    """The browser's network events of one type, recorded from now on."""
    events: list[Any] = []
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")

    def record(each: Any) -> None:
        events.append(each)

    session.on(f"Network.{event}", record)
    return events


def test_a_first_visit_with_sign_in_and_overview_is_within_the_budget(browser: ConsoleBrowser) -> None:
    page = browser.open("about:blank")
    requests = network_events(page, "requestWillBeSent")
    finished = network_events(page, "loadingFinished")
    page.goto(browser.console.address)
    sign_in(page)
    wait_until_loaded(page)
    # The page, which contains its files; GET /api/ and the login; the overview's actions.
    sent = [each["request"]["url"] for each in requests if not each["request"]["url"].startswith("data:")]
    assert len(sent) <= 1 + 2 + 5
    # Transferred bytes, including headers.
    assert sum(each["encodedDataLength"] for each in finished) < BUDGET


def test_a_second_visit_loads_the_page_from_the_cache(browser: ConsoleBrowser) -> None:
    page = browser.open_tab(browser.open_signed_in().context, "about:blank")
    responses = network_events(page, "responseReceivedExtraInfo")
    finished = network_events(page, "loadingFinished")
    page.goto(browser.console.address)
    wait_until_loaded(page)
    assert 304 in [each["statusCode"] for each in responses]
    assert sum(each["encodedDataLength"] for each in finished) < SECOND_BUDGET


@pytest.mark.parametrize("address", ["/#/", "/#/costs?by=resource", "/#/domain/206813", "/docs/"])
def test_a_printed_page_has_no_controls_and_cuts_nothing_off(browser: ConsoleBrowser, address: str) -> None:
    page = browser.open_signed_in("/#/")
    page.goto(address)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 720, "height": 1000})
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    # The bars of the chart and the links of a table are buttons.
    for control in page.locator("button:not(.column, .group-link), input, select").all():
        expect(control).to_be_hidden()
    assert not overflows(page)
    is_cut = "each => each.scrollWidth > each.clientWidth || each.scrollHeight > each.clientHeight"
    assert page.locator("pre").evaluate_all(f"all => all.filter({is_cut}).length") == 0
