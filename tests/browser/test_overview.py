"""The overview: every figure as the interface tells it, in words where it matters, each panel for itself."""

from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from cloudconsole import Console
from cloudconsole.testing import ConsoleServer
from tests.browser.changing import HOSTILE, Cloud, admin, change_cloud, ran_scripts
from tests.browser.looking import (
    LOOKS,
    PHONE,
    Eyes,
    faults_of,
    is_cut_off,
    look_well,
    settled,
    shoot,
    sign_in,
    signed_in,
)

COUNTED = {
    "instances": ("totalInstancesUsed", "maxTotalInstances"),
    "cores": ("totalCoresUsed", "maxTotalCores"),
    "ram": ("totalRAMUsed", "maxTotalRAMSize"),
    "volumes": ("totalVolumesUsed", "maxTotalVolumes"),
    "gigabytes": ("totalGigabytesUsed", "maxTotalVolumeGigabytes"),
    "snapshots": ("totalSnapshotsUsed", "maxTotalSnapshots"),
    "floating_ips": ("totalFloatingIpsUsed", "maxTotalFloatingIps"),
    "security_groups": ("totalSecurityGroupsUsed", "maxSecurityGroups"),
}
LIMITED = {
    "keypairs": "maxTotalKeypairs",
    "server_meta": "maxServerMeta",
    "image_meta": "maxImageMeta",
    "personality": "maxPersonality",
    "personality_size": "maxPersonalitySize",
    "security_group_rules": "maxSecurityGroupRules",
}
UNITS = {"ram": "ram", "gigabytes": "volume", "personality_size": "personality"}
HORIZONS = ["hour", "day", "month", "year"]
ACTIONS = ["GetUsageLimits", "GetConsumptionsEstimated", "GetNews", "GetUrlList"]
TITLES = {
    "GetUsageLimits": "Quotas",
    "GetConsumptionsEstimated": "Estimated costs",
    "GetNews": "News",
    "GetUrlList": "Common URLs",
}


def panel(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=title, exact=True)


def quota(page: Page, name: str) -> Locator:
    return page.locator(f"[data-quota={name}]")


def written(interface: Console, name: str, amount: int) -> str:
    """An amount of a quota as the page shows it."""
    units = interface.about().units
    assert units
    unit = getattr(units, UNITS[name]) if name in UNITS else ""
    if unit == "MB" and amount >= 1024 and amount % 256 == 0:
        return f"{Decimal(amount) / 1024:,f} GB"
    return f"{amount:,} {unit}".strip()


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_every_quota_is_as_the_interface_tells_it(eyes: Eyes, interface: Console, locale: str) -> None:
    usage = interface.call("GetUsageLimits")
    page = signed_in(eyes, locale=locale)
    for name, (used, limit) in COUNTED.items():
        figures = quota(page, name).locator("dd").all_inner_texts()
        amounts = [usage[used], usage[limit], usage[limit] - usage[used]]
        assert figures == [written(interface, name, amount) for amount in amounts], name
    for name, limit in LIMITED.items():
        assert quota(page, name).locator("dd").inner_text() == written(interface, name, usage[limit]), name
    assert {used for used, _ in COUNTED.values()} | {limit for _, limit in COUNTED.values()} | {
        *LIMITED.values()
    } == set(usage)


def test_a_quota_says_in_words_how_it_stands(eyes: Eyes, console: ConsoleServer, tmp_path: Path) -> None:
    def change(_cloud: Cloud, tenant: Cloud) -> None:
        quotas = {"instances": 5, "cores": 12, "ram": -1, "volumes": 3, "gigabytes": 1626, "snapshots": 0}
        tenant["quotas"].update(quotas, floating_ips=0, keypairs=-1, personality_size=0)
        tenant["resources"] = [each for each in tenant["resources"] if each["kind"] != "floating_ip"]

    change_cloud(console, tmp_path, change)
    page = signed_in(eyes)
    said = {name: quota(page, name).locator(".gauge-status").inner_text() for name in COUNTED}
    assert said == {
        "instances": "▲ Near limit, 80%",
        "cores": "✖ Over quota by 1",
        "ram": "∞ Unlimited",
        "volumes": "■ At limit, 100%",
        "gigabytes": "79%",
        "snapshots": "✖ Over quota by 2",
        "floating_ips": "None allowed",
        "security_groups": "25%",
    }
    assert page.locator(".quota-alerts li").all_inner_texts() == [
        "Over quota: Cores, Snapshots",
        "Near or at the limit: Cloud hosts, Cloud disks",
    ]
    expect(quota(page, "ram").get_by_role("meter")).to_have_count(0)
    expect(quota(page, "floating_ips").get_by_role("meter")).to_have_count(0)
    expect(page.get_by_role("meter", name="Cores")).to_have_attribute("aria-valuetext", "Over quota: 13 of 12 used")
    hosts = page.get_by_role("meter", name="Cloud hosts")
    expect(hosts).to_have_attribute("aria-valuetext", "4 of 5 used, 1 free")
    expect(hosts).to_have_attribute("aria-valuenow", "80")
    assert quota(page, "ram").locator("dd").all_inner_texts() == ["40.5 GB", "Unlimited", "Unlimited"]
    assert quota(page, "cores").locator("dd").all_inner_texts() == ["13", "12", "0"]
    assert quota(page, "keypairs").locator("dd").inner_text() == "Unlimited"
    assert quota(page, "personality_size").locator("dd").inner_text() == "0 B"
    assert faults_of(page) == ""
    shoot(page, "overview-states")


@pytest.mark.parametrize("account", ["demo", "other"])
def test_every_amount_and_total_is_exact_on_each_horizon(eyes: Eyes, console: ConsoleServer, account: str) -> None:
    page = signed_in(eyes, username=account)
    with Console(console.address, username=account, password=console.accounts[account]) as interface:
        costs = interface.consumption()
    for horizon in HORIZONS:
        page.get_by_role("radio", name=horizon.title()).check(force=True)
        for cost in costs:
            amount = page.locator(f"[data-type={cost.res_type}] .cost-amount")
            expect(amount).to_have_text(f"{Decimal(cost.raw[horizon]):,f} {costs.currency}")
        total = page.locator(".cost-total strong")
        expect(total).to_have_text(f"{getattr(costs.total, horizon):,f} {costs.currency}")
    expect(page.locator("[data-type]")).to_have_count(len(costs))


def test_tiny_prices_and_huge_sums_keep_all_their_digits(
    eyes: Eyes, console: ConsoleServer, interface: Console, tmp_path: Path
) -> None:
    def change(cloud: Cloud, _tenant: Cloud) -> None:
        for price in cloud["prices"]:
            price["price"] = {"volume": "0.000000001", "image": "0.123456789"}.get(price["kind"], "987654321.987654321")

    change_cloud(console, tmp_path, change)
    page = signed_in(eyes, "/#/?period=year")
    costs = interface.consumption()
    assert costs.total.year > 10**14
    total = f"{costs.total.year:,f} {costs.currency}"
    expect(page.locator(".cost-total strong")).to_have_text(total)
    page.set_viewport_size(PHONE)
    assert not is_cut_off(page)
    shoot(page, "overview-huge")


def test_the_horizon_is_chosen_by_keyboard_and_kept(eyes: Eyes, interface: Console) -> None:
    page = signed_in(eyes)
    expect(page.get_by_role("radio", name="Month")).to_be_checked()
    page.get_by_role("radio", name="Month").focus()
    page.keyboard.press("ArrowRight")
    year = f"{interface.consumption().total.year:,f}"
    expect(page.locator(".cost-total .amount")).to_have_text(year)
    page.reload()
    expect(page.get_by_role("radio", name="Year")).to_be_checked()
    expect(page.locator(".cost-total .amount")).to_have_text(year)


def test_all_costs_as_a_table_and_the_rule_behind_are_one_click_away(eyes: Eyes, interface: Console) -> None:
    page = signed_in(eyes)
    page.get_by_text("All costs as a table").click()
    rows = [row.locator("th, td").all_inner_texts() for row in page.locator(".cost-table tr").all()]
    costs = interface.consumption()
    amounts = [[f"{getattr(cost, horizon):,f}" for horizon in HORIZONS] for cost in (*costs, costs.total)]
    assert rows[0] == ["Resource", "Hour", "Day", "Month", "Year"]
    assert [row[1:] for row in rows[1:]] == amounts
    assert rows[-1][0] == "Total"
    rule = page.locator("details.cost-method")
    about = interface.about()
    expect(rule.locator("p").first).to_be_hidden()
    rule.locator("summary").click()
    for told in (about.currency, about.time_zone, f"Month = day × {about.month_days}", "Day = hour × 24"):
        expect(rule).to_contain_text(str(told))


def test_news_is_all_there_newest_first_with_the_zone(eyes: Eyes, interface: Console) -> None:
    page = signed_in(eyes)
    news, items = interface.call("GetNews"), panel(page, "News").get_by_role("listitem")
    expect(items).to_have_count(5)
    page.get_by_role("button", name=f"Show all {len(news)}").click()
    expect(items).to_have_count(len(news))
    shown = [
        (
            (item.locator("time").get_attribute("datetime") or "").replace("T", " "),
            item.get_by_role("link").get_attribute("href"),
            item.get_by_role("link").inner_text(),
        )
        for item in items.all()
    ]
    assert shown == [(each["date"], each["url"], each["title"]) for each in news]
    expect(items.first.locator("time")).to_have_text("12 Oct 2026, 12:00")
    expect(panel(page, "News")).to_contain_text(str(interface.about().time_zone))


@pytest.mark.parametrize(("locale", "words"), [("en-GB", ("Link", "Directory")), ("zh-CN", ("链接", "目录"))])
def test_urls_are_all_there_with_their_kind_in_words(
    eyes: Eyes, interface: Console, locale: str, words: tuple[str, str]
) -> None:
    page = signed_in(eyes, locale=locale)
    kinds = dict(zip(("URL链接", "URL目录"), words, strict=True))
    shown = {
        row.get_attribute("data-url"): (row.locator(".url-type").inner_text(), row.get_by_role("link").inner_text())
        for row in page.locator("[data-url]").all()
    }
    assert shown == {each["id"]: (kinds[each["type"]], each["url"]) for each in interface.call("GetUrlList")}


def test_a_url_is_copied_and_that_is_said(eyes: Eyes, interface: Console) -> None:
    page = signed_in(eyes, permissions=["clipboard-read", "clipboard-write"])
    url = interface.urls()[0].url
    page.get_by_role("button", name=f"Copy {url}").click()
    expect(page.get_by_role("status").get_by_text(f"Copied: {url}")).to_be_attached()
    expect(page.get_by_role("button", name=f"Copied {url}")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == url


def test_without_a_clipboard_the_older_way_copies_and_else_the_text_is_selected(eyes: Eyes, interface: Console) -> None:
    page = signed_in(eyes)
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.evaluate("document.addEventListener('copy', () => { window.copied = String(document.activeElement.value); })")
    url = interface.urls()[0].url
    page.get_by_role("button", name=f"Copy {url}").click()
    expect(page.get_by_role("button", name=f"Copied {url}")).to_be_focused()
    assert page.evaluate("window.copied") == url
    page.evaluate("document.execCommand = () => false")
    page.get_by_role("button", name=f"Copied {url}").click()
    expect(page.get_by_text("Selected. Press Ctrl+C to copy.").first).to_be_visible()
    assert page.evaluate("String(getSelection())") == url


def test_an_empty_account_is_told_so_in_plain_words(eyes: Eyes, console: ConsoleServer, tmp_path: Path) -> None:
    def change(cloud: Cloud, tenant: Cloud) -> None:
        cloud["news"], cloud["urls"], tenant["urls"], tenant["resources"] = [], [], [], []

    change_cloud(console, tmp_path, change)
    page = signed_in(eyes)
    for words in ("No costs this hour.", "No news.", "No URLs."):
        expect(page.get_by_text(words)).to_be_visible()
    assert quota(page, "cores").locator("dd").all_inner_texts() == ["0", "64", "64"]
    expect(page.locator("details.cost-method summary")).to_be_visible()
    assert faults_of(page) == ""


def test_hostile_strings_are_text(eyes: Eyes, console: ConsoleServer, interface: Console, tmp_path: Path) -> None:
    def change(cloud: Cloud, _tenant: Cloud) -> None:
        news = [{"id": n, "date": f"2026-10-0{n}T00:00:00Z", "title": title} for n, title in enumerate(HOSTILE, 1)]
        cloud["news"] = [{**item, "url": f'https://example.com/{"x" * 300}?a="><b>{n}'} for n, item in enumerate(news)]
        cloud["urls"] = [{"id": "url-h0st1le0", "type": "link", "url": 'https://example.com/"><img/src=x/onerror=x>'}]

    change_cloud(console, tmp_path, change)
    page = signed_in(eyes, viewport=PHONE)
    titles = panel(page, "News").get_by_role("link").all_inner_texts()
    assert titles == [each.title for each in interface.news()]
    expect(page.locator("main img, main b")).to_have_count(0)
    assert not ran_scripts(page)
    assert not is_cut_off(page)
    assert faults_of(page) == ""


def test_addresses_that_are_not_of_the_web_are_no_links(eyes: Eyes) -> None:
    """The console lets none be written; should one come all the same, it is text."""
    addresses = [
        "javascript:document.body.dataset.ran=1",
        " JavaScript:1",
        "data:text/html,x",
        "//example.com/",
        "/docs/",
    ]
    told = {
        "GetNews": [{"date": "2026-10-12 12:00:00", "title": each, "url": each} for each in addresses],
        "GetUrlList": [{"id": str(n), "type": "URL链接", "url": each} for n, each in enumerate(addresses)],
    }
    page = eyes.open()

    def answer(route: Route) -> None:
        action = (route.request.post_data_json or {}).get("action") if route.request.method == "POST" else None
        if action in told:
            route.fulfill(json={"code": 200, "message": "", "data": told[action]})
        else:
            route.fallback()

    page.route("**/api/", answer)
    sign_in(page)
    settled(page)
    assert panel(page, "News").locator("li bdi").all_text_contents() == addresses
    assert page.locator(".url-text").all_text_contents() == addresses
    expect(page.locator(".overview a")).to_have_count(0)


def test_one_failing_action_leaves_the_other_panels_working(eyes: Eyes, console: ConsoleServer) -> None:
    page = signed_in(eyes, "/#/nowhere")
    for action, failing in TITLES.items():
        console.fault("internal_error", call=action)
        page.goto("/#/nowhere")
        page.goto("/#/")
        failed = panel(page, failing)
        expect(failed.get_by_role("alert").get_by_text("If you contact support, quote")).to_be_visible()
        for title in set(TITLES.values()) - {failing}:
            expect(panel(page, title).get_by_role("listitem").first).to_be_visible()
        expect(page.get_by_role("button", name="Try again")).to_have_count(1)
        asked = len(eyes.statuses())
        failed.get_by_role("button", name="Try again").click()
        expect(failed.get_by_role("listitem").first).to_be_visible()
        expect(failed.get_by_role("heading", level=2)).to_be_focused()
        assert len(eyes.statuses()) == asked + 1


@pytest.mark.parametrize("error", ["too_many_requests", "unavailable"])
def test_a_panel_waits_as_long_as_it_is_asked_to(eyes: Eyes, console: ConsoleServer, error: str) -> None:
    console.fault(error, call="GetNews", retry_after=2)
    page = signed_in(eyes)
    retry = panel(page, "News").get_by_role("button", name="Try again")
    expect(retry).to_be_disabled()
    expect(panel(page, "News").get_by_text("You can try again in")).to_be_visible()
    expect(panel(page, "News").get_by_role("alert")).not_to_contain_text("try again in")
    expect(retry).to_be_enabled()
    assert len(eyes.statuses()) == len(ACTIONS), "nothing is asked again by itself"
    retry.click()
    expect(panel(page, "News").get_by_role("listitem")).to_have_count(5)


def test_an_answer_that_makes_no_sense_is_told_in_words(eyes: Eyes, console: ConsoleServer) -> None:
    console.fault(status=502, call="GetUrlList")
    page = signed_in(eyes)
    expect(panel(page, "Common URLs").get_by_role("alert")).to_contain_text("unexpected response (502)")
    expect(panel(page, "News").get_by_role("listitem")).to_have_count(5)


UP_TO_DATE = "Overview refreshed."
AT_ANOTHER_TIME = (
    "void (Date = class extends Date { constructor(...given) { super(...(given.length ? given : [0])) } })"
)


def test_only_refreshing_asks_again(eyes: Eyes, console: ConsoleServer) -> None:
    page = signed_in(eyes)
    before = page.locator(".updated").inner_text()
    page.evaluate(AT_ANOTHER_TIME)
    admin(console, "quota", "change", "demo", "--cores", "77")
    assert eyes.statuses() == [200] * len(ACTIONS)
    page.get_by_role("button", name="Refresh").click()
    expect(quota(page, "cores").locator("dd").nth(1)).to_have_text("77")
    settled(page)
    assert eyes.statuses() == [200] * 2 * len(ACTIONS)
    expect(page.get_by_role("button", name="Refresh")).to_be_focused()
    expect(page.get_by_role("status").get_by_text(UP_TO_DATE)).to_be_attached()
    expect(page.locator(".updated")).not_to_have_text(before)


def test_a_refresh_does_not_cut_short_the_wait_that_was_asked_for(eyes: Eyes, console: ConsoleServer) -> None:
    console.fault("too_many_requests", call="GetNews", retry_after=60)
    page = signed_in(eyes)
    before = page.locator(".updated").inner_text()
    page.evaluate(AT_ANOTHER_TIME)
    page.get_by_role("radio", name="Day").check(force=True)
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_role("button", name="Refresh")).to_be_enabled()
    assert sorted(eyes.statuses()) == [200] * 6 + [429]
    expect(page.get_by_role("radio", name="Day")).to_be_checked()
    # Nor is it said to be up to date, as it is not.
    page.wait_for_timeout(300)
    expect(page.get_by_text(UP_TO_DATE)).to_have_count(0)
    expect(page.locator(".updated")).to_have_text(before)


def test_another_language_shows_the_same_figures(eyes: Eyes) -> None:
    page = signed_in(eyes)
    figures = page.locator("main dd, main .amount, main .url-text")
    before = figures.all_inner_texts()
    page.get_by_role("button", name="中文").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("概览")
    settled(page)
    assert figures.all_inner_texts() == before
    assert len(before) > len(COUNTED) * 3


@pytest.mark.parametrize(("locale", "theme", "size"), LOOKS)
def test_it_is_fit_to_be_read_by_all(eyes: Eyes, locale: str, theme: str, size: str) -> None:
    page = signed_in(eyes, locale=locale, color_scheme=theme)
    page.locator("details.cost-table summary").click()
    page.locator("details.cost-method summary").click()
    look_well(page, f"overview-{locale[:2]}-{theme}", size)
