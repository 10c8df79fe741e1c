"""Assertions of checks, and the exceptions by which a check fails or is skipped."""

from collections.abc import Sequence
from typing import Any, Final

from cloudconsole.conformance.redaction import shown

TOLD_AT_MOST: Final = 3


class Failed(Exception):
    """What the check demands does not hold; the text says what was seen instead."""


class Skipped(Exception):
    """There is nothing to look at; the text says why."""


def hold(condition: object, reason: str) -> None:
    """Fail for this reason unless the condition is true."""
    if not condition:
        raise Failed(reason)


def hold_equal(seen: Any, wanted: Any, what: str) -> None:
    if seen != wanted or type(seen) is not type(wanted):
        raise Failed(f"{what} is {shown(seen)}, not {shown(wanted)}")


def hold_all(problems: Sequence[str]) -> None:
    """Fail if there is any problem, telling the first few."""
    if problems:
        more = len(problems) - TOLD_AT_MOST
        told = "; ".join(problems[:TOLD_AT_MOST])
        raise Failed(f"{told}; and {more} more" if more > 0 else told)
