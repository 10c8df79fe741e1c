"""The estimate on the flavors page: several resources together, their cost, and whether the quotas allow them."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from cloudconsole import Console
from tests.browser.cloud_data import HOSTILE, Cloud, load_cloud, script_executed
from tests.browser.helpers import SIZES, ConsoleBrowser, HeldResponse, assert_accessible, screenshot, sign_in
from tests.browser.test_flavors import flavors_page, round_half_up, thousands, wait_for_facts

ITEMS = "items=instance*3*4+volume*2*100+image*1*20+loadbalance*1+floating_ip*2"
REQUEST = [
    {"res_type": "instance", "flavor": "4", "count": 3},
    {"res_type": "volume", "size": 100, "count": 2},
    {"res_type": "image", "size": 20, "count": 1},
    {"res_type": "loadbalance", "count": 1},
    {"res_type": "floating_ip", "count": 2},
]


def estimated(page: Page) -> Any:
    """The estimate, once it is up to date."""
    expect(page.locator(".estimate-result[aria-busy]")).to_have_count(0)
    return page.locator(".estimate")


def amount(page: Page, period: str) -> Any:
    return page.locator(".estimate-costs div").filter(has_text=f"Per {period}").locator(".amount")


def test_three_more_instances_with_four_cores_take_a_few_clicks(browser: ConsoleBrowser, client: Console) -> None:
    page = flavors_page(browser)
    page.locator("input[name=cores][value='4']").check(force=True)
    page.get_by_role("button", name="Add m1.large to the estimate").click()
    for _ in range(2):
        page.get_by_role("button", name="One m1.large more").click()
    cost = client.call("GetEstimate", items=[REQUEST[0]])["month"]
    expect(amount(page, "month")).to_have_text(round_half_up(cost))
    expect(page.get_by_text("The quotas allow this.").first).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="The quotas allow this.")).to_contain_text("CNY per month")
    assert page.evaluate("location.hash") == "#/flavors?cores=4&items=instance*3*4"


def test_all_amounts_and_quotas_match_the_api(browser: ConsoleBrowser, client: Console) -> None:
    page = flavors_page(browser, f"?{ITEMS}&node=hk-1")
    request = [{**item, **({"region": "hk-1"} if item["res_type"] != "floating_ip" else {})} for item in REQUEST]
    expected = client.call("GetEstimate", items=request)
    estimate = estimated(page)
    for period in ("hour", "day", "month", "year"):
        expect(amount(page, period)).to_have_text(round_half_up(expected[period]))
        expect(amount(page, period)).to_have_attribute("title", f"{thousands(expected[period])} CNY")
    prices = [f"{round_half_up(item['month'])} CNY" for item in expected["items"][:-1]]
    assert estimate.locator(".item-price").all_inner_texts() == [*prices, "No charge"]
    page.locator(".quota-use summary").click()
    used = [quota for quota in expected["quotas"] if quota["needed"]]
    expect(page.locator("[data-quota]")).to_have_count(len(used))
    for quota in used:
        numbers = page.locator(f"[data-quota={quota['quota']}] td").all_inner_texts()
        units = {"ram": 1024, "gigabytes": 1}.get(quota["quota"])
        values = [quota["free"], quota["needed"], quota["lacking"]]
        shown = [f"{value / units:,g}\xa0GB" if units and value else f"{value:,}" for value in values]
        assert numbers == shown, quota
    page.locator(".exact-amounts summary").click()
    exact = page.locator(".exact-amounts tbody tr, .exact-amounts tfoot tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent))"
    )
    periods = ("hour", "day", "month", "year")
    assert exact == [[thousands(each[period]) for period in periods] for each in (*expected["items"], expected)]


def test_what_is_lacking_is_named(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser, "?items=instance*30*4")
    verdict = page.locator(".estimate-verdict")
    expect(verdict).to_contain_text("The quotas do not allow this.")
    expect(verdict).to_contain_text("Over quota: instances by 14, cores by 69, RAM by 152.5 GB")
    page.locator(".quota-use summary").click()
    expect(page.locator("[data-quota=cores] .lacking")).to_have_text("✖ 69")
    assert_accessible(page)


def test_an_unlimited_quota_never_lacks(browser: ConsoleBrowser) -> None:
    def change(_cloud: Cloud, tenant: Cloud) -> None:
        tenant["quotas"].update(volumes=-1, gigabytes=-1)

    load_cloud(browser.console, change)
    page = flavors_page(browser, "?items=volume*1000*1000")
    expect(page.locator(".estimate-verdict")).to_contain_text("The quotas allow this.")
    page.locator(".quota-use summary").click()
    assert page.locator("[data-quota=gigabytes] td").all_inner_texts() == ["Unlimited", "1,000,000\xa0GB", "0"]


def test_items_are_added_changed_and_removed_by_keyboard(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser)
    page.get_by_role("button", name="+ Volume").press("Enter")
    size = page.get_by_label("Size of Volume in GB")
    expect(size).to_be_focused()
    size.fill("250")
    page.get_by_label("Count of Volume").fill("2")
    page.get_by_role("button", name="+ Load balancer").press("Enter")
    expect(page.get_by_label("Count of Load balancer")).to_be_focused()
    page.locator(".quota-use summary").click()
    expect(page.get_by_text("500 GB", exact=True)).to_be_visible()
    assert page.evaluate("location.hash") == "#/flavors?items=volume*2*250+loadbalance*1"
    page.get_by_role("button", name="Remove Volume").press("Enter")
    expect(page.get_by_label("Count of Load balancer")).to_be_focused()
    expect(page.get_by_role("status").filter(has_text="per month")).to_be_attached()
    page.get_by_role("button", name="Remove Load balancer").press("Enter")
    expect(page.get_by_role("heading", name="Estimate")).to_be_focused()
    expect(page.get_by_text("Add flavors and other resources")).to_be_visible()
    expect(page.locator(".estimate-result > *")).to_have_count(0)
    assert page.evaluate("location.hash") == "#/flavors"


def test_the_same_flavor_again_increases_its_count(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser)
    for _ in range(2):
        page.get_by_role("button", name="Add m1.large to the estimate").click()
    expect(page.get_by_label("Count of m1.large")).to_have_value("2")
    expect(page.locator(".estimate-items li")).to_have_count(1)
    page.get_by_role("button", name="Clear").click()
    expect(page.locator(".estimate-items li")).to_have_count(0)


@pytest.mark.parametrize("typed", ["0", "", "1.5", "-2", "100001"])
def test_an_invalid_count_is_rejected_at_the_field(browser: ConsoleBrowser, typed: str) -> None:
    page = flavors_page(browser, "?items=instance*3*4")
    count = page.get_by_label("Count of m1.large")
    count.fill(typed)
    expect(page.get_by_text("Enter a whole number from 1 to 100,000.")).to_be_visible()
    expect(count).to_have_attribute("aria-invalid", "true")
    assert page.evaluate("location.hash") == "#/flavors?items=instance*3*4"
    # The last valid number is the one that counts.
    count.press("Tab")
    expect(count).to_have_value("3")
    expect(page.get_by_text("Enter a whole number")).to_have_count(0)


def test_amounts_are_dimmed_while_a_field_is_invalid(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser, "?items=volume*1*100")
    shown = [page.locator(name) for name in (".estimate-result", ".estimate-details", ".item-price")]
    size = page.get_by_label("Size of Volume in GB")
    for typed in ("", "-5"):
        size.fill(typed)
        expect(page.get_by_text("Enter a size in whole GB, from 1 to 100,000,000.")).to_be_visible()
        for each in shown:
            expect(each).to_have_css("filter", "grayscale(1)")
        assert_accessible(page)
        size.fill("250")
        for each in shown:
            expect(each).to_have_css("filter", "none")
        expect(page.locator(".estimate-result[aria-busy]")).to_have_count(0)


def test_months_and_system_disks_are_explained(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser, "?items=instance*1*4")
    expect(page.get_by_text("A month has 30 days. Prices include the system disk")).to_be_visible()
    expect(page.get_by_text("Per month (30 days)", exact=True).first).to_be_visible()
    note = page.get_by_text("System disks of instances do not use the quotas for volumes.")
    expect(note).to_be_hidden()
    page.locator(".quota-use summary").click()
    expect(note).to_be_visible()
    page.get_by_role("button", name="Remove m1.large").click()
    page.get_by_role("button", name="+ Volume").click()
    expect(amount(page, "month")).to_be_visible()
    expect(note).to_have_count(0)


def test_invalid_items_in_the_url_are_shown_as_not_included(browser: ConsoleBrowser) -> None:
    items = [
        "instance*0*4", "instance*x*4", "instance*1", "instance*1*%2525zz", "volume*1", "volume*1*0", "image*1*1e3",
        "volume*100001*1", "router*1", "loadbalance", "*", HOSTILE[1].replace(" ", ""), "loadbalance*2",
    ]  # fmt: skip
    page = flavors_page(browser, f"?items={'+'.join(items)}")
    expect(page.get_by_label("Count of Load balancer")).to_have_value("2")
    rejected = page.locator(".estimate-items .is-invalid")
    expect(rejected).to_have_count(len(items) - 1)
    expect(rejected.first).to_contain_text("This item of the link cannot be read: instance*0*4. It is not included.")
    expect(page.locator(".estimate-verdict")).to_have_text("▲ The quotas allow the rest.Not included: 12")
    assert not script_executed(page)
    assert_accessible(page)


def test_an_unknown_flavor_in_the_url_is_named_and_not_included(browser: ConsoleBrowser, client: Console) -> None:
    query = "items=instance*2*99999+volume*1*100"
    page = flavors_page(browser, f"?{query}", viewport=SIZES["phone"])
    gone = page.locator(".estimate-items .is-invalid")
    expect(gone).to_contain_text("No such flavor is offered (ID 99999). It is not included.")
    cost = client.call("GetEstimate", items=[{"res_type": "volume", "size": 100}])["month"]
    expect(amount(page, "month")).to_have_text(round_half_up(cost))
    expect(page.locator(".estimate-verdict")).to_have_text("▲ The quotas allow the rest.Not included: 1")
    expect(page.locator(".estimate-bar")).to_contain_text(f"{round_half_up(cost)} CNY per month · Not included: 1")
    assert_accessible(page)
    # The line stays until it is removed.
    page.get_by_role("button", name="One Volume more").click()
    expect(page.get_by_role("status").filter(has_text="The quotas allow the rest.")).to_contain_text("Not included: 1")
    assert page.evaluate("location.hash") == "#/flavors?items=instance*2*99999+volume*2*100"
    page.get_by_role("button", name="Remove Volume").click()
    expect(page.locator(".estimate-result > *")).to_have_count(0)
    expect(page.locator(".estimate-bar")).to_contain_text("Not included: 1")
    page.get_by_role("button", name="Remove 99999").click()
    expect(page.get_by_role("heading", name="Estimate")).to_be_focused()
    assert page.evaluate("location.hash") == "#/flavors"


def test_the_estimate_is_kept_in_the_tab_until_sign_out(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser, "?items=instance*3*4+volume*1*100&node=hk-1")
    total = amount(page, "month").inner_text()
    page.get_by_role("link", name="Domains").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Domains")
    page.get_by_role("link", name="Flavors").click()
    wait_for_facts(page)
    expect(amount(page, "month")).to_have_text(total)
    assert page.evaluate("location.hash") == "#/flavors?items=instance*3*4+volume*1*100&node=hk-1"
    # A link with other items replaces it, and what was cleared does not return.
    page.goto("/#/flavors?items=loadbalance*1")
    expect(page.locator(".estimate-items li")).to_have_count(1)
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("link", name="Domains").click()
    page.get_by_role("link", name="Flavors").click()
    wait_for_facts(page)
    expect(page.locator(".estimate-items li")).to_have_count(0)
    page.get_by_role("button", name="+ Image").click()
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, "other")
    page.get_by_role("link", name="Flavors").click()
    wait_for_facts(page)
    expect(page.locator(".estimate-items li")).to_have_count(0)


def test_an_estimate_has_at_most_100_items(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser, f"?items={'+'.join(['image*1*20'] * 101)}")
    expect(page.locator(".estimate-items li")).to_have_count(100)
    expect(page.get_by_text("An estimate has at most 100 items.")).to_be_visible()
    page.get_by_role("button", name="+ Image").click()
    expect(page.get_by_text("An estimate has at most 100 items.")).to_be_visible()
    expect(page.locator(".estimate-items li")).to_have_count(100)


def test_volume_types_with_prices_can_be_chosen(browser: ConsoleBrowser) -> None:
    page = browser.open_signed_in()

    def respond(route: Any) -> None:
        fields: Any = route.request.post_data_json if route.request.method == "POST" else {}
        if fields.get("action") != "GetPrices":
            route.fallback()
            return
        rest = {"unit": "gb", "region": None, "price": "0.001", "in_force": True}
        data = [{"res_type": "volume", "type": name, **rest} for name in ("ssd", "odd *type", None)]
        route.fulfill(json={"message": "Prices.", "code": 200, "data": data})

    page.route("**/api/", respond)
    page.goto("/#/flavors?items=volume*1*100*ssd")
    wait_for_facts(page)
    select = page.get_by_label("Type of Volume")
    assert select.locator("option").all_inner_texts() == ["No type", "ssd", "odd *type"]
    expect(select).to_have_value("ssd")
    with page.expect_request(lambda request: "GetEstimate" in (request.post_data or "")) as sent:
        select.select_option("odd *type")
    body: Any = sent.value.post_data_json
    assert body["items"] == [{"res_type": "volume", "count": 1, "size": 100, "type": "odd *type"}]
    page.reload()
    wait_for_facts(page)
    expect(select).to_have_value("odd *type")


def test_a_failed_estimate_can_be_retried(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser)
    browser.console.fault("internal_error", call="GetEstimate")
    page.get_by_role("button", name="+ Load balancer").click()
    page.locator(".estimate").get_by_role("button", name="Try again").click()
    expect(amount(page, "month")).to_have_text("61.20")
    expect(page.locator(".estimate .error-box")).to_have_count(0)


def test_only_the_latest_estimate_is_shown(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser, "?items=loadbalance*1")
    expect(amount(page, "month")).to_have_text("61.20")
    held = HeldResponse(page, "GetEstimate")
    more = page.get_by_role("button", name="One Load balancer more")
    with page.expect_request("**/api/"):
        more.click()
    more.click()
    expect(amount(page, "month")).to_have_text("183.60")
    held.release()
    page.wait_for_timeout(100)
    expect(amount(page, "month")).to_have_text("183.60")


def test_on_a_phone_the_bar_leads_to_an_empty_estimate_too(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser, viewport=SIZES["phone"])
    bar = page.locator(".estimate-bar")
    expect(bar).to_contain_text("The estimate is empty.")
    bar.get_by_role("button", name="Details").click()
    expect(page.get_by_role("button", name="+ Volume")).to_be_in_viewport()


def test_the_total_stays_in_view_above_a_long_list_of_items(browser: ConsoleBrowser) -> None:
    items = "+".join(f"volume*1*{size}" for size in range(1, 31))
    page = flavors_page(browser, f"?items={items}", viewport={"width": 1440, "height": 900})
    estimated(page)
    page.locator(".estimate-items li").last.scroll_into_view_if_needed()
    expect(page.locator(".per-month dd")).to_be_in_viewport()
    expect(page.locator(".estimate-verdict")).to_be_in_viewport()


@pytest.mark.parametrize(("locale", "size"), [("en-GB", "phone"), ("zh-CN", "desktop"), ("zh-CN", "phone")])
def test_the_estimate_is_accessible_and_in_reach(browser: ConsoleBrowser, locale: str, size: str) -> None:
    page = flavors_page(browser, f"?{ITEMS}", locale=locale, viewport=SIZES[size])
    estimated(page)
    page.locator(".quota-use summary").click()
    page.locator(".exact-amounts summary").click()
    assert_accessible(page)
    screenshot(page, f"estimate-{locale}-{size}")
    bar = page.locator(".estimate-bar")
    expect(bar).to_be_visible(visible=size == "phone")
    if size == "phone":
        expect(bar).to_contain_text(re.compile(r"[\d,]+\.\d\d CNY"))
        bar.get_by_role("button").click()
        expect(page.locator(".estimate h2")).to_be_focused()
        expect(page.locator(".estimate h2")).to_be_in_viewport()
