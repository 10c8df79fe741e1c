"""Exact arithmetic and formatting of amounts (core/money.js)."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from cloudconsole.testing import ConsoleServer

CALL = """async ([name, values]) => {
  const main = document.querySelector("script[type=module]").src;
  const money = await import(main.replace("main.js", "core/money.js"));
  return money[name](...values);
}"""


@pytest.fixture(scope="module")
def page(chromium: Browser, server: ConsoleServer) -> Iterator[Page]:
    page = chromium.new_page()
    page.goto(server.address)
    yield page
    page.close()


def money(page: Page, name: str, *values: Any) -> Any:
    return page.evaluate(CALL, [name, values])


@pytest.mark.parametrize(
    ("amounts", "total"),
    [
        ([], "0.00"),
        (["0.10", "0.20"], "0.30"),
        (["0.999999999", "0.000000001"], "1.00"),
        (["0.000000001", "12345678901234567890.5"], "12345678901234567890.500000001"),
        (["0.000000000001", "0.1"], "0.100000000001"),
        (["1", "2.5"], "3.50"),
        (["-1.25", "1"], "-0.25"),
        (["9007199254740993.00", "0.01"], "9007199254740993.01"),
    ],
)
def test_a_sum_is_exact(page: Page, amounts: list[str], total: str) -> None:
    assert money(page, "sum", amounts) == total


@pytest.mark.parametrize("amount", ["", "1e3", "1.", ".5", "12,5", "NaN", "1.2.3"])
def test_an_invalid_amount_is_rejected(page: Page, amount: str) -> None:
    with pytest.raises(Exception, match="not an amount"):
        money(page, "sum", [amount])


@pytest.mark.parametrize(
    ("amount", "grouped"),
    [
        ("0.00", "0.00"),
        ("999.123456789", "999.123456789"),
        ("1234567.00", "1,234,567.00"),
        ("-1234.5", "-1,234.5"),
        ("1000", "1,000"),
    ],
)
def test_thousands_are_separated_and_decimals_unchanged(page: Page, amount: str, grouped: str) -> None:
    assert money(page, "groupThousands", amount) == grouped


@pytest.mark.parametrize(
    ("amount", "total", "share"),
    [("0.25", "1.00", 0.25), ("1.00", "0.00", 0), ("0.000000001", "0.000000002", 0.5), ("3", "3.000", 1)],
)
def test_a_share_is_a_fraction_of_the_total(page: Page, amount: str, total: str, share: float) -> None:
    assert money(page, "share", amount, total) == share
