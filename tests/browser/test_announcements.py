"""Announcements: the banner of pinned ones, languages, and what is new since the last visit."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from cloudconsole import Console
from tests.browser.cloud_data import HOSTILE, Cloud, admin, load_cloud, script_executed
from tests.browser.helpers import PHONE, ConsoleBrowser, assert_accessible, screenshot, sign_in, wait_until_loaded

ENGLISH = {"title": "Maintenance of hk-1 on 20 November", "url": "https://status.example.com/en"}
CHINESE = {"title": "11 月 20 日 hk-1 节点维护", "url": "https://status.example.com/zh"}


def news(number: int, day: int, **more: Any) -> Cloud:
    plain = {"title": f"News {number}", "url": f"https://news.example.com/{number}"}
    return {"id": number, "date": f"2026-10-{day:02}T12:00:00Z", **plain, **more}


def load_news(browser: ConsoleBrowser, *items: Cloud) -> None:
    def change(cloud: Cloud, _tenant: Cloud) -> None:
        cloud["news"] = list(items)

    load_cloud(browser.console, change)


BOTH = (news(1, 1, **ENGLISH, language="en", pinned=True), news(2, 1, **CHINESE, language="zh", pinned=True))


def banner(page: Page) -> Locator:
    return page.locator(".pinned-notice")


def announcement_requests(browser: ConsoleBrowser) -> int:
    return sum("GetAnnouncements" in (response.request.post_data or "") for response in browser.responses)


def titles(page: Page, within: str = ".news > .panel-body > .news-list") -> list[str]:
    return page.locator(f"{within} bdi").all_inner_texts()


@pytest.mark.parametrize(("locale", "item"), [("en-GB", ENGLISH), ("zh-CN", CHINESE)])
def test_a_pinned_item_in_the_readers_language_is_on_every_page(
    browser: ConsoleBrowser, locale: str, item: dict[str, str]
) -> None:
    load_news(browser, *BOTH, news(3, 2))
    page = browser.open("/#/domain", locale=locale)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(banner(page)).to_have_count(0)
    sign_in(page)
    expect(banner(page)).to_have_count(1)
    with page.expect_response(lambda response: "GetAnnouncements" in (response.request.post_data or "")):
        page.goto("/#/")
    wait_until_loaded(page)
    loads = announcement_requests(browser)
    for path in ("domain", "flavors", "nowhere"):
        page.goto(f"/#/{path}")
        expect(banner(page)).to_have_count(1)
        expect(banner(page).get_by_role("link", name=item["title"])).to_have_attribute("href", item["url"])
        wait_until_loaded(page)
    assert announcement_requests(browser) == loads
    page.set_viewport_size(PHONE)
    page.goto("/#/")
    wait_until_loaded(page)
    assert_accessible(page)
    screenshot(page, "overview-banner")
    page.reload()
    # Known from before, so that nothing moves.
    expect(banner(page)).to_have_count(1)


def test_an_item_that_exists_in_the_other_language_only_is_shown(browser: ConsoleBrowser) -> None:
    load_news(browser, BOTH[1])
    page = browser.open_signed_in()
    expect(banner(page).locator("[lang=zh]")).to_have_text(CHINESE["title"])
    expect(page.get_by_text("1 item in Chinese")).to_be_visible()
    assert titles(page) == [CHINESE["title"]]


def test_a_dismissed_item_stays_dismissed_until_it_changes(browser: ConsoleBrowser) -> None:
    load_news(browser, BOTH[0], news(5, 1, pinned=True))
    page = browser.open_signed_in()
    dismiss = page.get_by_role("button", name=f"Dismiss: {ENGLISH['title']}")
    dismiss.focus()
    page.keyboard.press("Enter")
    expect(banner(page).locator("bdi")).to_have_text(["News 5"])
    expect(page.get_by_role("button", name="Dismiss: News 5")).to_be_focused()
    other = browser.open_tab(page.context)
    expect(banner(other).locator("bdi")).to_have_text(["News 5"])
    page.keyboard.press("Enter")
    expect(banner(other)).to_have_count(0)
    expect(page.locator("main")).to_be_focused()
    page.reload()
    wait_until_loaded(page)
    expect(banner(page)).to_have_count(0)
    assert titles(page)[:2] == ["News 5", ENGLISH["title"]], "in the news they are still first"
    admin(browser.console, "news", "change", "1", "--title", "Maintenance is over")
    page.get_by_role("button", name="Refresh").click()
    expect(banner(page).locator("bdi")).to_have_text(["Maintenance is over"])
    admin(browser.console, "news", "change", "1", "--pinned", "false")
    page.get_by_role("button", name="Refresh").click()
    expect(banner(page)).to_have_count(0)


def test_the_banner_is_not_shown_after_sign_out(browser: ConsoleBrowser) -> None:
    load_news(browser, *BOTH)
    page = browser.open_signed_in()
    expect(banner(page)).to_have_count(1)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Password", exact=True)).to_be_visible()
    expect(banner(page)).to_have_count(0)


def test_pinned_items_come_first_and_other_languages_behind_a_link(browser: ConsoleBrowser) -> None:
    items = [news(n, n, **({} if n % 2 else {"language": "zh"})) for n in range(1, 9)]
    load_news(browser, *items, news(9, 9, language="en"), news(10, 1, pinned=True))
    page = browser.open_signed_in()
    assert titles(page) == [f"News {n}" for n in (10, 9, 7, 5, 3, 1)]
    expect(page.locator(".news").get_by_role("listitem")).to_have_count(5)
    expect(page.get_by_role("button", name="Show all 6")).to_be_visible()
    others = page.locator(".news-others")
    expect(others.locator("li").first).to_be_hidden()
    others.get_by_text("4 items in Chinese").click()
    assert titles(page, ".news-others") == [f"News {n}" for n in (8, 6, 4, 2)]
    assert_accessible(page)
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_role("status").get_by_text("Page refreshed.")).to_be_attached()
    expect(others.locator("li").first).to_be_visible()
    page.get_by_role("button", name="中文").click()
    wait_until_loaded(page)
    page.get_by_role("button", name="显示全部 9 条").click()
    assert titles(page) == [f"News {n}" for n in (10, 8, 7, 6, 5, 4, 3, 2, 1)]
    expect(page.get_by_text("另有 1 条英文公告")).to_be_visible()


def test_what_is_new_since_the_last_visit_is_marked(browser: ConsoleBrowser) -> None:
    load_news(browser, news(1, 1), news(2, 2))
    page = browser.open()
    page.clock.set_fixed_time("2026-11-15T12:00:00Z")
    sign_in(page)
    expect(page.locator(".news li")).to_have_count(2)
    expect(page.get_by_text("New", exact=True)).to_have_count(0)
    # Dated before the last visit, but published after it.
    load_news(browser, news(1, 1), news(2, 2), news(3, 1))
    page.clock.set_fixed_time("2026-11-15T13:00:00Z")
    marked = page.locator(".news li").filter(has=page.get_by_text("New", exact=True)).locator("bdi")
    for _ in range(2):
        page.reload()
        expect(marked).to_have_text(["News 3"])
        expect(page.locator(".news li")).to_have_count(3)
    page.clock.set_fixed_time("2026-11-15T13:30:00Z")
    page.reload()
    expect(page.locator(".news li")).to_have_count(3)
    expect(marked).to_have_count(0)


@pytest.mark.parametrize("is_listed", [False, True], ids=["not listed", "unknown to one server"])
def test_consoles_without_the_extension_show_their_news(
    browser: ConsoleBrowser, client: Console, *, is_listed: bool
) -> None:
    def respond(route: Route) -> None:
        if route.request.method == "GET" and not is_listed:
            response = route.fetch()
            body = response.json()
            del body["data"]["extensions"]
            route.fulfill(response=response, json=body)
        elif "GetAnnouncements" in (route.request.post_data or ""):
            route.fulfill(status=404, json={"code": 404, "message": "?", "data": {}, "error": "unknown_action"})
        else:
            route.fallback()

    page = browser.open("about:blank")
    page.route("**/api/", respond)
    page.goto("/")
    sign_in(page)
    wait_until_loaded(page)
    page.get_by_role("button", name="Show all").click()
    assert titles(page) == [item.title for item in client.news()]
    assert ("GetAnnouncements" in str([each.request.post_data for each in browser.responses])) is is_listed


def test_hostile_titles_are_text(browser: ConsoleBrowser) -> None:
    load_news(browser, *(news(n, n, title=title, pinned=True) for n, title in enumerate(HOSTILE, 1)))
    page = browser.open_signed_in(viewport=PHONE)
    assert banner(page).locator("bdi").all_inner_texts() == HOSTILE[:1:-1]
    expect(page.locator(".shell-banner img, .shell-banner b")).to_have_count(0)
    assert not script_executed(page)
    assert_accessible(page)
