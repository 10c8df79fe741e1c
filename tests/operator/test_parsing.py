"""Parsing of the text of flags and forms."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from cloudconsole.operator.parsing import parse_json, parse_number, parse_switch


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_number, "-07", -7),
        (parse_number, "9" * 18, 10**18 - 1),
        (parse_switch, "true", True),
        (parse_switch, "false", False),
        (parse_json, '{"a": [1.10, null]}', {"a": [Decimal("1.10"), None]}),
    ],
)
def test_text_is_parsed(parse: Callable[[str], Any], text: str, value: Any) -> None:
    assert str(parse(text)) == str(value)


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (parse_number, "1.0", "must be a whole number"),
        (parse_number, "", "must be a whole number"),
        (parse_number, "9" * 19, "must be at most 2147483647"),
        (parse_switch, "True", "must be true or false"),
        (
            parse_json,
            '{"a":\n 1 2}',
            "must be JSON; line 2, column 4: expecting ',' delimiter",
        ),
        (parse_json, "NaN", "must be JSON"),
        (parse_json, "[" * 100_000, "must be JSON"),
    ],
)
def test_malformed_text_is_rejected(parse: Callable[[str], Any], text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        parse(text)
