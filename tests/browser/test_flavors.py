"""The flavors page: filters that offer only valid combinations, sorting, what fits into the quotas, and prices."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from cloudconsole import Console
from tests.browser.cloud_data import Cloud, load_cloud
from tests.browser.extensions import open_without
from tests.browser.helpers import DESKTOP, PHONE, ConsoleBrowser, assert_accessible, overflows, wait_until_loaded

Row = list[str]
NO_PRICE = ["GetEstimate", "GetPrices"]


def flavors_page(browser: ConsoleBrowser, query: str = "", **options: Any) -> Page:
    page = browser.open_signed_in(f"/#/flavors{query}", **options)
    wait_for_facts(page)
    return page


def wait_for_facts(page: Page) -> None:
    """Wait until quotas and prices are shown."""
    wait_until_loaded(page)
    expect(page.get_by_text("…", exact=True)).to_have_count(0)


def offered(page: Page, name: str) -> list[str]:
    """The choices besides "Any"."""
    return page.locator(f"input[name={name}] + span").all_inner_texts()[1:]


def choose(page: Page, name: str, value: int | str) -> None:
    page.locator(f"input[name={name}][value='{value}']").check(force=True)


def rows(page: Page) -> list[Row]:
    """Name, ID, cores, RAM and disk of all rows as shown."""
    read = """rows => rows.map(row => [
        ...row.querySelectorAll('.col-name bdi'), ...row.querySelectorAll('.col-vcpus, .col-ram, .col-disk'),
    ].map(each => each.textContent))"""
    shown: list[Row] = page.locator(".flavor-table tbody tr").evaluate_all(read)
    return shown


def row(page: Page, flavor: str) -> Any:
    return page.locator(f".flavor-table tr[data-flavor='{flavor}']")


def ram(megabytes: int) -> str:
    return f"{megabytes:,}\xa0MB" if megabytes % 1024 else f"{megabytes // 1024:,}\xa0GB"


def as_shown(flavor: Any) -> Row:
    disk = f"{flavor['disk']:,}\xa0GB" if flavor["disk"] else "No system disk"
    return [flavor["name"], flavor["id"], f"{flavor['vcpus']:,}", ram(flavor["ram"]), disk]


def test_all_flavors_match_the_api(browser: ConsoleBrowser, client: Console) -> None:
    page = flavors_page(browser)
    data = client.call("GetFlavors")["flavors"]
    assert rows(page) == [as_shown(flavor) for flavor in data]
    expect(page.get_by_text(f"Flavors: {len(data)}")).to_be_visible()


def test_on_a_phone_the_filters_are_collapsed_and_prices_have_units(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser, "?cores=2&search=m1", viewport=PHONE)
    toggle = page.get_by_role("button", name="Filters (2)")
    expect(toggle).to_have_attribute("aria-expanded", "false")
    expect(page.get_by_label("Search by name or ID")).to_be_hidden()
    unit = row(page, "3").locator(".col-month [data-suffix]")
    assert unit.evaluate("each => getComputedStyle(each, '::after').content") == '" CNY per month"'
    assert_accessible(page)
    toggle.click()
    expect(page.get_by_label("Search by name or ID")).to_be_visible()
    assert_accessible(page)
    page.get_by_role("button", name="Clear filters").click()
    expect(page.get_by_role("button", name="Filters", exact=True)).to_have_attribute("aria-expanded", "true")
    page.set_viewport_size(DESKTOP)
    expect(page.locator(".filters-toggle")).to_be_hidden()
    expect(page.get_by_label("Search by name or ID")).to_be_visible()


def test_printed_flavors_are_a_table_after_the_estimate(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser, "?items=volume*1*100", viewport={"width": 720, "height": 1000})
    page.emulate_media(media="print")
    expect(page.locator(".flavor-table thead th").first).to_be_visible()
    assert page.locator(".flavor-table tr").nth(1).evaluate("each => getComputedStyle(each).display") == "table-row"
    for selector in (".filters", ".estimate-bar", ".flavor-table .arrow", ".col-add", ".estimate button"):
        assert not any(each.is_visible() for each in page.locator(selector).all())
    estimate, table = (page.locator(each).bounding_box() for each in (".estimate", ".flavor-table"))
    assert estimate
    assert table
    assert estimate["y"] + estimate["height"] <= table["y"]
    assert not overflows(page)
    page.emulate_media(media="screen")
    page.get_by_role("button", name="Clear", exact=True).click()
    page.emulate_media(media="print")
    expect(page.locator(".estimate")).to_be_hidden()


def test_only_ram_available_with_the_cores_is_offered(browser: ConsoleBrowser, client: Console) -> None:
    page = flavors_page(browser)
    data = client.call("GetFlavors")
    assert offered(page, "cores") == [str(each) for each in data["configs"]["vcpus"]]
    assert offered(page, "ram") == [ram(each) for each in data["configs"]["ram"]]
    for cores, sizes in data["limits"].items():
        choose(page, "cores", cores)
        assert offered(page, "ram") == [ram(size) for size in sizes]
        matching = [each for each in data["flavors"] if each["vcpus"] == int(cores)]
        assert rows(page) == [as_shown(each) for each in matching]
        choose(page, "ram", sizes[-1])
        both = [each for each in matching if each["ram"] == sizes[-1]]
        assert rows(page) == [as_shown(each) for each in both]
        disks = sorted({each["disk"] for each in both})
        options = page.get_by_label("System disk").locator("option").all_inner_texts()
        assert options == ["Any", *(f"{disk}\xa0GB" if disk else "No system disk" for disk in disks)]
        page.get_by_label("System disk").select_option(str(disks[-1]))
        assert rows(page) == [as_shown(each) for each in both if each["disk"] == disks[-1]]
        page.get_by_role("button", name="Clear filters").click()
    assert len(rows(page)) == len(data["flavors"])
    assert page.evaluate("location.hash") == "#/flavors"


def test_ram_can_be_chosen_without_cores(browser: ConsoleBrowser, client: Console) -> None:
    page = flavors_page(browser)
    choose(page, "ram", 4096)
    expected = [as_shown(each) for each in client.call("GetFlavors")["flavors"] if each["ram"] == 4096]
    assert rows(page) == expected
    choose(page, "cores", 4)
    choose(page, "cores", "")
    assert rows(page) == expected
    assert page.evaluate("location.hash") == "#/flavors?ram=4096"


def test_changing_cores_keeps_valid_ram_and_clears_other_with_a_message(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser, "?cores=2&ram=4096")
    choose(page, "cores", 4)
    expect(page.locator("input[name=ram][value='4096']")).to_be_checked()
    expect(page.locator(".picker-warning")).to_be_hidden()
    choose(page, "cores", 16)
    expect(page.locator("input[name=ram][value='']")).to_be_checked()
    expect(page.locator(".picker-warning")).to_have_text(
        "4 GB RAM is not available with 16 cores. Choose another size."
    )
    expect(page.get_by_role("status").filter(has_text="is not available with 16 cores")).to_be_attached()
    assert page.evaluate("location.hash") == "#/flavors?cores=16"
    choose(page, "ram", 16384)
    expect(page.locator(".picker-warning")).to_be_hidden()


def test_a_disk_that_does_not_exist_with_the_selection_is_cleared_with_a_message(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser, "?cores=4&disk=80")
    assert [shown[0] for shown in rows(page)] == ["m1.large"]
    choose(page, "cores", 16)
    expect(page.locator(".picker-warning")).to_contain_text("System disk “80 GB” is not available")
    expect(page.get_by_label("System disk")).to_have_value("")
    assert page.evaluate("location.hash") == "#/flavors?cores=16"


def test_invalid_values_in_the_url_are_ignored(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser, "?cores=3")
    for query in ("?cores=3", "?cores=x&ram=y&disk=z&sort=colour&order=sideways&node=nowhere", "?ram=1&disk=7"):
        page.goto(f"/#/flavors{query}")
        wait_for_facts(page)
        for name in ("cores", "ram"):
            expect(page.locator(f"input[name={name}][value='']")).to_be_checked()
        expect(page.locator(".flavor-table tbody tr")).to_have_count(50)
    page.goto("/#/flavors?cores=2&ram=1")
    expect(page.locator("input[name=cores][value='2']")).to_be_checked()
    expect(page.locator("input[name=ram][value='']")).to_be_checked()


def test_the_filters_work_by_keyboard(browser: ConsoleBrowser, client: Console) -> None:
    page = flavors_page(browser)
    page.locator("input[name=cores]").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator("input[name=cores][value='2']")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(page.locator("input[name=ram]:checked")).to_be_focused()
    found = client.flavors().matching(vcpus=2, ram=client.flavors().limits[2][0])
    expect(page.locator(".flavor-table tbody tr")).to_have_count(len(found))
    page.get_by_role("button", name="Clear filters").focus()
    page.keyboard.press("Enter")
    expect(page.locator("input[name=cores]").first).to_be_focused()
    assert page.evaluate("location.hash") == "#/flavors"


def test_each_column_sorts_both_ways(browser: ConsoleBrowser, client: Console) -> None:
    page = flavors_page(browser)
    data = client.call("GetFlavors")["flavors"]
    columns = {"Name": ("name", 0), "Cores": ("vcpus", 2), "RAM": ("ram", 3), "System disk": ("disk", 4)}
    for column, (field, index) in columns.items():
        heading = page.get_by_role("columnheader", name=column)
        button = heading.get_by_role("button")
        button.focus()
        for order in ("ascending", "descending"):
            page.keyboard.press("Enter")
            expect(heading).to_have_attribute("aria-sort", order)
            expect(button).to_be_focused()
            amounts = sorted((flavor[field] for flavor in data), key=natural_sort_key, reverse=order == "descending")
            assert [shown[index] for shown in rows(page)] == [
                as_shown({**data[0], field: each})[index] for each in amounts
            ]
        expect(page.locator("[aria-sort]")).to_have_count(1)


def natural_sort_key(value: str | int) -> Any:
    """Sort text naturally, by the numbers in it."""
    if isinstance(value, int):
        return value
    return [(not part.isdigit(), int(part) if part.isdigit() else part) for part in re.findall(r"\d+|\D+", value)]


def test_the_search_matches_name_and_id_and_announces_the_count(browser: ConsoleBrowser, client: Console) -> None:
    page = flavors_page(browser)
    data = client.call("GetFlavors")["flavors"]
    for text in ("M1.", "13", "nothing like it"):
        page.get_by_label("Search by name or ID").fill(text)
        found = [as_shown(each) for each in data if text.lower() in each["name"].lower() or text in each["id"]]
        assert rows(page) == found
        expect(page.get_by_role("status").filter(has_text=f"Found: {len(found)} of {len(data)}")).to_be_attached()
    expect(page.get_by_text("No matching flavors.")).to_be_visible()


def test_reload_and_the_back_button_restore_the_selection(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser)
    choose(page, "cores", 8)
    choose(page, "ram", 16384)
    page.get_by_label("Node").select_option("hk-2")
    page.get_by_role("columnheader", name="Name").get_by_role("button").click()
    page.get_by_label("Search by name or ID").fill("8C")
    page.wait_for_url("**search=8C**")
    wait_for_facts(page)
    shown = page.locator(".flavor-table").inner_text()
    page.reload()
    wait_for_facts(page)
    assert page.locator(".flavor-table").inner_text() == shown
    page.get_by_role("link", name="Domains").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Domains")
    page.go_back()
    wait_for_facts(page)
    assert page.locator(".flavor-table").inner_text() == shown


def test_a_search_does_not_change_the_url_of_another_page(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser)
    page.get_by_label("Search by name or ID").fill("m1")
    page.evaluate("location.hash = '#/domain'")
    expect(page.get_by_role("heading", level=1)).to_have_text("Domains")
    # Longer than the delay after which a search is stored in the URL; a shorter wait never fails a correct page.
    page.wait_for_timeout(400)
    assert page.evaluate("location.hash") == "#/domain"


def test_many_flavors_are_shown_in_batches_and_all_priced_and_searched(browser: ConsoleBrowser) -> None:
    def change(cloud: Cloud, _tenant: Cloud) -> None:
        cloud["flavors"] = [
            {"id": str(n), "name": f"f.{n}", "vcpus": n % 40 + 1, "ram": 1024 * (n % 60 + 1), "disk": n}
            for n in range(250)
        ]

    load_cloud(browser.console, change)
    page = flavors_page(browser)
    table = page.locator(".flavor-table tbody tr")
    expect(table).to_have_count(100)
    page.get_by_role("button", name="Show 100 more").click()
    expect(table).to_have_count(200)
    expect(table.nth(100).get_by_role("rowheader")).to_be_focused()
    page.get_by_label("Search by name or ID").fill("f.249")
    expect(page.get_by_text("Found: 1 of 250").first).to_be_visible()
    assert [shown[0] for shown in rows(page)] == ["f.249"]
    # 10 cores, 10 GB: 0.012 + 10 × 0.0365 + 10 × 0.0182 per hour.
    expect(row(page, "249").locator(".col-month")).to_contain_text("0.559 per hour")


def test_an_empty_list_of_flavors_is_explained(browser: ConsoleBrowser) -> None:
    load_cloud(browser.console, lambda cloud, _tenant: cloud.update(flavors=[]))
    page = browser.open_signed_in("/#/flavors")
    expect(page.get_by_text("No flavors are available.")).to_be_visible()
    assert_accessible(page)


def test_each_flavor_has_the_number_that_fits_its_limit_and_its_price(browser: ConsoleBrowser, client: Console) -> None:
    page = flavors_page(browser)
    usage = client.call("GetUsageLimits")
    free: dict[str, tuple[int, Any]] = {
        "Instances": (usage["maxTotalInstances"] - usage["totalInstancesUsed"], lambda _: 1),
        "Cores": (usage["maxTotalCores"] - usage["totalCoresUsed"], lambda flavor: flavor["vcpus"]),
        "RAM": (usage["maxTotalRAMSize"] - usage["totalRAMUsed"], lambda flavor: flavor["ram"]),
    }
    flavors = client.call("GetFlavors")["flavors"]
    items = [{"res_type": "instance", "flavor": flavor["id"]} for flavor in flavors]
    estimate = client.call("GetEstimate", items=items)["items"]
    limiting = set()
    for flavor, cost in zip(flavors, estimate, strict=True):
        fits = {name: amount // use(flavor) for name, (amount, use) in free.items()}
        count = min(fits.values())
        limits = [name for name, number in fits.items() if number == count]
        limiting.update(limits)
        text = f"{count} more" if count else "✖ No more"
        expect(row(page, flavor["id"]).locator(".col-fits")).to_have_text(f"{text}Limit: {', '.join(limits)}")
        price = row(page, flavor["id"]).locator(".col-month")
        expect(price).to_have_text(f"{round_half_up(cost['month'])}{cost['hour']} per hour")
        expect(price.locator(".amount")).to_have_attribute("title", f"{thousands(cost['month'])} CNY")
    assert len(limiting) > 1


def thousands(amount: str) -> str:
    whole, _, fraction = amount.partition(".")
    return f"{int(whole):,}.{fraction}"


def round_half_up(amount: str) -> str:
    whole, _, fraction = amount.partition(".")
    cents = int(whole + fraction[:2]) + (fraction[2:3] >= "5")
    return f"{cents // 100:,}.{cents % 100:02}"


def test_unlimited_and_exceeded_quotas(browser: ConsoleBrowser) -> None:
    def change(cloud: Cloud, tenant: Cloud) -> None:
        tenant["quotas"].update(instances=-1, cores=-1, ram=-1)

    load_cloud(browser.console, change)
    page = flavors_page(browser)
    expect(row(page, "1").locator(".col-fits")).to_have_text("Unlimited")
    load_cloud(browser.console, lambda _cloud, tenant: tenant["quotas"].update(instances=-1, cores=1, ram=-1))
    page.reload()
    wait_for_facts(page)
    expect(row(page, "1").locator(".col-fits")).to_have_text("✖ No moreLimit: Cores")


def test_rows_can_be_sorted_by_price_and_by_what_fits(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser)
    for column, cells in (("per month", ".col-month .amount"), ("Fits in quota", ".fits-count")):
        for is_descending in (False, True):
            page.get_by_role("columnheader", name=column).get_by_role("button").click()
            texts = page.locator(f".flavor-table {cells}").all_inner_texts()
            numbers = [float(re.sub(r"[^\d.]", "", text) or 0) for text in texts]
            assert len(numbers) == 50
            assert numbers == sorted(numbers, reverse=is_descending)
            assert len(set(numbers)) > 5
    page.reload()
    wait_for_facts(page)
    expect(page.locator(".fits-count").first).to_have_text("16 more")


def test_prices_follow_the_node(browser: ConsoleBrowser, client: Console) -> None:
    page = flavors_page(browser)
    # The tenant's own machines are on nodes without prices of their own, too.
    nodes = ["Any (standard prices)", "hk-1", "hk-2", "sg-1", "sh-1 (standard prices)"]
    assert page.get_by_label("Node").locator("option").all_inner_texts() == nodes
    items = [{"res_type": "instance", "flavor": "4", "region": "sg-1"}]
    expected = client.call("GetEstimate", items=items)["hour"]
    expect(row(page, "4").locator(".col-month")).not_to_contain_text(expected)
    page.get_by_label("Node").select_option("sg-1")
    expect(row(page, "4").locator(".col-month")).to_contain_text(f"{expected} per hour")
    expect(page.locator(".flavor-list .count")).to_have_text("Flavors: 50 · Prices of node sg-1")
    assert page.evaluate("location.hash") == "#/flavors?node=sg-1"


def test_missing_prices_are_said_and_sorted_last(browser: ConsoleBrowser) -> None:
    def change(cloud: Cloud, tenant: Cloud) -> None:
        tenant["resources"] = [each for each in tenant["resources"] if each["kind"] != "instance"]
        for other in cloud["tenants"][1:]:
            other["resources"] = []
        cloud["prices"] = [each for each in cloud["prices"] if each["kind"] != "instance"]

    load_cloud(browser.console, change)
    page = flavors_page(browser, "?sort=month&items=instance*1*4+loadbalance*1")
    expect(row(page, "4").locator(".col-month")).to_have_text("No price")
    expect(page.locator(".estimate [data-kind=instance] .item-price")).to_have_text("No price")
    expect(page.locator(".estimate [data-kind=loadbalance] .item-price")).to_have_text("61.20 CNY")
    expect(page.locator(".estimate .notice.warning")).to_have_text("Some items have no price, so there is no total.")
    expect(page.locator(".estimate-costs")).to_have_count(0)
    assert_accessible(page)


@pytest.mark.parametrize("failing", ["GetUsageLimits", "GetEstimate"])
def test_flavors_are_shown_without_quotas_or_prices_that_cannot_be_loaded(
    browser: ConsoleBrowser, failing: str
) -> None:
    browser.console.fault("internal_error", call=failing)
    page = flavors_page(browser)
    missing, loaded = (".col-fits", ".col-month") if failing == "GetUsageLimits" else (".col-month", ".col-fits")
    expect(row(page, "4").locator(missing)).to_have_text("Not known")
    expect(row(page, "4").locator(loaded)).to_contain_text(re.compile(r"\d"))
    expect(page.locator(".flavor-list [role=alert]")).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    expect(row(page, "4").locator(missing)).to_contain_text(re.compile(r"\d"))
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)


def test_without_the_extension_there_are_quotas_but_no_prices(browser: ConsoleBrowser) -> None:
    page = open_without(browser, NO_PRICE, "/#/flavors?cores=4&items=instance*1*4&node=sg-1&sort=month")
    expect(row(page, "4").locator(".col-fits")).to_contain_text("10 more")
    for selector in (".col-month", ".col-add", ".estimate", ".estimate-bar", ".estimate-node"):
        expect(page.locator(selector)).to_have_count(0)
    assert {shown[2] for shown in rows(page)} == {"4"}
    assert_accessible(page)
    assert browser.statuses(without="GetAnnouncements") == [200, 200]
