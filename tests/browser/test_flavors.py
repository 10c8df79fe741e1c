"""The flavors page: the picker offers only valid combinations; the table lists, sorts and searches all flavors."""

import re
from typing import Any

from playwright.sync_api import Page, expect

from cloudconsole import Console
from tests.browser.cloud_data import Cloud, load_cloud
from tests.browser.helpers import ConsoleBrowser, assert_accessible, wait_until_loaded

Row = list[str]


def flavors_page(browser: ConsoleBrowser, query: str = "", **options: Any) -> Page:
    return browser.open_signed_in(f"/#/flavors{query}", **options)


def offered(page: Page, name: str) -> list[str]:
    return page.locator(f"input[name={name}] + span").all_inner_texts()


def choose(page: Page, name: str, value: int) -> None:
    page.locator(f"input[name={name}][value='{value}']").check(force=True)


def rows(page: Page, section: str) -> list[Row]:
    """The rows of a table as shown, without button labels."""
    read = "rows => rows.map(row => [...row.cells].map(cell => (cell.querySelector('bdi') ?? cell).textContent))"
    shown: list[Row] = page.locator(f".{section} tbody tr").evaluate_all(read)
    return shown


def ram(megabytes: int) -> str:
    return f"{megabytes:,} MB" if megabytes % 1024 else f"{megabytes // 1024:,} GB"


def as_shown(flavor: Any) -> Row:
    disk = f"{flavor['disk']:,} GB" if flavor["disk"] else "No system disk"
    return [flavor["name"], flavor["id"], f"{flavor['vcpus']:,}", ram(flavor["ram"]), disk]


def test_all_flavors_match_the_api(browser: ConsoleBrowser, client: Console) -> None:
    page = flavors_page(browser)
    data = client.call("GetFlavors")["flavors"]
    assert rows(page, "flavor-list") == [as_shown(flavor) for flavor in data]
    expect(page.get_by_text(f"Configurations: {len(data)}")).to_be_visible()


def test_only_ram_available_with_the_cores_is_offered(browser: ConsoleBrowser, client: Console) -> None:
    page = flavors_page(browser)
    data = client.call("GetFlavors")
    assert offered(page, "cores") == [str(each) for each in data["configs"]["vcpus"]]
    assert offered(page, "ram") == []
    expect(page.get_by_text("Choose the number of cores")).to_be_visible()
    for cores, sizes in data["limits"].items():
        choose(page, "cores", cores)
        assert offered(page, "ram") == [ram(size) for size in sizes]
        matching = [as_shown(each) for each in data["flavors"] if each["vcpus"] == int(cores)]
        assert rows(page, "picker") == matching
        choose(page, "ram", sizes[-1])
        both = [as_shown(each) for each in data["flavors"] if (each["vcpus"], each["ram"]) == (int(cores), sizes[-1])]
        assert rows(page, "picker") == both
        page.get_by_role("button", name="Start over").click()


def test_changing_cores_keeps_valid_ram_and_clears_other_with_a_message(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser, "?cores=2&ram=4096")
    choose(page, "cores", 4)
    expect(page.locator("input[name=ram][value='4096']")).to_be_checked()
    expect(page.locator(".picker-warning")).to_have_count(0)
    choose(page, "cores", 16)
    expect(page.locator("input[name=ram]:checked")).to_have_count(0)
    expect(page.locator(".picker-warning")).to_have_text(
        "4 GB RAM is not available with 16 cores. Choose another size."
    )
    expect(page.get_by_role("status").filter(has_text="is not available with 16 cores")).to_be_attached()
    assert page.evaluate("location.hash") == "#/flavors?cores=16"


def test_invalid_values_in_the_url_are_ignored(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser, "?cores=3")
    for query in ("?cores=3", "?cores=2&ram=1", "?cores=x&ram=y&sort=colour&order=sideways"):
        page.goto(f"/#/flavors{query}")
        wait_until_loaded(page)
        expect(page.locator("input[name=ram]:checked")).to_have_count(0)
        expect(page.locator(".flavor-list tbody tr")).to_have_count(50)


def test_the_picker_works_by_keyboard(browser: ConsoleBrowser, client: Console) -> None:
    page = flavors_page(browser)
    page.locator("input[name=cores]").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    expect(page.locator("input[name=cores][value='2']")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.locator("input[name=ram]:checked")).to_be_focused()
    found = client.flavors().matching(vcpus=2, ram=client.flavors().limits[2][0])
    expect(page.locator(".picker tbody tr")).to_have_count(len(found))
    page.get_by_role("button", name="Start over").focus()
    page.keyboard.press("Enter")
    expect(page.locator("input[name=cores]").first).to_be_focused()
    assert page.evaluate("location.hash") == "#/flavors"


def test_each_column_sorts_both_ways(browser: ConsoleBrowser, client: Console) -> None:
    page = flavors_page(browser)
    data = client.call("GetFlavors")["flavors"]
    columns = {"Name": "name", "ID": "id", "Cores": "vcpus", "RAM": "ram", "System disk": "disk"}
    for index, (column, field) in enumerate(columns.items()):
        heading = page.locator(".flavor-list").get_by_role("columnheader", name=column)
        button = heading.get_by_role("button")
        button.focus()
        for order in ("ascending", "descending"):
            page.keyboard.press("Enter")
            expect(heading).to_have_attribute("aria-sort", order)
            expect(button).to_be_focused()
            amounts = sorted((flavor[field] for flavor in data), key=natural_sort_key, reverse=order == "descending")
            shown = [as_shown({**data[0], field: amount})[index] for amount in amounts]
            assert [row[index] for row in rows(page, "flavor-list")] == shown
        expect(page.locator(".flavor-list [aria-sort]")).to_have_count(1)


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
        assert rows(page, "flavor-list") == found
        expect(page.get_by_role("status").filter(has_text=f"Found: {len(found)} of {len(data)}")).to_be_attached()
    expect(page.get_by_text("No configuration has this text in its name or ID.")).to_be_visible()


def test_reload_and_the_back_button_restore_the_selection(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser)
    choose(page, "cores", 8)
    choose(page, "ram", 16384)
    page.locator(".flavor-list").get_by_role("button", name="RAM").click()
    page.get_by_label("Search by name or ID").fill("8C")
    page.wait_for_url("**search=8C**")
    shown = rows(page, "picker"), rows(page, "flavor-list")
    page.reload()
    wait_until_loaded(page)
    assert (rows(page, "picker"), rows(page, "flavor-list")) == shown
    page.get_by_role("link", name="Domain").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Domains")
    page.go_back()
    wait_until_loaded(page)
    assert (rows(page, "picker"), rows(page, "flavor-list")) == shown


def test_a_search_does_not_change_the_url_of_another_page(browser: ConsoleBrowser) -> None:
    page = flavors_page(browser)
    page.get_by_label("Search by name or ID").fill("m1")
    page.evaluate("location.hash = '#/domain'")
    expect(page.get_by_role("heading", level=1)).to_have_text("Domains")
    # Longer than the delay after which a search is stored in the URL; a shorter wait never fails a correct page.
    page.wait_for_timeout(400)
    assert page.evaluate("location.hash") == "#/domain"


def test_many_flavors_are_shown_in_batches_and_all_searched(browser: ConsoleBrowser) -> None:
    def change(cloud: Cloud, _tenant: Cloud) -> None:
        cloud["flavors"] = [
            {"id": str(n), "name": f"f.{n}", "vcpus": n % 40 + 1, "ram": 1024 * (n % 60 + 1), "disk": n}
            for n in range(250)
        ]

    load_cloud(browser.console, change)
    page = flavors_page(browser)
    table = page.locator(".flavor-list tbody tr")
    expect(table).to_have_count(100)
    page.get_by_role("button", name="Show 100 more").click()
    expect(table).to_have_count(200)
    expect(table.nth(100).get_by_role("rowheader")).to_be_focused()
    page.get_by_label("Search by name or ID").fill("f.249")
    expect(page.get_by_text("Found: 1 of 250").first).to_be_visible()
    assert [row[0] for row in rows(page, "flavor-list")] == ["f.249"]


def test_an_empty_list_of_flavors_is_explained(browser: ConsoleBrowser) -> None:
    load_cloud(browser.console, lambda cloud, _tenant: cloud.update(flavors=[]))
    page = flavors_page(browser)
    expect(page.get_by_text("No configurations are available.")).to_have_count(2)
    assert_accessible(page)
