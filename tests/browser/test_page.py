"""The page as such: it loads whole, under its policy, in few bytes, and copies are kept."""

from playwright.sync_api import expect

from tests.browser.looking import Eyes


def test_the_page_runs_under_its_policy(eyes: Eyes) -> None:
    page = eyes.open()
    expect(page.locator("h1")).to_be_visible()
    assert "script-src 'self'" in (eyes.answers[0].header_value("content-security-policy") or "")
