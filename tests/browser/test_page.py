"""The page as such: it loads whole, under its policy, in few bytes, and copies are kept."""

from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.looking import Eyes, settled, sign_in, signed_in

BUDGET = 150_000


def test_the_page_runs_under_its_policy(eyes: Eyes) -> None:
    page = eyes.open()
    page.add_init_script(
        "window.violations = [];"
        "addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective))"
    )
    page.reload()
    sign_in(page)
    settled(page)
    assert "script-src 'self'" in (eyes.answers[0].header_value("content-security-policy") or "")
    assert page.evaluate("violations") == []


def test_under_the_policy_no_text_becomes_markup(eyes: Eyes) -> None:
    page = eyes.open()
    with page.expect_console_message(lambda message: "TrustedHTML" in message.text):
        attempt = "try { document.body.innerHTML = '<b>bold</b>' } catch (problem) { problem.name }"
        assert page.evaluate(attempt) == "TypeError"
    expect(page.locator("b")).to_have_count(0)
    eyes.complaints.clear()


def test_all_that_is_loaded_is_the_consoles_own(eyes: Eyes) -> None:
    asked: list[str] = []
    page = eyes.open()
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    sign_in(page)
    settled(page)
    for name in ("Flavors", "Domain"):
        page.get_by_role("link", name=name).click()
        settled(page)
    assert [url for url in asked if not url.startswith(eyes.console.address + "/")] == []
    assert f"{eyes.console.address}/api/" in asked


def heard(page: Page, event: str) -> list[Any]:
    """What the browser tells of its network from now on, under one name."""
    told: list[Any] = []
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")

    def note(each: Any) -> None:
        told.append(each)

    session.on(f"Network.{event}", note)
    return told


def test_sign_in_and_overview_from_nothing_are_within_the_budget(eyes: Eyes) -> None:
    page = eyes.open("about:blank")
    finished = heard(page, "loadingFinished")
    page.goto(eyes.console.address)
    sign_in(page)
    settled(page)
    assert len(finished) > 10
    # Over the wire, headers and all.
    assert sum(each["encodedDataLength"] for each in finished) < BUDGET


def test_a_second_visit_loads_no_file_again(eyes: Eyes) -> None:
    page = eyes.open_tab(signed_in(eyes).context, "about:blank")
    answers = heard(page, "responseReceived")
    page.goto(eyes.console.address)
    settled(page)
    loaded = [each["response"]["url"] for each in answers if not each["response"]["fromDiskCache"]]
    assert f"{eyes.console.address}/api/" in loaded
    assert [url for url in loaded if "/web/" in url] == []


def test_the_page_itself_is_asked_after_and_need_not_come_again(eyes: Eyes) -> None:
    page = eyes.open()
    expect(page.locator("h1")).to_be_visible()
    assert eyes.answers[0].header_value("cache-control") == "no-cache"
    assert eyes.answers[0].header_value("etag")
