"""Page loading: content security policy, transfer size and caching."""

from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.helpers import ConsoleBrowser, open_signed_in, sign_in, wait_until_loaded

BUDGET = 150_000


def test_the_pages_comply_with_their_content_security_policy_and_request_only_the_console(
    browser: ConsoleBrowser,
) -> None:
    requested: list[str] = []
    page = browser.open()
    page.add_init_script(
        "window.violations = [];"
        "addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective))"
    )
    page.on("request", lambda request: requested.append(request.url))
    page.reload()
    sign_in(page)
    for name in ("Flavors", "Domain", "Overview"):
        page.get_by_role("link", name=name, exact=True).click()
        wait_until_loaded(page)
    assert "script-src 'self'" in (browser.responses[0].header_value("content-security-policy") or "")
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
    finished = network_events(page, "loadingFinished")
    page.goto(browser.console.address)
    sign_in(page)
    wait_until_loaded(page)
    assert len(finished) > 10
    # Transferred bytes, including headers.
    assert sum(each["encodedDataLength"] for each in finished) < BUDGET


def test_a_second_visit_loads_assets_from_the_cache(browser: ConsoleBrowser) -> None:
    page = browser.open_tab(open_signed_in(browser).context, "about:blank")
    responses = network_events(page, "responseReceived")
    page.goto(browser.console.address)
    wait_until_loaded(page)
    loaded = [each["response"]["url"] for each in responses if not each["response"]["fromDiskCache"]]
    assert f"{browser.console.address}/api/" in loaded
    assert [url for url in loaded if "/web/" in url] == []
