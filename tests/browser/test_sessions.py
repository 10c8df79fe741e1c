"""How sessions end, in one tab and in several: one refusal, one message, and never a mixture of two accounts."""

from collections import Counter
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from cloudconsole.cli.main import main
from cloudconsole.testing import ConsoleServer
from tests.browser.looking import Eyes, settled, sign_in, signed_in

ENDED = "Your session has ended. Sign in again to continue."
LOGOUT = "/auth/logout/"
PANELS = 4
"""The calls of the overview."""


def expire(console: ConsoleServer) -> None:
    console.advance(31 * 60)


def revoke(console: ConsoleServer) -> None:
    assert main(["admin", "account", "end-sessions", "demo", "--data", str(console.data)]) == 0


def username(page: Page) -> str:
    return page.locator(".account strong").inner_text()


def quiet(page: Page) -> None:
    """Time enough for whatever would be sent by itself."""
    page.wait_for_timeout(700)


@pytest.mark.parametrize("end", [expire, revoke])
def test_an_ended_session_costs_one_refusal_and_says_so_once(eyes: Eyes, end: Callable[[ConsoleServer], None]) -> None:
    page = signed_in(eyes)
    assert eyes.statuses() == [200] * PANELS
    end(eyes.console)
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_text(ENDED)).to_have_count(1)
    expect(page.get_by_label("Password", exact=True)).to_be_focused()
    expect(page.get_by_label("Username")).to_have_value("demo")
    quiet(page)
    assert eyes.statuses() == [200] * PANELS + [401]
    expect(page.get_by_text("Overview refreshed.")).to_have_count(0)


def test_after_an_ended_session_one_goes_on_where_one_was(eyes: Eyes) -> None:
    page = signed_in(eyes, "/#/domain/206813")
    expire(eyes.console)
    page.reload()
    expect(page.get_by_text(ENDED)).to_be_visible()
    sign_in(page)
    expect(page.get_by_role("heading", level=1, name="Domain")).to_be_focused()
    assert page.url.endswith("/#/domain/206813")
    settled(page)
    assert eyes.statuses() == [200, 401, 200]


def test_a_visit_that_begins_with_an_ended_session_costs_one_refusal(eyes: Eyes) -> None:
    page = signed_in(eyes)
    page.context.clear_cookies()
    page.reload()
    expect(page.get_by_text(ENDED)).to_have_count(1)
    quiet(page)
    assert Counter(eyes.statuses()) == {200: PANELS, 401: 1}
    sign_in(page)
    settled(page)


def test_signing_out_in_one_tab_does_so_in_the_other_without_a_request(eyes: Eyes) -> None:
    first = signed_in(eyes)
    second = eyes.open_tab(first.context, "/#/flavors")
    settled(second)
    sent: list[str] = []
    second.on("request", lambda request: sent.append(f"{request.method} {request.url}"))
    first.get_by_role("button", name="Sign out").click()
    expect(second.get_by_text(ENDED)).to_be_visible()
    expect(first.get_by_label("Username")).to_be_visible()
    expect(first.get_by_text(ENDED)).to_have_count(0)
    quiet(second)
    # What the form needs, and nothing of the account's.
    assert sent == [f"GET {eyes.console.address}/api/"]


def test_signing_in_as_another_in_one_tab_shows_that_account_in_both(eyes: Eyes) -> None:
    first = signed_in(eyes)
    second = eyes.open_tab(first.context)
    settled(second)
    before = second.locator(".quotas").inner_text()
    first.get_by_role("button", name="Sign out").click()
    sign_in(first, "other")
    settled(first)
    expect(second.locator(".account strong")).to_have_text("other")
    settled(second)
    assert before != second.locator(".quotas").inner_text() == first.locator(".quotas").inner_text()


def test_a_tab_that_missed_who_signed_in_elsewhere_finds_out_before_it_shows_anything(eyes: Eyes) -> None:
    first = signed_in(eyes)
    # A frozen tab hears nothing of the others.
    first.evaluate("addEventListener('storage', (event) => event.stopImmediatePropagation(), true)")
    first.add_init_script("addEventListener('storage', (event) => event.stopImmediatePropagation(), true)")
    first.reload()
    settled(first)
    second = eyes.open_tab(first.context)
    settled(second)
    second.get_by_role("button", name="Sign out").click()
    sign_in(second, "other")
    settled(second)
    assert username(first) == "demo"
    first.get_by_role("button", name="Refresh").click()
    expect(first.locator(".account strong")).to_have_text("other")
    settled(first)
    assert first.locator(".quotas").inner_text() == second.locator(".quotas").inner_text()


def test_a_page_that_the_browser_brings_back_as_it_was_shows_who_is_there_now(eyes: Eyes) -> None:
    page = signed_in(eyes, "/#/nowhere")
    for brought_back in (
        "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))",
        "document.dispatchEvent(new Event('visibilitychange'))",
    ):
        page.evaluate("localStorage.removeItem('cloudconsole.account')")
        page.evaluate(brought_back)
        expect(page.get_by_label("Username")).to_be_visible()
        sign_in(page, "other")
        settled(page)
        assert username(page) == "other"


def test_after_signing_out_the_way_back_shows_nothing_of_the_account(eyes: Eyes) -> None:
    page = signed_in(eyes)
    page.get_by_role("link", name="Flavors").click()
    settled(page)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Username")).to_have_value("")
    # Nor does whoever comes next begin where this one was.
    assert page.url.endswith("/#/")
    calls = eyes.statuses()
    page.go_back()
    expect(page.get_by_label("Username")).to_be_visible()
    page.goto("/docs/")
    page.go_back()
    expect(page.get_by_label("Username")).to_be_visible()
    expect(page.locator("main")).not_to_contain_text("demo")
    expect(page.get_by_role("navigation")).to_have_count(0)
    assert eyes.statuses() == calls


def test_an_answer_that_comes_after_another_signed_in_is_nobodys(eyes: Eyes) -> None:
    page = signed_in(eyes)
    eyes.console.fault(delay=1.5, call="GetUsageLimits")
    page.get_by_role("button", name="Refresh").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Username")).to_be_visible()
    expect(page.get_by_text(ENDED)).to_have_count(0)
    sign_in(page, "other")
    settled(page)
    shown = page.locator(".quotas").inner_text()
    page.wait_for_timeout(1500)
    assert page.locator(".quotas").inner_text() == shown
    assert username(page) == "other"


def test_signing_out_that_could_not_be_told_leaves_one_signed_in(eyes: Eyes) -> None:
    page = signed_in(eyes, "/#/nowhere")
    leave = page.get_by_role("button", name="Sign out")
    for going_on in ("Domain", "中文", "English"):
        eyes.console.fault("unavailable", call="logout")
        page.locator("[data-focus-key=sign-out]").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".shell-alerts p")).to_be_visible()
        expect(page.locator("[data-focus-key=sign-out]")).to_be_focused()
        page.locator("header").get_by_text(going_on).click()
        expect(page.locator(".shell-alerts p")).to_have_count(0)
    page.context.set_offline(True)
    leave.click()
    expect(page.get_by_role("alert").get_by_text("cannot be reached")).to_be_visible()
    page.context.set_offline(False)
    leave.click()
    expect(page.get_by_label("Username")).to_be_visible()
    assert eyes.statuses(LOGOUT) == [503, 503, 503, 200]


def test_signing_out_of_a_session_that_has_ended_needs_no_words(eyes: Eyes) -> None:
    page = signed_in(eyes)
    expire(eyes.console)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Username")).to_be_visible()
    expect(page.get_by_text(ENDED)).to_have_count(0)
    assert eyes.statuses(LOGOUT) == [401]


def test_a_refusal_with_a_wait_is_shown_in_its_panel_and_nothing_is_repeated(eyes: Eyes) -> None:
    page = signed_in(eyes)
    eyes.console.fault("too_many_requests", call="GetNews", retry_after=1)
    page.get_by_role("button", name="Refresh").click()
    again = page.locator(".news").get_by_role("button", name="Try again")
    expect(again).to_be_disabled()
    expect(page.locator(".quotas .error-box")).to_have_count(0)
    expect(again).to_be_enabled()
    quiet(page)
    assert Counter(eyes.statuses()) == {200: 2 * PANELS - 1, 429: 1}
    again.click()
    expect(again).to_have_count(0)


def test_a_first_call_that_fails_leaves_the_others_working(eyes: Eyes) -> None:
    page = signed_in(eyes)
    eyes.console.fault("unavailable", call="GetUsageLimits")
    page.reload()
    expect(page.locator(".quotas").get_by_role("button", name="Try again")).to_be_visible()
    settled(page)
    expect(page.locator(".error-box")).to_have_count(1)
    assert Counter(eyes.statuses()) == {200: 2 * PANELS - 1, 503: 1}


def test_a_slow_first_call_does_not_hold_up_the_others_for_long(eyes: Eyes) -> None:
    page = signed_in(eyes)
    eyes.console.fault(delay=8, call="GetUsageLimits")
    page.reload()
    expect(page.locator(".urls li").first).to_be_visible()
    expect(page.locator(".quotas .loading")).to_be_visible()


def test_a_lost_token_is_asked_for_once_by_all_who_miss_it(eyes: Eyes) -> None:
    page = signed_in(eyes)
    page.context.clear_cookies(name="csrftoken")
    welcomes = sum(answer.request.method == "GET" and answer.url.endswith("/api/") for answer in eyes.answers)
    page.get_by_role("button", name="Refresh").click()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    assert eyes.statuses() == [200] * PANELS + [403] + [200] * PANELS
    assert (
        sum(answer.request.method == "GET" and answer.url.endswith("/api/") for answer in eyes.answers) == welcomes + 1
    )


def test_a_browser_that_keeps_nothing_can_be_used_until_the_page_is_left(eyes: Eyes) -> None:
    page = eyes.open()
    page.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no') }})")
    page.reload()
    sign_in(page)
    settled(page)
    assert username(page) == "demo"
    expire(eyes.console)
    page.get_by_role("link", name="Flavors").click()
    expect(page.get_by_text(ENDED)).to_have_count(1)


def test_a_tab_that_is_opened_beside_a_sign_in_leaves_the_new_session_alone(eyes: Eyes) -> None:
    first = eyes.open("/#/nowhere")
    expect(first.get_by_role("button", name="Sign in")).to_be_enabled()
    eyes.console.fault(delay=1.5, call="welcome")
    second = eyes.open_tab(first.context, "/#/flavors")
    expect(second.get_by_label("Username")).to_be_focused()
    sign_in(first)
    for tab in (first, second):
        settled(tab)
    expect(second.locator(".flavor-list tbody tr").first).to_be_visible()
    first.get_by_role("link", name="Overview", exact=True).click()
    expect(first.get_by_role("heading", name="Overview")).to_be_visible()
    settled(first)
    assert eyes.statuses() == [200] * (1 + PANELS)


@pytest.mark.parametrize("locks", ["navigator.locks", "undefined"])
def test_a_login_waits_for_a_welcome_of_the_same_tab(eyes: Eyes, locks: str) -> None:
    page = eyes.open()
    expect(page.get_by_role("button", name="Sign in")).to_be_enabled()
    region = page.get_by_label("Region").input_value()
    eyes.console.fault(delay=0.5, call="welcome")
    ended = page.evaluate(
        f"""async (region) => {{
          Object.defineProperty(navigator, "locks", {{ value: {locks} }});
          const main = document.querySelector("script[type=module]").src;
          const {{ callAction, fetchServiceInfo, login }} = await import(main.replace("main.js", "core/api.js"));
          const ended = [];
          const slow = fetchServiceInfo().then(() => ended.push("info"));
          await login({{ username: "demo", password: "console-demo", region }}).then(() => ended.push("login"));
          await Promise.all([slow, callAction("GetNews", {{}})]);
          return ended;
        }}""",
        region,
    )
    assert ended == ["info", "login"]


def test_an_account_that_is_kept_in_no_way_of_ours_is_nobody(eyes: Eyes) -> None:
    page = eyes.open()
    for account in ('{"id": "x"}', '{"id": "x", "username": 5, "region": {}}', "[]", "{"):
        page.evaluate("account => localStorage.setItem('cloudconsole.account', account)", account)
        page.reload()
        expect(page.get_by_label("Username")).to_be_focused()
