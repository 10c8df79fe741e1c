"""The sign-in form: success, errors next to the fields, throttling, and no duplicate submission."""

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from cloudconsole.testing import ConsoleServer, running_console
from tests.browser.conftest import PASSWORDS
from tests.browser.helpers import ConsoleBrowser, assert_accessible, sign_in, stop_clock, tab_to, wait_until_loaded

LOGIN = "/auth/login/"
REGIONS = ("https://north.example.com/v3", "https://south.example.com/v3")


def alert(page: Page) -> Any:
    """The error message of the form, above its button."""
    return page.locator("form > [role=alert]").last


def test_signing_in_and_out_aborts_no_request(browser: ConsoleBrowser) -> None:
    page = browser.open("/#/nowhere")
    failed: list[str] = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    sign_in(page)
    wait_until_loaded(page)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Region")).to_be_enabled()
    assert failed == []


def test_unknown_users_and_wrong_passwords_get_the_same_message(browser: ConsoleBrowser) -> None:
    page = browser.open("/#/nowhere")
    for username in ("unknown", "demo"):
        sign_in(page, username, "wrong")
        expect(alert(page)).to_have_text("The username or password is wrong, or the account is disabled.")
        expect(page.get_by_label("Username")).to_have_value(username)
        expect(page.get_by_label("Password", exact=True)).to_have_value("")
        expect(page.get_by_label("Password", exact=True)).to_be_focused()
    page.keyboard.type(PASSWORDS["demo"])
    page.keyboard.press("Enter")
    wait_until_loaded(page)
    assert browser.statuses(LOGIN) == [401, 401, 200]


def test_missing_values_are_reported_at_their_fields_without_a_request(browser: ConsoleBrowser) -> None:
    page = browser.open()
    for field, other in (("Username", "Password"), ("Password", "Username")):
        empty = page.get_by_label(field, exact=True)
        empty.fill("")
        page.get_by_label(other, exact=True).fill("something")
        page.get_by_role("button", name="Sign in").click()
        expect(empty).to_be_focused()
        expect(empty).to_have_attribute("aria-invalid", "true")
        expect(empty).to_have_accessible_description(f"Enter your {field.lower()}.")
        empty.fill("something")
        expect(empty).not_to_have_attribute("aria-invalid", "true")
    assert browser.statuses(LOGIN) == []


def test_a_rejected_region_is_reported_at_its_field(browser: ConsoleBrowser) -> None:
    page = browser.open()
    browser.console.fault("unknown_region", call="login")
    sign_in(page)
    expect(page.get_by_label("Region")).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".region-text")).to_be_focused()


def test_a_project_is_asked_for_when_it_is_required(browser: ConsoleBrowser) -> None:
    page = browser.open()
    browser.console.fault("project_required", call="login")
    sign_in(page)
    project = page.get_by_label("Project")
    expect(project).to_be_focused()
    expect(project).to_have_accessible_description("Specify one of your projects: project")
    assert_accessible(page)
    page.get_by_label("Username").fill("dem")
    expect(project).to_have_count(0)
    browser.console.fault("project_required", call="login")
    sign_in(page)
    page.get_by_role("button", name="Sign in").click()
    expect(project).to_have_accessible_description("Enter a project.")
    page.get_by_role("button", name="中文").click()
    page.get_by_label("项目").fill("acme")
    with page.expect_request("**/auth/login/") as sent:
        page.get_by_role("button", name="登录").click()
    assert "&project=acme&" in (sent.value.post_data or "")
    expect(page.get_by_role("heading", name="概览")).to_be_visible()


def test_a_single_region_is_text(browser: ConsoleBrowser) -> None:
    page = browser.open()
    expect(page.locator(".region-text")).to_have_text(f"{browser.console.address}/v3")
    expect(page.get_by_role("combobox")).to_have_count(0)
    assert_accessible(page)


def test_after_signing_out_one_message_says_so(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/nowhere")
    page.get_by_role("button", name="Sign out").click()
    message = page.get_by_text("You have signed out.")
    expect(message).to_have_count(1)
    expect(message).to_have_attribute("role", "status")
    expect(page.get_by_role("alert").filter(has_text=re.compile("."))).to_have_count(0)
    assert_accessible(page)
    page.get_by_role("button", name="中文").click()
    expect(page.get_by_text("您已退出登录。")).to_have_count(1)
    page.reload()
    expect(page.get_by_role("button", name="登录")).to_be_enabled()
    expect(page.get_by_text("您已退出登录。")).to_have_count(0)


def test_throttling_shows_a_countdown_and_blocks_submission(browser: ConsoleBrowser) -> None:
    page = browser.open()
    page.clock.install()
    browser.console.fault("too_many_requests", call="login", retry_after=600)
    sign_in(page)
    button = page.get_by_role("button", name="Sign in")
    expect(alert(page)).not_to_be_empty()
    # Only the countdown has the time.
    assert re.search(r"\d", alert(page).inner_text()) is None
    countdown = page.get_by_text("You can try again in ")
    expect(countdown).to_be_visible()
    before = countdown.inner_text()
    expect(button).to_be_disabled()
    page.keyboard.press("Enter")
    expect(countdown).not_to_have_text(before)
    page.clock.fast_forward(600_000)
    expect(button).to_be_enabled()
    assert browser.statuses(LOGIN) == [429]
    button.click()
    wait_until_loaded(page)


def test_the_form_is_submitted_only_once(browser: ConsoleBrowser) -> None:
    page = browser.open()
    held: list[Route] = []
    page.route(f"**{LOGIN}", lambda route: held.append(route))
    password = page.get_by_label("Password", exact=True)
    page.get_by_role("button", name="Show password").click()
    expect(password).to_have_attribute("type", "text")
    sign_in(page)
    button = page.get_by_role("button", name="Signing in…")
    expect(button).to_have_attribute("aria-disabled", "true")
    # Password managers save only fields of type password.
    expect(password).to_have_attribute("type", "password")
    password.press("Enter")
    button.click(force=True)
    held[0].continue_()
    wait_until_loaded(page)
    assert len(held) == 1


def test_errors_are_shown_and_typed_text_stays(browser: ConsoleBrowser) -> None:
    page = browser.open("/#/nowhere")
    button = page.get_by_role("button", name="Sign in")
    expect(button).to_be_enabled()
    page.get_by_label("Username").fill("demo")
    page.get_by_label("Password", exact=True).fill(PASSWORDS["demo"])
    faults: dict[str, dict[str, Any]] = {
        "Report request ID": {"error": "internal_error"},
        "temporarily unavailable": {"error": "unavailable"},
        "time": {"error": "upstream_timeout"},
        "(502). Try again later.If you contact support, quote request ID": {"status": 502},
        "unexpected response (429)": {"status": 429, "retry_after": 1},
    }
    for text, fault in faults.items():
        browser.console.fault(**fault, call="login")
        button.click()
        expect(alert(page)).to_contain_text(text)
    expect(button).to_be_enabled()
    page.context.set_offline(True)
    button.click()
    expect(alert(page)).to_have_text("The console cannot be reached. Check your connection.")
    page.context.set_offline(False)
    page.get_by_role("button", name="Sign in").click()
    wait_until_loaded(page)


def test_a_failure_to_load_regions_can_be_retried(browser: ConsoleBrowser) -> None:
    browser.console.fault("internal_error", call="welcome", times=2)
    page = browser.open()
    retry = page.get_by_role("button", name="Try again")
    expect(page.get_by_label("Region")).to_have_count(0)
    expect(page.get_by_role("button", name="Sign in")).to_be_disabled()
    retry.click()
    expect(retry).to_be_focused()
    retry.click()
    expect(page.get_by_label("Username")).to_be_focused()
    sign_in(page)
    wait_until_loaded(page)


def test_regions_that_failed_to_load_are_loaded_later(browser: ConsoleBrowser) -> None:
    page = browser.open("/docs/")
    stop_clock(page)
    page.route("**/api/", lambda route: route.abort())
    page.goto("/")
    expect(page.get_by_role("alert").get_by_text("This page tries again by itself.")).to_be_visible()
    page.get_by_label("Username").fill("demo")
    page.unroute("**/api/")
    button = page.get_by_role("button", name="Sign in")
    for _ in range(60):
        page.clock.run_for(1000)
        if button.is_enabled():
            break
    expect(button).to_be_enabled()
    expect(page.get_by_label("Username")).to_be_focused()
    expect(page.get_by_role("alert").get_by_text("tries again")).to_have_count(0)
    sign_in(page)
    wait_until_loaded(page)


def test_disabled_cookies_are_reported(browser: ConsoleBrowser) -> None:
    page = browser.open()
    page.add_init_script("Object.defineProperty(Document.prototype, 'cookie', {get: () => ''})")
    page.reload()
    sign_in(page)
    expect(alert(page)).to_contain_text("cookies")
    assert browser.statuses(LOGIN) == [403]


def test_password_managers_recognize_the_form(browser: ConsoleBrowser) -> None:
    form = browser.open().locator("form")
    expect(form).to_have_attribute("method", "post")
    expect(form).to_have_attribute("action", LOGIN)
    expect(form.locator("[name=username]")).to_have_attribute("autocomplete", "username")
    expect(form.locator("[name=password]")).to_have_attribute("autocomplete", "current-password")
    expect(form.locator("[name=password]")).to_have_attribute("type", "password")


def test_signing_in_and_out_works_by_keyboard(browser: ConsoleBrowser) -> None:
    page = browser.open()
    expect(page.get_by_role("button", name="Sign in")).to_be_enabled()
    expect(page.get_by_label("Username")).to_be_focused()
    page.keyboard.type("demo")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORDS["demo"])
    page.keyboard.press("Enter")
    wait_until_loaded(page)
    tab_to(page, "Sign out", backwards=True)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Username")).to_be_focused()
    assert browser.statuses("/auth/logout/") == [200]


@pytest.fixture(scope="module")
def multi_region_server() -> Iterator[ConsoleServer]:
    """A console with two identity endpoints that redirects after login."""
    with running_console(flags=["--login-redirect", "--identity", ",".join(REGIONS)]) as server:
        yield server


@pytest.fixture
def multi_region_browser(chromium: Browser, multi_region_server: ConsoleServer) -> Iterator[ConsoleBrowser]:
    multi_region_server.reset()
    with closing(ConsoleBrowser(chromium, multi_region_server)) as opened:
        yield opened


def test_the_chosen_region_is_remembered(multi_region_browser: ConsoleBrowser) -> None:
    page = multi_region_browser.open()
    sign_in(page)
    region = page.get_by_label("Region")
    expect(page.locator(".region-text")).to_be_hidden()
    expect(region).to_have_accessible_description("Choose a region.")
    assert region.locator("option").all_inner_texts() == ["Choose…", *REGIONS]
    region.select_option(REGIONS[1])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("south.example.com/v3", exact=True)).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(region).to_have_value(REGIONS[1])


def test_a_login_with_a_redirect_response_succeeds(multi_region_browser: ConsoleBrowser) -> None:
    page = multi_region_browser.open("/#/nowhere")
    page.get_by_label("Region").select_option(REGIONS[0])

    statuses: list[int] = []

    def change_location(route: Route) -> None:
        response = route.fetch(max_redirects=0)
        statuses.append(response.status)
        route.fulfill(response=response, headers={**response.headers, "location": REGIONS[0]})

    # The page must not follow the redirect; the policy would block it.
    page.route(f"**{LOGIN}", change_location)
    sign_in(page)
    wait_until_loaded(page)
    assert statuses == [302]
