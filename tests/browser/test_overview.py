"""The overview page: all numbers match the API, and each panel loads and fails independently."""

import time
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from cloudconsole import Console
from tests.browser.cloud_data import HOSTILE, Cloud, admin, load_cloud, script_executed
from tests.browser.helpers import (
    PHONE,
    ConsoleBrowser,
    HeldResponse,
    assert_accessible,
    screenshot,
    serve_modules,
    sign_in,
    stop_clock,
    wait_until_loaded,
)

GAUGES = {
    "instances": ("totalInstancesUsed", "maxTotalInstances"),
    "cores": ("totalCoresUsed", "maxTotalCores"),
    "ram": ("totalRAMUsed", "maxTotalRAMSize"),
    "volumes": ("totalVolumesUsed", "maxTotalVolumes"),
    "gigabytes": ("totalGigabytesUsed", "maxTotalVolumeGigabytes"),
    "snapshots": ("totalSnapshotsUsed", "maxTotalSnapshots"),
    "floating_ips": ("totalFloatingIpsUsed", "maxTotalFloatingIps"),
    "security_groups": ("totalSecurityGroupsUsed", "maxSecurityGroups"),
}
LIMITS = {
    "keypairs": "maxTotalKeypairs",
    "server_meta": "maxServerMeta",
    "image_meta": "maxImageMeta",
    "personality": "maxPersonality",
    "personality_size": "maxPersonalitySize",
    "security_group_rules": "maxSecurityGroupRules",
}
UNITS = {"ram": "ram", "gigabytes": "volume", "personality_size": "personality"}
TITLES = {
    "GetUsageLimits": "Quotas",
    "GetForecast": "Costs",
    "GetConsumptionsEstimated": "Costs",
    "GetAnnouncements": "News",
    "GetUrlList": "Common URLs",
}


CONTENT = "dd, li"


def panel(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=title, exact=True)


def quota(page: Page, name: str) -> Locator:
    return page.locator(f"[data-quota={name}]")


def formatted(client: Console, name: str, amount: int) -> str:
    """A quota amount in the format of the page."""
    units = client.about().units
    assert units
    unit = getattr(units, UNITS[name]) if name in UNITS else ""
    if unit == "MB" and amount >= 1024 and amount % 256 == 0:
        return f"{Decimal(amount) / 1024:,f}\xa0GB"
    return f"{amount:,}\xa0{unit}".strip()


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_every_quota_matches_the_api(browser: ConsoleBrowser, client: Console, locale: str) -> None:
    usage = client.call("GetUsageLimits")
    page = browser.open_signed_in(locale=locale)
    for name, (used, limit) in GAUGES.items():
        numbers = quota(page, name).locator("dd").all_inner_texts()
        amounts = [usage[used], usage[limit], usage[limit] - usage[used]]
        assert numbers == [formatted(client, name, amount) for amount in amounts], name
    for name, limit in LIMITS.items():
        assert quota(page, name).locator("dd").inner_text() == formatted(client, name, usage[limit]), name
    assert {used for used, _ in GAUGES.values()} | {limit for _, limit in GAUGES.values()} | {*LIMITS.values()} == set(
        usage
    )


@pytest.mark.parametrize(
    ("used", "limit", "percent"),
    [(1, 6, "16.7%"), (799_949, 10**6, "79.9%"), (1599, 2000, "79.9%"), (1999, 2000, "99.9%"), (2, 2, "100.0%")],
)
def test_percentages_are_rounded_but_not_up_to_a_limit(
    browser: ConsoleBrowser, used: int, limit: int, percent: str
) -> None:
    page = browser.open(bypass_csp=True)
    serve_modules(page)
    text = page.evaluate(
        """async ([used, limit]) => {
          return (await import("/modules/pages/overview/gauge.js")).percentText(BigInt(used), BigInt(limit));
        }""",
        [used, limit],
    )
    assert text == percent


def test_a_slow_response_is_announced_as_slow(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/nowhere")
    stop_clock(page)
    held = HeldResponse(page, "GetUsageLimits")
    page.goto("/#/")
    expect(panel(page, "Quotas").get_by_text("Loading…")).to_be_visible()
    page.clock.run_for(10_000)
    expect(panel(page, "Quotas").get_by_text("Still loading. The connection may be slow.")).to_be_visible()
    held.release()
    expect(panel(page, "Quotas").get_by_text("Still loading")).to_have_count(0)


def test_the_status_of_a_quota_is_shown_in_words(browser: ConsoleBrowser) -> None:
    def change(_cloud: Cloud, tenant: Cloud) -> None:
        quotas = {"instances": 5, "cores": 12, "ram": -1, "volumes": 3, "gigabytes": 1626, "snapshots": 0}
        tenant["quotas"].update(quotas, floating_ips=0, keypairs=-1, personality_size=0)
        tenant["resources"] = [each for each in tenant["resources"] if each["kind"] != "floating_ip"]

    load_cloud(browser.console, change)
    page = browser.open_signed_in()
    statuses = {name: quota(page, name).locator(".gauge-status").inner_text() for name in GAUGES}
    assert statuses == {
        "instances": "▲ Nearly used up, 80.0%",
        "cores": "✖ Over quota by 1",
        "ram": "∞ Unlimited",
        "volumes": "■ Used up, 100.0%",
        "gigabytes": "79.9%",
        "snapshots": "✖ Over quota by 2",
        "floating_ips": "None allowed",
        "security_groups": "25.0%",
    }
    assert page.locator(".quota-alerts li").all_inner_texts() == [
        "2 of 8 quotas are exceeded: snapshots (2 of 0), cores (13 of 12)",
        "1 of 8 quotas is used up: volumes",
        "1 of 8 quotas is nearly used up: instances (80.0%)",
    ]
    shown = [gauge.get_attribute("data-quota") for gauge in page.locator(".gauge").all()]
    assert shown == [
        *("snapshots", "cores", "volumes", "instances"),
        *("ram", "gigabytes", "floating_ips", "security_groups"),
    ]
    expect(quota(page, "ram").get_by_role("meter")).to_have_count(0)
    expect(quota(page, "floating_ips").get_by_role("meter")).to_have_count(0)
    expect(page.get_by_role("meter", name="Cores")).to_have_attribute("aria-valuetext", "Over quota: 13 of 12 used")
    hosts = page.get_by_role("meter", name="Instances")
    expect(hosts).to_have_attribute("aria-valuetext", "4 of 5 used, 1 free")
    expect(hosts).to_have_attribute("aria-valuenow", "80")
    assert quota(page, "ram").locator("dd").all_inner_texts() == ["40.5\xa0GB", "Unlimited", "Unlimited"]
    assert quota(page, "cores").locator("dd").all_inner_texts() == ["13", "12", "0"]
    assert quota(page, "keypairs").locator("dd").inner_text() == "Unlimited"
    assert quota(page, "personality_size").locator("dd").inner_text() == "0\xa0B"
    assert_accessible(page)
    screenshot(page, "overview-states")


@pytest.mark.parametrize(
    ("locale", "text"),
    [
        ("en-GB", "No quota is near its limit. Closest: volume and snapshot storage, 65.0% used, 700 GB free."),
        ("zh-CN", "没有即将用尽的配额。 用量最高：云硬盘与快照容量，已用 65.0%，剩余 700 GB。"),
    ],
)
def test_the_most_used_quota_is_named(browser: ConsoleBrowser, locale: str, text: str) -> None:
    page = browser.open_signed_in(locale=locale)
    expect(page.locator(".quota-alerts")).to_have_text(text)
    # Beside its name, however long that is.
    status, track = (quota(page, "gigabytes").locator(each).bounding_box() for each in (".gauge-status", ".track"))
    assert status
    assert track
    assert round(status["x"] + status["width"]) == round(track["x"] + track["width"])


def test_no_quota_is_named_if_none_is_used(browser: ConsoleBrowser) -> None:
    load_cloud(browser.console, lambda _cloud, tenant: tenant.update(resources=[]))
    page = browser.open_signed_in()
    expect(page.locator(".quota-alerts")).to_have_text("No quota is near its limit.")


def test_costs_show_this_month_and_its_forecast(browser: ConsoleBrowser, client: Console) -> None:
    page = browser.open_signed_in()
    forecast = client.forecast()
    cent = Decimal("0.01")
    assert forecast.so_far
    assert forecast.total
    expected = [forecast.so_far, forecast.total]
    shown = panel(page, "Costs").locator(".cost-figures dd").all_inner_texts()
    assert shown == [f"{amount.quantize(cent, ROUND_HALF_UP):,f} CNY" for amount in expected]
    expect(panel(page, "Costs").locator("dt").first).to_have_text("November 2026 so far")
    kinds = sorted(client.consumption(), key=lambda each: -each.month)
    assert panel(page, "Costs").locator(".cost-kinds dd").all_inner_texts() == [
        f"{kind.month.quantize(cent, ROUND_HALF_UP):,f}" for kind in kinds
    ]
    expect(panel(page, "Costs").locator(".cost-kinds dt")).to_have_text(["Instances", "Volumes", "Images"])
    page.get_by_role("link", name="View costs").click()
    expect(page.get_by_role("heading", level=1, name="Costs")).to_be_focused()
    page.go_back()
    page.get_by_role("link", name="Costs by resource").click()
    expect(page.get_by_label("By resource")).to_be_checked()


LINES = """each => {
  const range = document.createRange();
  range.selectNodeContents(each);
  const box = each.closest(".card").getBoundingClientRect();
  const lines = [...range.getClientRects()];
  return [lines.length, lines.every((line) => line.left >= box.left && line.right <= box.right)];
}"""


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_no_quota_is_broken_within_a_number(browser: ConsoleBrowser, width: int, locale: str) -> None:
    def change(_cloud: Cloud, tenant: Cloud) -> None:
        tenant["quotas"] = dict.fromkeys(tenant["quotas"], 999_999_999)

    load_cloud(browser.console, change)
    page = browser.open_signed_in(viewport={"width": width, "height": 900}, locale=locale)
    numbers = page.locator(".quotas dd").all()
    assert len(numbers) == 3 * len(GAUGES) + len(LIMITS)
    for each in numbers:
        assert each.evaluate(LINES) == [1, True], each.inner_text()
    assert_accessible(page)


def test_all_news_is_shown_newest_first(browser: ConsoleBrowser, client: Console) -> None:
    page = browser.open_signed_in()
    news, items = client.call("GetNews"), panel(page, "News").get_by_role("listitem")
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
    expect(items.first.locator("time")).to_have_text("12 Oct 2026")


@pytest.mark.parametrize(("locale", "labels"), [("en-GB", ("Link", "Directory")), ("zh-CN", ("链接", "目录"))])
def test_all_urls_are_shown_with_their_type(
    browser: ConsoleBrowser, client: Console, locale: str, labels: tuple[str, str]
) -> None:
    page = browser.open_signed_in(locale=locale)
    types = dict(zip(("URL链接", "URL目录"), labels, strict=True))
    shown = {
        row.get_attribute("data-url"): (row.locator(".url-type").inner_text(), row.get_by_role("link").inner_text())
        for row in page.locator("[data-url]").all()
    }
    assert shown == {each["id"]: (types[each["type"]], each["url"]) for each in client.call("GetUrlList")}


def test_copying_falls_back_to_exec_command_and_then_to_selection(browser: ConsoleBrowser, client: Console) -> None:
    page = browser.open_signed_in()
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.evaluate("document.addEventListener('copy', () => { window.copied = String(document.activeElement.value); })")
    url = client.urls()[0].url
    page.get_by_role("button", name=f"Copy {url}").click()
    expect(page.get_by_role("button", name=f"Copied {url}")).to_be_focused()
    assert page.evaluate("window.copied") == url
    page.evaluate("document.execCommand = () => false")
    page.get_by_role("button", name=f"Copied {url}").click()
    expect(page.get_by_text("Selected. Press Ctrl+C to copy.").first).to_be_visible()
    assert page.evaluate("String(getSelection())") == url


def test_empty_panels_say_so(browser: ConsoleBrowser) -> None:
    def change(cloud: Cloud, tenant: Cloud) -> None:
        cloud["news"], cloud["urls"], tenant["urls"], tenant["resources"] = [], [], [], []

    load_cloud(browser.console, change)
    page = browser.open_signed_in()
    for text in ("No news.", "No URLs."):
        expect(page.get_by_text(text)).to_be_visible()
    assert quota(page, "cores").locator("dd").all_inner_texts() == ["0", "64", "64"]
    assert_accessible(page)


def test_hostile_strings_are_shown_as_text(browser: ConsoleBrowser, client: Console) -> None:
    def change(cloud: Cloud, _tenant: Cloud) -> None:
        news = [{"id": n, "date": f"2026-10-0{n}T00:00:00Z", "title": title} for n, title in enumerate(HOSTILE, 1)]
        cloud["news"] = [{**item, "url": f'https://example.com/{"x" * 300}?a="><b>{n}'} for n, item in enumerate(news)]
        cloud["urls"] = [{"id": "url-h0st1le0", "type": "link", "url": 'https://example.com/"><img/src=x/onerror=x>'}]
        size = {"vcpus": 1, "ram": 1536, "disk": 0}
        cloud["flavors"] = [{"id": str(n), "name": name, **size} for n, name in enumerate(HOSTILE)]

    load_cloud(browser.console, change)
    page = browser.open_signed_in(viewport=PHONE)
    assert panel(page, "News").get_by_role("link").all_inner_texts() == [each.title for each in client.news()]
    check_has_only_text(page)
    page.goto("/#/flavors?cores=1")
    wait_until_loaded(page)
    names = [flavor.name for flavor in client.flavors()]
    assert page.locator(".flavor-list tbody th > bdi").all_text_contents() == names
    check_has_only_text(page)


def check_has_only_text(page: Page) -> None:
    expect(page.locator("main img, main b")).to_have_count(0)
    assert not script_executed(page)
    assert_accessible(page)


def test_urls_with_other_schemes_are_not_links(browser: ConsoleBrowser) -> None:
    """The console rejects such URLs on input; the page also shows them as text."""
    addresses = [
        "javascript:document.body.dataset.ran=1",
        " JavaScript:1",
        "data:text/html,x",
        "//example.com/",
        "/docs/",
    ]
    data = {
        "GetAnnouncements": [
            {"id": n, "date": "2026-10-12 12:00:00", "title": each, "url": each, "language": None, "pinned": True}
            for n, each in enumerate(addresses)
        ],
        "GetUrlList": [{"id": str(n), "type": "URL链接", "url": each} for n, each in enumerate(addresses)],
    }
    page = browser.open()

    def respond(route: Route) -> None:
        action = (route.request.post_data_json or {}).get("action") if route.request.method == "POST" else None
        if action in data:
            route.fulfill(json={"code": 200, "message": "", "data": data[action]})
        else:
            route.fallback()

    page.route("**/api/", respond)
    sign_in(page)
    wait_until_loaded(page)
    assert panel(page, "News").locator("li bdi").all_text_contents() == addresses
    assert page.locator(".url-text").all_text_contents() == addresses
    expect(page.locator(":is(.news, .urls) a")).to_have_count(0)


def test_a_failing_action_does_not_affect_other_panels(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/nowhere")
    for action, failing in TITLES.items():
        browser.console.fault("internal_error", call=action)
        page.goto("/#/nowhere")
        page.goto("/#/")
        failed = panel(page, failing)
        expect(failed.get_by_role("alert").get_by_text("Report request ID")).to_be_visible()
        for title in set(TITLES.values()) - {failing}:
            expect(panel(page, title).locator(CONTENT).first).to_be_visible()
        expect(page.get_by_role("button", name="Try again")).to_have_count(1)
        before = len(browser.statuses())
        failed.get_by_role("button", name="Try again").click()
        expect(failed.locator(CONTENT).first).to_be_visible()
        expect(failed.get_by_role("heading", level=2)).to_be_focused()
        assert len(browser.statuses()) == before + list(TITLES.values()).count(failing)


def test_a_panel_honors_retry_after(browser: ConsoleBrowser) -> None:
    browser.console.fault("too_many_requests", call="GetAnnouncements", retry_after=600)
    page = browser.open()
    page.clock.install()
    sign_in(page)
    retry = panel(page, "News").get_by_role("button", name="Try again")
    expect(retry).to_be_disabled()
    expect(panel(page, "News").get_by_text("You can try again in")).to_be_visible()
    expect(panel(page, "News").get_by_role("alert")).not_to_contain_text("try again in")
    page.clock.fast_forward(600_000)
    expect(retry).to_be_enabled()
    assert len(browser.statuses()) == len(TITLES), "nothing is retried automatically"
    retry.click()
    expect(panel(page, "News").get_by_role("listitem")).to_have_count(5)


def test_times_are_in_the_time_zone_of_the_console(browser: ConsoleBrowser) -> None:
    page = browser.open(timezone_id="America/New_York")
    page.clock.set_fixed_time("2026-11-15T20:30:05Z")
    held = HeldResponse(page, "GetUrlList")
    sign_in(page)
    expect(panel(page, "News").get_by_role("listitem")).to_have_count(5)
    expect(page.get_by_text("As of")).to_have_count(0)
    held.release()
    expect(page.get_by_text("As of")).to_have_text("As of 15 Nov 2026, 20:30:05 (UTC)")
    expect(panel(page, "News").locator("time").first).to_have_text("12 Oct 2026")


def test_no_time_is_shown_if_nothing_was_loaded(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in("/#/nowhere")
    page.route("**/api/", lambda route: route.fulfill(status=502, body="<html>Bad Gateway</html>"))
    page.goto("/#/")
    unavailable = "The console is not available at the moment (502). Try again later."
    expect(page.locator(".shell-outage").get_by_text(unavailable)).to_be_visible()
    expect(page.get_by_text("As of")).to_have_count(0)


@pytest.mark.parametrize(("path", "count"), [("/#/", 4), ("/#/costs", 5)])
def test_one_message_replaces_the_errors_of_all_panels(browser: ConsoleBrowser, path: str, count: int) -> None:
    page = browser.open_signed_in("/#/nowhere")
    working = set[str]()

    # GET stays down, so that only the button loads the page again.
    def respond(route: Route) -> None:
        if route.request.method in working:
            route.fallback()
        else:
            route.fulfill(status=502, body="<html>Bad Gateway</html>")

    page.route("**/api/", respond)
    page.goto(path)
    outage = page.locator(".shell-outage")
    expect(outage.get_by_role("alert")).to_contain_text("The console is not available at the moment (502).")
    expect(page.get_by_role("button", name="Try again")).to_have_count(1)
    expect(page.get_by_role("alert").locator("p")).to_have_count(1)
    expect(page.locator("main").get_by_text("Not loaded")).to_have_count(count)
    assert_accessible(page)
    screenshot(page, f"outage-{count}")
    retry = page.get_by_role("button", name="Try again")
    retry.click()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    expect(retry).to_be_focused()
    working.add("POST")
    retry.click()
    expect(outage).to_be_empty()
    wait_until_loaded(page)
    expect(page.get_by_role("main")).to_be_focused()
    expect(page.get_by_text("Not loaded")).to_have_count(0)


def test_during_an_outage_the_last_data_stays(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in()
    page.route("**/api/", lambda route: route.abort())
    page.get_by_role("button", name="Refresh").click()
    expect(page.locator(".shell-outage")).to_contain_text("The console cannot be reached. Check your connection.")
    expect(page.get_by_role("button", name="Try again")).to_have_count(1)
    expect(page.locator(".panel.is-outdated .as-of")).to_have_count(4)
    expect(page.get_by_text("Not loaded")).to_have_count(0)
    expect(quota(page, "cores").locator("dd").first).to_be_visible()
    page.get_by_role("link", name="Domains").click()
    expect(page.locator("main").get_by_text("Not loaded")).to_have_count(1)
    # Also on a later visit.
    page.get_by_role("link", name="Overview").click()
    expect(page.locator(".shell-outage")).to_contain_text("The console cannot be reached. Check your connection.")
    expect(page.locator(".panel.is-outdated .as-of")).to_have_count(4)
    expect(quota(page, "cores").locator("dd").first).to_be_visible()
    assert_accessible(page)


def test_the_data_of_an_earlier_visit_is_not_shown_to_another_account(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in()
    page.get_by_role("link", name="Domains").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator("[name=password]")).to_be_visible()
    for action in TITLES:
        browser.console.fault("internal_error", call=action, times=5)
    sign_in(page, "other")
    expect(page.locator(".shell-outage").get_by_role("alert")).to_be_visible()
    expect(page.get_by_text("Not loaded")).to_have_count(4)
    expect(page.locator(".gauge")).to_have_count(0)


def requests_until(page: Page, done: Callable[[], bool]) -> list[str]:
    """Move the page's clock on until it is done, and return the methods of its requests."""
    methods: list[str] = []
    page.on("request", lambda request: methods.append(request.method))
    deadline = time.monotonic() + 120
    while not done():
        assert time.monotonic() < deadline
        page.clock.run_for(1000)
    return methods


def test_an_outage_is_retried_until_it_is_over(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in()
    stop_clock(page)
    failed = list[str]()

    def fail(route: Route) -> None:
        failed.append(route.request.method)
        route.abort()

    page.route("**/api/", fail)
    page.get_by_role("button", name="Refresh").click()
    outage = page.locator(".shell-outage")
    expect(outage).to_contain_text("This page tries again by itself.")
    wait_until_loaded(page)
    failed.clear()
    requests_until(page, lambda: len(failed) == 3)
    # One request each, which is no action.
    assert failed == ["GET"] * 3
    page.unroute("**/api/")
    methods = requests_until(page, lambda: outage.inner_text() == "")
    assert methods.count("GET") <= 2
    wait_until_loaded(page)
    expect(page.locator(".is-outdated")).to_have_count(0)


@pytest.mark.parametrize("path", ["flavors", "domain", "domain/206813", "costs"])
def test_a_page_first_opened_in_an_outage_is_loaded_when_it_is_over(browser: ConsoleBrowser, path: str) -> None:
    page = browser.open_signed_in("/#/nowhere")
    page.reload()
    page.route("**/api/", lambda route: route.abort())
    page.goto(f"/#/{path}")
    outage = page.locator(".shell-outage")
    expect(outage).to_contain_text("The console cannot be reached.")
    expect(outage).to_contain_text("This page tries again by itself.")
    expect(page.get_by_role("button", name="Try again")).to_have_count(1)
    # It waits, too, so the clock is stopped later.
    assert_accessible(page)
    stop_clock(page)
    page.unroute("**/api/")
    requests_until(page, lambda: outage.inner_text() == "")
    requests_until(page, lambda: page.locator("[aria-busy=true]").count() == 0)
    expect(page.locator(".error-box")).to_have_count(0)
    expect(page.locator("main .card").first).to_be_visible()


@pytest.mark.parametrize(
    ("action", "missing", "shown"),
    [("GetForecast", ".cost-figures", ".cost-kinds"), ("GetConsumptionsEstimated", ".cost-kinds", ".cost-figures")],
)
def test_costs_are_shown_in_part_if_one_action_fails(
    browser: ConsoleBrowser, action: str, missing: str, shown: str
) -> None:
    browser.console.fault("internal_error", call=action)
    page = browser.open_signed_in()
    costs = panel(page, "Costs")
    expect(costs.get_by_role("alert")).to_contain_text("request ID")
    expect(costs.locator(missing)).to_have_count(0)
    expect(costs.locator(shown)).to_be_visible()
    expect(costs.get_by_role("link", name="View costs")).to_be_visible()
    costs.get_by_role("button", name="Try again").click()
    expect(costs.locator(missing)).to_be_visible()
    expect(costs.get_by_role("alert")).to_have_count(0)


def test_a_hidden_page_does_not_retry(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in()
    stop_clock(page)
    page.route("**/api/", lambda route: route.abort())
    page.get_by_role("button", name="Refresh").click()
    expect(page.locator(".shell-outage").get_by_role("alert")).to_be_visible()
    wait_until_loaded(page)
    page.evaluate("Object.defineProperty(document, 'hidden', { get: () => window.isHidden ?? true })")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.clock.run_for(600_000)
    assert requests == []
    with page.expect_request("**/api/"):
        page.evaluate("window.isHidden = false; document.dispatchEvent(new Event('visibilitychange'))")


def test_when_actions_fail_only_one_is_retried(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in()
    stop_clock(page)
    posts = list[str]()

    def fail(route: Route) -> None:
        if route.request.method == "GET":
            route.fallback()
            return
        posts.append((route.request.post_data_json or {})["action"])
        route.fulfill(status=502, body="")

    page.route("**/api/", fail)
    page.get_by_role("button", name="Refresh").click()
    expect(page.locator(".shell-outage").get_by_role("alert")).to_be_visible()
    wait_until_loaded(page)
    posts.clear()
    requests_until(page, lambda: len(posts) == 3)
    assert posts == ["GetUsageLimits"] * 3
    expect(page.locator(".shell-outage").get_by_role("alert")).to_be_visible()


def test_panels_that_fail_for_different_reasons_show_them(browser: ConsoleBrowser) -> None:
    def fail(route: Route) -> None:
        action = (route.request.post_data_json or {})["action"]
        route.fulfill(status=502 if action == "GetUrlList" else 503, body="")

    page = browser.open_signed_in("/#/nowhere")
    page.route("**/api/", fail)
    page.goto("/#/")
    expect(page.get_by_role("button", name="Try again")).to_have_count(4)
    wait_until_loaded(page)
    expect(page.locator(".shell-outage")).to_be_empty()


def test_a_failed_refresh_keeps_the_last_data(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in()
    cores = quota(page, "cores").locator("dd").first.inner_text()
    shown = page.locator(".updated").inner_text()
    browser.console.fault("internal_error", call="GetUsageLimits", times=2)
    page.get_by_role("button", name="Refresh").click()
    failed = panel(page, "Quotas")
    expect(failed.get_by_role("alert")).to_be_visible()
    expect(quota(page, "cores").locator("dd").first).to_have_text(cores)
    expect(failed.locator(".as-of")).to_have_text(shown)
    expect(failed).to_have_class("card panel quotas is-outdated")
    wait_until_loaded(page)
    assert_accessible(page)
    screenshot(page, "overview-outdated")
    failed.get_by_role("button", name="Try again").click()
    expect(failed.get_by_role("button", name="Try again")).to_be_focused()
    failed.get_by_role("button", name="Try again").click()
    expect(failed.get_by_role("alert")).to_have_count(0)
    expect(failed).to_have_class("card panel quotas")


def test_a_refresh_keeps_open_what_is_open(browser: ConsoleBrowser, client: Console) -> None:
    page = browser.open_signed_in()
    page.get_by_role("button", name="Show all").click()
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_role("status").get_by_text(REFRESHED)).to_be_attached()
    expect(panel(page, "News").get_by_role("listitem")).to_have_count(len(client.news()))


REFRESHED = "Page refreshed."
SET_OTHER_TIME = "void (Date = class extends Date { constructor(...args) { super(...(args.length ? args : [0])) } })"


def test_data_is_reloaded_only_on_refresh(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in()
    before = page.locator(".updated").inner_text()
    page.evaluate(SET_OTHER_TIME)
    admin(browser.console, "quota", "change", "demo", "--cores", "77")
    assert browser.statuses() == [200] * len(TITLES)
    page.get_by_role("button", name="Refresh").click()
    expect(quota(page, "cores").locator("dd").nth(1)).to_have_text("77")
    wait_until_loaded(page)
    assert browser.statuses() == [200] * 2 * len(TITLES)
    expect(page.get_by_role("button", name="Refresh")).to_be_focused()
    expect(page.get_by_role("status").get_by_text(REFRESHED)).to_be_attached()
    expect(page.locator(".updated")).not_to_have_text(before)


def test_a_refresh_honors_retry_after(browser: ConsoleBrowser) -> None:
    browser.console.fault("too_many_requests", call="GetAnnouncements", retry_after=60)
    page = browser.open_signed_in()
    before = page.locator(".updated").inner_text()
    page.evaluate(SET_OTHER_TIME)
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_role("button", name="Refresh")).to_be_enabled()
    assert sorted(browser.statuses()) == [200] * 2 * (len(TITLES) - 1) + [429]
    # An incomplete refresh is not announced; a shorter wait never fails a correct page.
    page.wait_for_timeout(300)
    expect(page.get_by_text(REFRESHED)).to_have_count(0)
    expect(page.locator(".updated")).to_have_text(before)
