"""Flavors: the picker offers what goes together and nothing else; the table has all, sorted and searched."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from cloudconsole import Console
from cloudconsole.testing import ConsoleServer
from tests.browser.changing import HOSTILE, Cloud, change_cloud, ran_scripts
from tests.browser.looking import LOOKS, PHONE, Eyes, faults_of, is_cut_off, look_well, settled, signed_in

Row = list[str]


def flavors_page(eyes: Eyes, query: str = "", **options: Any) -> Page:
    return signed_in(eyes, f"/#/flavors{query}", **options)


def offered(page: Page, name: str) -> list[str]:
    return page.locator(f"input[name={name}] + span").all_inner_texts()


def choose(page: Page, name: str, value: int) -> None:
    page.locator(f"input[name={name}][value='{value}']").check(force=True)


def rows(page: Page, part: str) -> list[Row]:
    """The rows of a table as they are shown, without the words on their buttons."""
    read = "rows => rows.map(row => [...row.cells].map(cell => (cell.querySelector('bdi') ?? cell).textContent))"
    shown: list[Row] = page.locator(f".{part} tbody tr").evaluate_all(read)
    return shown


def ram(megabytes: int) -> str:
    return f"{megabytes:,} MB" if megabytes % 1024 else f"{megabytes // 1024:,} GB"


def as_shown(flavor: Any) -> Row:
    disk = f"{flavor['disk']:,} GB" if flavor["disk"] else "No system disk"
    return [flavor["name"], flavor["id"], f"{flavor['vcpus']:,}", ram(flavor["ram"]), disk]


def test_all_flavors_are_as_the_interface_tells_them(eyes: Eyes, interface: Console) -> None:
    page = flavors_page(eyes)
    told = interface.call("GetFlavors")["flavors"]
    assert rows(page, "flavor-list") == [as_shown(flavor) for flavor in told]
    expect(page.get_by_text(f"Configurations: {len(told)}")).to_be_visible()


def test_only_ram_that_goes_with_the_cores_is_offered(eyes: Eyes, interface: Console) -> None:
    page = flavors_page(eyes)
    told = interface.call("GetFlavors")
    assert offered(page, "cores") == [str(each) for each in told["configs"]["vcpus"]]
    assert offered(page, "ram") == []
    expect(page.get_by_text("Choose the number of cores")).to_be_visible()
    for cores, sizes in told["limits"].items():
        choose(page, "cores", cores)
        assert offered(page, "ram") == [ram(size) for size in sizes]
        matching = [as_shown(each) for each in told["flavors"] if each["vcpus"] == int(cores)]
        assert rows(page, "picker") == matching
        choose(page, "ram", sizes[-1])
        both = [as_shown(each) for each in told["flavors"] if (each["vcpus"], each["ram"]) == (int(cores), sizes[-1])]
        assert rows(page, "picker") == both
        page.get_by_role("button", name="Start over").click()


def test_ram_is_kept_where_it_still_goes_and_else_let_go_in_words(eyes: Eyes) -> None:
    page = flavors_page(eyes, "?cores=2&ram=4096")
    choose(page, "cores", 4)
    expect(page.locator("input[name=ram][value='4096']")).to_be_checked()
    expect(page.locator(".picker-warning")).to_have_count(0)
    choose(page, "cores", 16)
    expect(page.locator("input[name=ram]:checked")).to_have_count(0)
    expect(page.locator(".picker-warning")).to_have_text("4 GB RAM is not available with 16 cores. Choose another size.")
    expect(page.get_by_role("status").filter(has_text="is not available with 16 cores")).to_be_attached()
    assert page.evaluate("location.hash") == "#/flavors?cores=16"


def test_an_address_that_cannot_be_is_passed_over(eyes: Eyes) -> None:
    page = flavors_page(eyes, "?cores=3")
    for query in ("?cores=3", "?cores=2&ram=1", "?cores=x&ram=y&sort=colour&order=sideways"):
        page.goto(f"/#/flavors{query}")
        settled(page)
        expect(page.locator("input[name=ram]:checked")).to_have_count(0)
        expect(page.locator(".flavor-list tbody tr")).to_have_count(50)


def test_the_picker_is_used_by_keyboard_alone(eyes: Eyes, interface: Console) -> None:
    page = flavors_page(eyes)
    page.locator("input[name=cores]").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    expect(page.locator("input[name=cores][value='2']")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.locator("input[name=ram]:checked")).to_be_focused()
    found = interface.flavors().matching(vcpus=2, ram=interface.flavors().limits[2][0])
    expect(page.locator(".picker tbody tr")).to_have_count(len(found))
    page.get_by_role("button", name="Start over").focus()
    page.keyboard.press("Enter")
    expect(page.locator("input[name=cores]").first).to_be_focused()
    assert page.evaluate("location.hash") == "#/flavors"


def test_each_column_sorts_both_ways(eyes: Eyes, interface: Console) -> None:
    page = flavors_page(eyes)
    told = interface.call("GetFlavors")["flavors"]
    columns = {"Name": "name", "ID": "id", "Cores": "vcpus", "RAM": "ram", "System disk": "disk"}
    for at, (column, field) in enumerate(columns.items()):
        heading = page.locator(".flavor-list").get_by_role("columnheader", name=column)
        button = heading.get_by_role("button")
        button.focus()
        for order in ("ascending", "descending"):
            page.keyboard.press("Enter")
            expect(heading).to_have_attribute("aria-sort", order)
            expect(button).to_be_focused()
            amounts = sorted((flavor[field] for flavor in told), key=counted, reverse=order == "descending")
            shown = [as_shown({**told[0], field: amount})[at] for amount in amounts]
            assert [row[at] for row in rows(page, "flavor-list")] == shown
        expect(page.locator(".flavor-list [aria-sort]")).to_have_count(1)


def counted(value: str | int) -> Any:
    """What to sort by: texts by the numbers in them, as people do."""
    if isinstance(value, int):
        return value
    return [(not part.isdigit(), int(part) if part.isdigit() else part) for part in re.findall(r"\d+|\D+", value)]


def test_the_search_finds_by_name_and_id_and_tells_how_many(eyes: Eyes, interface: Console) -> None:
    page = flavors_page(eyes)
    told = interface.call("GetFlavors")["flavors"]
    for words in ("M1.", "13", "nothing like it"):
        page.get_by_label("Search by name or ID").fill(words)
        found = [as_shown(each) for each in told if words.lower() in each["name"].lower() or words in each["id"]]
        assert rows(page, "flavor-list") == found
        expect(page.get_by_role("status").filter(has_text=f"Found: {len(found)} of {len(told)}")).to_be_attached()
    expect(page.get_by_text("No configuration has this text in its name or ID.")).to_be_visible()


def test_what_was_chosen_is_there_again_after_a_reload_and_on_the_way_back(eyes: Eyes) -> None:
    page = flavors_page(eyes)
    choose(page, "cores", 8)
    choose(page, "ram", 16384)
    page.locator(".flavor-list").get_by_role("button", name="RAM").click()
    page.get_by_label("Search by name or ID").fill("8C")
    page.wait_for_url("**search=8C**")
    shown = rows(page, "picker"), rows(page, "flavor-list")
    page.reload()
    settled(page)
    assert (rows(page, "picker"), rows(page, "flavor-list")) == shown
    page.get_by_role("link", name="Domain").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Domain")
    page.go_back()
    settled(page)
    assert (rows(page, "picker"), rows(page, "flavor-list")) == shown


def test_a_search_leaves_the_address_of_another_page_alone(eyes: Eyes) -> None:
    page = flavors_page(eyes)
    page.get_by_label("Search by name or ID").fill("m1")
    page.evaluate("location.hash = '#/domain'")
    expect(page.get_by_role("heading", level=1)).to_have_text("Domain")
    page.wait_for_timeout(400)
    assert page.evaluate("location.hash") == "#/domain"


def test_the_id_of_a_match_is_copied(eyes: Eyes, interface: Console) -> None:
    page = flavors_page(eyes, "?cores=16", permissions=["clipboard-read", "clipboard-write"])
    flavor = interface.flavors().matching(vcpus=16)[0]
    page.get_by_role("button", name=f"Copy ID of {flavor.name}", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="Copied")).to_be_attached()
    assert page.evaluate("navigator.clipboard.readText()") == flavor.id


def test_thousands_of_flavors_come_in_slices_and_are_all_searched(
    eyes: Eyes, console: ConsoleServer, tmp_path: Path
) -> None:
    def change(cloud: Cloud, _tenant: Cloud) -> None:
        cloud["flavors"] = [
            {"id": str(n), "name": f"f.{n}", "vcpus": n % 40 + 1, "ram": 1024 * (n % 60 + 1), "disk": n}
            for n in range(5000)
        ]

    change_cloud(console, tmp_path, change)
    page = flavors_page(eyes)
    table = page.locator(".flavor-list tbody tr")
    expect(table).to_have_count(100)
    page.get_by_role("button", name="Show 100 more").click()
    expect(table).to_have_count(200)
    expect(table.nth(100).get_by_role("rowheader")).to_be_focused()
    page.get_by_label("Search by name or ID").fill("f.4999")
    expect(page.get_by_text("Found: 1 of 5,000").first).to_be_visible()
    assert [row[0] for row in rows(page, "flavor-list")] == ["f.4999"]


def test_no_flavors_at_all_are_told_in_words(eyes: Eyes, console: ConsoleServer, tmp_path: Path) -> None:
    change_cloud(console, tmp_path, lambda cloud, _tenant: cloud.update(flavors=[]))
    page = flavors_page(eyes)
    expect(page.get_by_text("No configurations are available.")).to_have_count(2)
    assert faults_of(page) == ""


def test_hostile_names_are_text(eyes: Eyes, console: ConsoleServer, interface: Console, tmp_path: Path) -> None:
    def change(cloud: Cloud, _tenant: Cloud) -> None:
        cloud["flavors"] = [
            {"id": str(n), "name": name, "vcpus": 1, "ram": 1536, "disk": 0} for n, name in enumerate(HOSTILE)
        ]

    change_cloud(console, tmp_path, change)
    page = flavors_page(eyes, "?cores=1", viewport=PHONE)
    names = [flavor.name for flavor in interface.flavors()]
    assert [row[0] for row in rows(page, "flavor-list")] == names
    assert [row[0] for row in rows(page, "picker")] == names
    assert not ran_scripts(page)
    assert not is_cut_off(page)
    assert faults_of(page) == ""


def test_a_refused_call_is_told_with_a_retry(eyes: Eyes, console: ConsoleServer) -> None:
    console.fault("unavailable", call="GetFlavors", retry_after=1)
    page = flavors_page(eyes)
    expect(page.get_by_role("alert").filter(has_text=re.compile(r"\w"))).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".flavor-list tbody tr")).to_have_count(50)
    assert eyes.statuses() == [503, 200]


@pytest.mark.parametrize(("locale", "theme", "size"), LOOKS)
def test_it_is_fit_to_be_read_by_all(eyes: Eyes, locale: str, theme: str, size: str) -> None:
    page = flavors_page(eyes, "?cores=2&ram=4096&sort=ram", locale=locale, color_scheme=theme)
    look_well(page, f"flavors-{locale[:2]}-{theme}", size)
