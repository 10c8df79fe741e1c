"""Assertions of checks, and the exceptions by which a check fails or is skipped."""

from collections.abc import Sequence
from typing import Any, Final

from cloudconsole.conformance.redaction import quote_value

MAX_REPORTED: Final = 3


class CheckFailed(Exception):
    """What the check demands does not hold; the text says what was seen instead."""


class CheckSkipped(Exception):
    """There is nothing to look at; the text says why."""


def check(condition: object, reason: str) -> None:
    """Fail for this reason unless the condition is true."""
    if not condition:
        raise CheckFailed(reason)


def check_equal(seen: Any, wanted: Any, what: str) -> None:
    if seen != wanted or type(seen) is not type(wanted):
        raise CheckFailed(f"{what} is {quote_value(seen)}, not {quote_value(wanted)}")


def check_no_problems(problems: Sequence[str]) -> None:
    """Fail if there is any problem, telling the first few."""
    if problems:
        more = len(problems) - MAX_REPORTED
        told = "; ".join(problems[:MAX_REPORTED])
        raise CheckFailed(f"{told}; and {more} more" if more > 0 else told)
