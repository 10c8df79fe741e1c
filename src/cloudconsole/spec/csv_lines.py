"""Lines of CSV that spreadsheets do not evaluate."""

import csv
import re
from collections.abc import Sequence
from io import StringIO
from typing import Final

_FORMULA: Final = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")
"""Some spreadsheets ignore whitespace before a formula."""
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def csv_line(values: Sequence[str]) -> str:
    text = StringIO()
    # The writer quotes only characters of its line terminator; with CRLF it quotes both.
    csv.writer(text, lineterminator="\r\n").writerow(map(_without_formula, values))
    return text.getvalue().removesuffix("\r\n") + "\n"


def _without_formula(text: str) -> str:
    """Prefix with an apostrophe what a spreadsheet would run as a formula, as OWASP advises; numbers stay numbers."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text
