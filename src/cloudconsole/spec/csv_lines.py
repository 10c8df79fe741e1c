"""Lines of CSV that spreadsheets do not evaluate."""

import csv
import re
from collections.abc import Sequence
from io import StringIO
from typing import Final

_NUMBER: Final = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_FORMULA: Final = re.compile(
    rf"""
    (?: \A (?!{_NUMBER}\Z) | (?<=[;\t\r\n]) (?!{_NUMBER}(?:[;\t\r\n]|\Z)) )
    (?=[\s"]*[=+\-@＝＋－＠])
    | \A(?=[\t\r\n])
    """,
    re.VERBOSE,
)
"""Where a spreadsheet would see the beginning of a formula.

In many languages it splits lines at semicolons, or else at tabs, and then the quotes of a field do not protect it. Some
ignore whitespace before a formula.
"""


def csv_line(values: Sequence[str]) -> str:
    text = StringIO()
    # The writer quotes only characters of its line terminator; with CRLF it quotes both.
    csv.writer(text, lineterminator="\r\n").writerow(map(_without_formulas, values))
    return text.getvalue().removesuffix("\r\n") + "\n"


def _without_formulas(text: str) -> str:
    """Prefix with an apostrophe what a spreadsheet would run as a formula, as OWASP advises; numbers stay numbers."""
    return _FORMULA.sub("'", text)
