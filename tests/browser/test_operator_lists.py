"""Lists of the admin UI: order, pages, downloads and keys, on desktops and phones."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.helpers import (
    PHONE,
    ConsoleBrowser,
    assert_accessible,
    axe_violations,
    overflows,
    screenshot,
    sign_in,
)


@pytest.fixture
def page(browser: ConsoleBrowser) -> Page:
    """The resources that a signed-in operator finds."""
    opened = browser.open("/admin/resource/?search=data")
    sign_in(opened, "operator")
    expect(opened.get_by_role("heading", level=1)).to_have_text("Resources")
    return opened


def row_names(page: Page) -> Locator:
    return page.locator("tbody th a")


def test_list_is_sorted_by_headings_both_ways(page: Page) -> None:
    heading = page.get_by_role("columnheader", name="Name")
    for direction in ("ascending", "descending"):
        heading.get_by_role("link").click()
        expect(heading).to_have_attribute("aria-sort", direction)
        names = page.locator("tbody td:nth-child(4)").all_inner_texts()
        assert (len(names) > 2, names) == (True, sorted(names, reverse=direction == "descending"))
    expect(page.get_by_label("ID or name")).to_have_value("data")
    expect(page.locator("[aria-sort]")).to_have_count(1)
    expect(page.get_by_role("columnheader", name="Node").get_by_role("link")).to_have_count(0)
    assert_accessible(page)


def test_list_is_sorted_on_phones_without_javascript(browser: ConsoleBrowser) -> None:
    page = browser.open("/admin/price/", viewport=PHONE, java_script_enabled=False, color_scheme="dark")
    sign_in(page, "operator")
    price = page.get_by_role("columnheader", name="Price").get_by_role("link")
    expect(price).to_be_in_viewport()
    price.click()
    amounts = [float(text) for text in page.locator("tbody td.number").all_inner_texts()]
    assert (len(amounts) > 2, amounts) == (True, sorted(amounts))
    box = price.bounding_box()
    assert box
    assert min(box["width"], box["height"]) >= 24
    assert not overflows(page)


def test_price_has_columns_and_its_row_leads_to_its_page(page: Page) -> None:
    page.goto("/admin/price/?kind=volume&node=hk-1")
    headings = ["Kind", "Unit", "Type", "Node", "Price (CNY per hour)", "In force from", "State"]
    expect(page.get_by_role("columnheader")).to_have_text(headings)
    row = page.get_by_role("row").filter(has_text="in force")
    cells = ["Per GB", "", "hk-1", "0.000385125", "2026-01-01 00:00:00", "in force"]
    expect(row.get_by_role("cell")).to_have_text(cells)
    row.get_by_role("link", name="Volume GB of a volume on hk-1, from 2026-01-01 00:00").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("GB of a volume on hk-1, from 2026-01-01 00:00")


def test_pages_lead_forward_and_back(page: Page) -> None:
    page.goto("/admin/node/add/")
    for number in range(51):
        page.context.request.post(
            "/admin/node/add/",
            form={
                "csrfmiddlewaretoken": page.locator("[name=csrfmiddlewaretoken]").first.input_value(),
                "name": f"n{number:02}",
            },
            headers={"Origin": page.url.partition("/admin/")[0]},
        )
    page.goto("/admin/node/?search=N&sort=-name")
    expect(page.get_by_role("caption")).to_have_text("Nodes matching the filters, 50 of 51")
    expect(page.get_by_role("link", name="Previous page")).to_have_count(0)
    page.get_by_role("link", name="Next page").click()
    expect(row_names(page)).to_have_text(["n00"])
    expect(page.get_by_role("link", name="Next page")).to_have_count(0)
    page.get_by_role("link", name="Previous page").click()
    expect(row_names(page)).to_have_text([f"n{number:02}" for number in range(50, 0, -1)])
    expect(page.get_by_role("link", name="Next page")).to_be_visible()
    assert axe_violations(page) == ""


def test_found_rows_are_downloaded_as_csv(page: Page, tmp_path: Path) -> None:
    page.get_by_role("columnheader", name="Name").get_by_role("link").click()
    names = page.locator("tbody td:nth-child(4)").all_inner_texts()
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download CSV").click()
    assert re.fullmatch(r"resources-data-2026-11-\d\d\.csv", downloading.value.suggested_filename)
    downloading.value.save_as(tmp_path / "resources.csv")
    with (tmp_path / "resources.csv").open(encoding="utf-8-sig", newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == names


def test_keys_move_through_the_rows_and_open_one(page: Page) -> None:
    rows = row_names(page)
    keys = page.keyboard
    keys.press("ArrowDown")
    expect(rows.first).not_to_be_focused()
    keys.press("j")
    expect(rows.nth(0)).to_be_focused()
    keys.press("j")
    keys.press("ArrowDown")
    expect(rows.nth(2)).to_be_focused()
    keys.press("k")
    keys.press("ArrowUp")
    keys.press("k")
    expect(rows.nth(0)).to_be_focused()
    screenshot(page, "admin-list-keys")
    keys.press("Control+j")
    expect(rows.nth(0)).to_be_focused()
    keys.press("j")
    name = rows.nth(1).inner_text()
    keys.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text(name)


def test_slash_goes_to_the_search_where_all_keys_are_text(page: Page) -> None:
    field = page.get_by_label("ID or name")
    page.keyboard.press("/")
    expect(field).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.type("/jk")
    expect(field).to_have_value("data/jk")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No resources found.")).to_be_visible()


def test_keys_move_through_the_audit_log(page: Page) -> None:
    page.goto("/admin/audit/?log=access")
    rows = page.locator("tbody tr")
    page.keyboard.press("j")
    expect(rows.first.get_by_role("link").first).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_label("Account", exact=True)).to_be_focused()
    page.goto("/admin/audit/")
    page.keyboard.press("j")
    expect(rows.first).to_be_focused()


def test_keys_can_be_turned_off(page: Page) -> None:
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    toggle = dialog.get_by_role("checkbox")
    expect(dialog).to_contain_text("Next row")
    assert_accessible(page)
    screenshot(page, "admin-list-shortcuts")
    toggle.uncheck()
    dialog.get_by_role("button", name="Close").click()
    page.reload()
    for key in ("j", "/", "?"):
        page.keyboard.press(key)
    expect(page.locator("body")).to_be_focused()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    toggle.check()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.locator("body").press("j")
    expect(row_names(page).first).to_be_focused()


def test_keys_are_not_offered_without_javascript(browser: ConsoleBrowser) -> None:
    page = browser.open("/admin/resource/", java_script_enabled=False)
    sign_in(page, "operator")
    expect(page.get_by_role("table")).to_be_visible()
    expect(page.locator(".keys-opener")).to_be_hidden()


def test_list_is_in_chinese(browser: ConsoleBrowser) -> None:
    page = browser.open("/admin/price/?node=hk-1", locale="zh-CN", color_scheme="dark")
    sign_in(page, "operator")
    expect(page.get_by_role("caption")).to_have_text(re.compile(r"^符合条件的价格，共 \d+ 条$"))
    expect(page.get_by_role("link", name="下载 CSV")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="生效中").first).to_be_visible()
    assert_accessible(page)
