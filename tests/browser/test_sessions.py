"""How sessions end, in one tab and in several: one rejected request, one message, never mixed accounts."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from cloudconsole.cli.main import main
from cloudconsole.testing import ConsoleServer
from tests.browser.helpers import (
    ConsoleBrowser,
    HeldResponse,
    serve_modules,
    sign_in,
    wait_until_loaded,
    wait_until_painted,
)

ENDED = "Your session has ended. Sign in again to continue."
LOGOUT = "/auth/logout/"
ACTIONS = 5
"""The number of actions that the overview calls."""


def expire(console: ConsoleServer) -> None:
    console.advance(31 * 60)


def revoke(console: ConsoleServer) -> None:
    assert main(["admin", "account", "end-sessions", "demo", "--data", str(console.data)]) == 0


def username(page: Page) -> str:
    return page.locator(".account strong").inner_text()


def wait_for_extra_requests(page: Page) -> None:
    # A request that must not be sent has no event; waiting too briefly never fails a correct page.
    page.wait_for_timeout(700)


@pytest.mark.parametrize("end", [expire, revoke])
def test_an_ended_session_costs_one_rejection_and_shows_one_message(
    browser: ConsoleBrowser, end: Callable[[ConsoleServer], None]
) -> None:
    page = browser.open_signed_in()
    assert browser.statuses() == [200] * ACTIONS
    end(browser.console)
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_text(ENDED)).to_have_count(1)
    expect(page.get_by_label("Password", exact=True)).to_be_focused()
    expect(page.get_by_label("Username")).to_have_value("demo")
    wait_for_extra_requests(page)
    assert browser.statuses() == [200] * ACTIONS + [401]
    expect(page.get_by_text("Page refreshed.")).to_have_count(0)


def test_signing_in_after_an_ended_session_returns_to_the_same_page(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/domain/206813")
    expire(browser.console)
    page.reload()
    expect(page.get_by_text(ENDED)).to_be_visible()
    sign_in(page)
    expect(page.get_by_role("heading", level=1, name="www.example-demo.com")).to_be_focused()
    assert page.url.endswith("/#/domain/206813")
    wait_until_loaded(page)
    assert browser.statuses().count(401) == 1
    assert browser.statuses()[-1] == 200


def test_signing_out_in_one_tab_signs_out_the_other_without_a_request(browser: ConsoleBrowser) -> None:
    first = browser.open_signed_in()
    second = browser.open_tab(first.context, "/#/flavors")
    wait_until_loaded(second)
    sent: list[str] = []
    second.on("request", lambda request: sent.append(f"{request.method} {request.url}"))
    first.get_by_role("button", name="Sign out").click()
    expect(second.get_by_text(ENDED)).to_be_visible()
    expect(first.get_by_label("Username")).to_be_visible()
    expect(first.get_by_text(ENDED)).to_have_count(0)
    wait_for_extra_requests(second)
    # Only the request of the sign-in form, no action.
    assert sent == [f"GET {browser.console.address}/api/"]


def test_signing_in_as_another_account_updates_all_tabs(browser: ConsoleBrowser) -> None:
    first = browser.open_signed_in()
    second = browser.open_tab(first.context)
    wait_until_loaded(second)
    before = second.locator(".quotas").inner_text()
    first.get_by_role("button", name="Sign out").click()
    sign_in(first, "other")
    wait_until_loaded(first)
    expect(second.locator(".account strong")).to_have_text("other")
    wait_until_loaded(second)
    assert before != second.locator(".quotas").inner_text() == first.locator(".quotas").inner_text()


def test_a_tab_that_missed_a_sign_in_elsewhere_shows_no_mixed_data(browser: ConsoleBrowser) -> None:
    first = browser.open_signed_in()
    # A frozen tab receives no storage events.
    first.add_init_script("addEventListener('storage', (event) => event.stopImmediatePropagation(), true)")
    first.reload()
    wait_until_loaded(first)
    second = browser.open_tab(first.context)
    wait_until_loaded(second)
    second.get_by_role("button", name="Sign out").click()
    sign_in(second, "other")
    wait_until_loaded(second)
    assert username(first) == "demo"
    first.get_by_role("button", name="Refresh").click()
    expect(first.locator(".account strong")).to_have_text("other")
    wait_until_loaded(first)
    assert first.locator(".quotas").inner_text() == second.locator(".quotas").inner_text()


def test_a_page_restored_by_the_browser_shows_the_current_account(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/nowhere")
    for event in (
        "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))",
        "document.dispatchEvent(new Event('visibilitychange'))",
    ):
        page.evaluate("localStorage.removeItem('cloudconsole.account')")
        page.evaluate(event)
        expect(page.get_by_label("Username")).to_be_visible()
        sign_in(page, "other")
        wait_until_loaded(page)
        assert username(page) == "other"


def test_the_back_button_shows_nothing_after_sign_out(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in()
    page.get_by_role("link", name="Flavors").click()
    wait_until_loaded(page)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Username")).to_have_value("")
    # The next user starts at the overview.
    assert page.url.endswith("/#/")
    statuses = browser.statuses()
    page.go_back()
    expect(page.get_by_label("Username")).to_be_visible()
    page.goto("/docs/")
    page.go_back()
    expect(page.get_by_label("Username")).to_be_visible()
    expect(page.locator("main")).not_to_contain_text("demo")
    expect(page.get_by_role("navigation")).to_have_count(0)
    assert browser.statuses() == statuses


def test_a_response_for_the_previous_account_is_discarded(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in()
    held = HeldResponse(page, "GetUsageLimits")
    page.get_by_role("button", name="Refresh").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Username")).to_be_visible()
    expect(page.get_by_text(ENDED)).to_have_count(0)
    sign_in(page, "other")
    wait_until_loaded(page)
    shown = page.locator(".quotas").inner_text()
    held.release()
    wait_until_painted(page)
    assert page.locator(".quotas").inner_text() == shown
    assert username(page) == "other"


def test_a_failed_sign_out_leaves_the_user_signed_in(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/nowhere")
    sign_out = page.get_by_role("button", name="Sign out")
    for label in ("Domains", "中文", "English"):
        browser.console.fault("unavailable", call="logout")
        page.locator("[data-focus-key=sign-out]").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".shell-alerts p")).to_be_visible()
        expect(page.locator("[data-focus-key=sign-out]")).to_be_focused()
        page.locator("header").get_by_text(label).click()
        expect(page.locator(".shell-alerts p")).to_have_count(0)
    page.context.set_offline(True)
    sign_out.click()
    expect(page.get_by_role("alert").get_by_text("cannot be reached")).to_be_visible()
    page.context.set_offline(False)
    sign_out.click()
    expect(page.get_by_label("Username")).to_be_visible()
    assert browser.statuses(LOGOUT) == [503, 503, 503, 200]


def test_signing_out_of_an_ended_session_shows_no_message(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in()
    expire(browser.console)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Username")).to_be_visible()
    expect(page.get_by_text(ENDED)).to_have_count(0)
    assert browser.statuses(LOGOUT) == [401]


def test_a_slow_first_call_delays_the_others_only_briefly(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in()
    held = HeldResponse(page, "GetUsageLimits")
    page.reload()
    expect(page.locator(".urls li").first).to_be_visible()
    expect(page.locator(".quotas .loading")).to_be_visible()
    held.release()
    wait_until_loaded(page)


def info_requests(browser: ConsoleBrowser) -> int:
    return sum(each.request.method == "GET" and each.url.endswith("/api/") for each in browser.responses)


def test_a_lost_csrf_token_is_fetched_once(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in()
    page.context.clear_cookies(name="csrftoken")
    before = info_requests(browser)
    page.get_by_role("button", name="Refresh").click()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    assert browser.statuses() == [200] * ACTIONS + [403] + [200] * ACTIONS
    assert info_requests(browser) == before + 1


def test_the_console_works_without_local_storage(browser: ConsoleBrowser) -> None:
    page = browser.open()
    page.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no') }})")
    page.reload()
    sign_in(page)
    wait_until_loaded(page)
    assert username(page) == "demo"
    expire(browser.console)
    page.get_by_role("link", name="Flavors").click()
    expect(page.get_by_text(ENDED)).to_have_count(1)


def test_a_tab_opened_during_a_sign_in_does_not_break_the_new_session(browser: ConsoleBrowser) -> None:
    first = browser.open("/#/nowhere")
    expect(first.get_by_role("button", name="Sign in")).to_be_enabled()
    browser.console.fault(delay=1.5, call="welcome")
    second = browser.open_tab(first.context, "/#/flavors")
    expect(second.get_by_label("Username")).to_be_focused()
    sign_in(first)
    for tab in (first, second):
        wait_until_loaded(tab)
    expect(second.locator(".flavor-list tbody tr").first).to_be_visible()
    first.get_by_role("link", name="Overview", exact=True).click()
    expect(first.get_by_role("heading", name="Overview")).to_be_visible()
    wait_until_loaded(first)
    assert set(browser.statuses()) == {200}


@pytest.mark.parametrize("locks", ["navigator.locks", "undefined"])
def test_a_login_waits_for_a_pending_info_request(browser: ConsoleBrowser, locks: str) -> None:
    page = browser.open(bypass_csp=True)
    serve_modules(page)
    expect(page.get_by_role("button", name="Sign in")).to_be_enabled()
    region = page.get_by_label("Region").input_value()
    browser.console.fault(delay=0.5, call="welcome")
    finished = page.evaluate(
        f"""async (region) => {{
          Object.defineProperty(navigator, "locks", {{ value: {locks} }});
          const {{ callAction, fetchServiceInfo, login }} = await import("/modules/core/api.js");
          const finished = [];
          const slow = fetchServiceInfo().then(() => finished.push("info"));
          await login({{ username: "demo", password: "console-demo", region }}).then(() => finished.push("login"));
          await Promise.all([slow, callAction("GetNews", {{}})]);
          return finished;
        }}""",
        region,
    )
    assert finished == ["info", "login"]


def test_an_invalid_stored_account_means_signed_out(browser: ConsoleBrowser) -> None:
    page = browser.open()
    for account in ('{"id": "x"}', '{"id": "x", "username": 5, "region": {}}', "[]", "{"):
        page.evaluate("account => localStorage.setItem('cloudconsole.account', account)", account)
        page.reload()
        expect(page.get_by_label("Username")).to_be_focused()
