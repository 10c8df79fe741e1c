"""Signing in: who is right comes in, whoever is not learns why where the eye is, and nothing is sent twice."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from cloudconsole import Console, InvalidCredentials
from cloudconsole.testing import ConsoleServer, running_console
from tests.browser.conftest import PASSWORDS
from tests.browser.looking import Eyes, settled, sign_in, signed_in, tab_to

LOGIN = "/auth/login/"
ELSEWHERE = ("https://north.example.com/v3", "https://south.example.com/v3")


def alert(page: Page) -> Any:
    """Where the form says what went wrong as a whole, just above its button."""
    return page.locator("form > [role=alert]").last


def test_signing_in_leads_to_the_overview_and_its_heading(eyes: Eyes) -> None:
    page = signed_in(eyes)
    heading = page.get_by_role("heading", level=1, name="Overview")
    expect(heading).to_be_focused()
    assert eyes.statuses(LOGIN) == [200]


def test_signing_in_leads_to_the_page_one_came_to(eyes: Eyes) -> None:
    page = signed_in(eyes, "/#/domain/206813")
    expect(page.get_by_role("heading", level=1, name="Domain")).to_be_focused()
    assert page.url.endswith("/#/domain/206813")


def test_whoever_is_wrong_is_told_alike_and_may_try_again(eyes: Eyes) -> None:
    page = eyes.open("/#/nowhere")
    for username in ("nobody", "demo"):
        sign_in(page, username, "wrong")
        expect(alert(page)).to_have_text("The username or password is wrong, or the account is disabled.")
        expect(page.get_by_label("Username")).to_have_value(username)
        expect(page.get_by_label("Password", exact=True)).to_have_value("")
        expect(page.get_by_label("Password", exact=True)).to_be_focused()
    page.keyboard.type(PASSWORDS["demo"])
    page.keyboard.press("Enter")
    settled(page)
    assert eyes.statuses(LOGIN) == [401, 401, 200]


def test_what_is_missing_is_told_at_its_field_and_nothing_is_sent(eyes: Eyes) -> None:
    page = eyes.open()
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
    assert eyes.statuses(LOGIN) == []


def test_a_region_that_is_refused_is_told_at_its_field(eyes: Eyes) -> None:
    page = eyes.open()
    eyes.console.fault("unknown_region", call="login")
    sign_in(page)
    expect(page.get_by_label("Region")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Region")).to_be_focused()


def test_whoever_is_throttled_sees_the_wait_pass_and_sends_nothing_meanwhile(eyes: Eyes) -> None:
    page = eyes.open()
    eyes.console.fault("too_many_requests", call="login", retry_after=2)
    sign_in(page)
    button = page.get_by_role("button", name="Sign in")
    expect(alert(page)).not_to_be_empty()
    expect(page.get_by_text("You can try again in 2 s.")).to_be_visible()
    expect(button).to_be_disabled()
    page.keyboard.press("Enter")
    expect(page.get_by_text("You can try again in 1 s.")).to_be_visible()
    expect(button).to_be_enabled()
    assert eyes.statuses(LOGIN) == [429]
    button.click()
    settled(page)


def test_ten_wrong_passwords_are_followed_by_a_wait(eyes: Eyes, console: ConsoleServer) -> None:
    page = eyes.open()
    for _ in range(10):
        with pytest.raises(InvalidCredentials), Console(console.address, username="demo", password="wrong") as caller:
            caller.login()
    sign_in(page)
    expect(page.get_by_text("You can try again in")).to_be_visible()
    assert eyes.statuses(LOGIN) == [429]


def test_trouble_is_told_in_words_and_what_was_typed_stays(eyes: Eyes) -> None:
    page = eyes.open("/#/nowhere")
    button = page.get_by_role("button", name="Sign in")
    expect(button).to_be_enabled()
    page.get_by_label("Username").fill("demo")
    page.get_by_label("Password", exact=True).fill(PASSWORDS["demo"])
    faults: dict[str, dict[str, Any]] = {
        "quote": {"error": "internal_error"},
        "cannot answer right now": {"error": "unavailable"},
        "time": {"error": "upstream_timeout"},
        "unexpected response (502)": {"status": 502},
        "unexpected response (429)": {"status": 429, "retry_after": 1},
    }
    for words, fault in faults.items():
        eyes.console.fault(**fault, call="login")
        button.click()
        expect(alert(page)).to_contain_text(words)
    expect(button).to_be_enabled()
    page.context.set_offline(True)
    button.click()
    expect(alert(page)).to_have_text("The console cannot be reached. Check your connection.")
    page.context.set_offline(False)
    page.get_by_role("button", name="Sign in").click()
    settled(page)


def test_without_a_welcome_there_is_a_retry_where_the_region_would_be(eyes: Eyes) -> None:
    eyes.console.fault("internal_error", call="welcome", times=2)
    page = eyes.open()
    again = page.get_by_role("button", name="Try again")
    expect(page.get_by_label("Region")).to_have_count(0)
    expect(page.get_by_role("button", name="Sign in")).to_be_disabled()
    again.click()
    expect(again).to_be_focused()
    again.click()
    expect(page.get_by_label("Region")).to_be_focused()
    sign_in(page)
    settled(page)


def test_a_browser_without_cookies_is_told_so(eyes: Eyes) -> None:
    page = eyes.open()
    page.add_init_script("Object.defineProperty(Document.prototype, 'cookie', {get: () => ''})")
    page.reload()
    sign_in(page)
    expect(alert(page)).to_contain_text("cookies")
    assert eyes.statuses(LOGIN) == [403]


def test_it_is_sent_once_however_often_one_presses(eyes: Eyes) -> None:
    page = eyes.open()
    eyes.console.fault(delay=0.5, call="login")
    page.get_by_role("button", name="Show password").click()
    sign_in(page)
    button = page.get_by_role("button", name="Signing in…")
    expect(button).to_have_attribute("aria-disabled", "true")
    # What a password manager is asked to keep is a password.
    expect(page.get_by_label("Password", exact=True)).to_have_attribute("type", "password")
    page.get_by_label("Password", exact=True).press("Enter")
    button.click(force=True)
    settled(page)
    assert eyes.statuses(LOGIN) == [200]


def test_a_password_is_seen_only_while_one_wants_to(eyes: Eyes) -> None:
    page = eyes.open()
    password = page.get_by_label("Password", exact=True)
    password.fill("secret")
    page.get_by_role("button", name="Show password").click()
    expect(password).to_have_attribute("type", "text")
    page.get_by_role("button", name="Hide password").click()
    expect(password).to_have_attribute("type", "password")


def test_password_managers_know_the_form(eyes: Eyes) -> None:
    form = eyes.open().locator("form")
    expect(form).to_have_attribute("method", "post")
    expect(form).to_have_attribute("action", LOGIN)
    expect(form.locator("[name=username]")).to_have_attribute("autocomplete", "username")
    expect(form.locator("[name=password]")).to_have_attribute("autocomplete", "current-password")
    expect(form.locator("[name=password]")).to_have_attribute("type", "password")


def test_the_keyboard_alone_signs_in_and_out(eyes: Eyes) -> None:
    page = eyes.open()
    expect(page.get_by_role("button", name="Sign in")).to_be_enabled()
    expect(page.get_by_label("Username")).to_be_focused()
    page.keyboard.type("demo")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORDS["demo"])
    page.keyboard.press("Enter")
    settled(page)
    tab_to(page, "Sign out", backwards=True)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Username")).to_be_focused()
    assert eyes.statuses("/auth/logout/") == [200]


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[ConsoleServer]:
    """A console with more than one identity endpoint, that answers a login with a redirection."""
    with running_console(flags=["--login-redirect", "--identity", ",".join(ELSEWHERE)]) as server:
        yield server


@pytest.fixture
def eyes_elsewhere(chromium: Browser, elsewhere: ConsoleServer) -> Iterator[Eyes]:
    elsewhere.reset()
    looking = Eyes(chromium, elsewhere)
    yield looking
    looking.close()


def test_of_several_regions_one_is_chosen_and_remembered(eyes_elsewhere: Eyes) -> None:
    page = eyes_elsewhere.open()
    sign_in(page)
    region = page.get_by_label("Region")
    expect(region).to_have_accessible_description("Choose a region.")
    assert region.locator("option").all_inner_texts() == ["Choose…", *ELSEWHERE]
    region.select_option(ELSEWHERE[1])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("south.example.com/v3")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(region).to_have_value(ELSEWHERE[1])


def test_a_login_that_is_answered_by_a_redirection_is_one(eyes_elsewhere: Eyes) -> None:
    page = eyes_elsewhere.open("/#/nowhere")
    page.get_by_label("Region").select_option(ELSEWHERE[0])

    answered: list[int] = []

    def lead_astray(route: Route) -> None:
        answer = route.fetch(max_redirects=0)
        answered.append(answer.status)
        route.fulfill(response=answer, headers={**answer.headers, "location": ELSEWHERE[0]})

    # Where it leads to is of no use: whoever went there would be stopped by the policy.
    page.route(f"**{LOGIN}", lead_astray)
    sign_in(page)
    settled(page)
    assert answered == [302]
