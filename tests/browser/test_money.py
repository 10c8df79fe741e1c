"""Exact arithmetic and formatting of amounts (core/money.js)."""

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

SOURCE = files("cloudconsole").joinpath("web/console/core/money.js").read_text()
CALL = """async ([source, name, values]) => {
  const money = await import(`data:text/javascript,${encodeURIComponent(source)}`);
  return money[name](...values);
}"""


@pytest.fixture(scope="module")
def page(chromium: Browser) -> Iterator[Page]:
    page = chromium.new_page()
    yield page
    page.close()


@pytest.mark.parametrize(
    ("name", "values", "result"),
    [
        ("sum", [[]], "0.00"),
        ("sum", [["0.10", "0.20"]], "0.30"),
        ("sum", [["0.999999999", "0.000000001"]], "1.00"),
        ("sum", [["0.000000001", "12345678901234567890.5"]], "12345678901234567890.500000001"),
        ("sum", [["0.000000000001", "0.1"]], "0.100000000001"),
        ("sum", [["1", "2.5"]], "3.50"),
        ("sum", [["-1.25", "1"]], "-0.25"),
        ("sum", [["9007199254740993.00", "0.01"]], "9007199254740993.01"),
        ("round", ["0.125", 2], "0.13"),
        ("round", ["-0.125", 2], "-0.13"),
        ("round", ["0.124999999999", 2], "0.12"),
        ("round", ["9007199254740993.995", 2], "9007199254740994.00"),
        ("round", ["-0.001", 2], "0.00"),
        ("round", ["1", 2], "1.00"),
        ("round", ["1.5", 0], "2"),
        ("compare", ["0.10", "0.1"], 0),
        ("compare", ["9007199254740993.1", "9007199254740993.09"], 1),
        ("compare", ["-2", "1.00"], -1),
        ("groupThousands", ["0.00"], "0.00"),
        ("groupThousands", ["999.123456789"], "999.123456789"),
        ("groupThousands", ["1234567.00"], "1,234,567.00"),
        ("groupThousands", ["-1234.5"], "−1,234.5"),
        ("groupThousands", ["1000"], "1,000"),
        ("share", ["0.25", "1.00"], 0.25),
        ("share", ["1.00", "0.00"], 0),
        ("share", ["0.000000001", "0.000000002"], 0.5),
        ("share", ["3", "3.000"], 1),
    ],
)
def test_amounts_are_computed_and_formatted_exactly(page: Page, name: str, values: list[Any], result: object) -> None:
    assert page.evaluate(CALL, [SOURCE, name, values]) == result


@pytest.mark.parametrize("amount", ["", "1e3", "1.", ".5", "12,5", "NaN", "1.2.3"])
def test_an_invalid_amount_is_rejected(page: Page, amount: str) -> None:
    with pytest.raises(Exception, match="not an amount"):
        page.evaluate(CALL, [SOURCE, "sum", [[amount]]])
