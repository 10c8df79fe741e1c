"""Assertions for checks, and the exceptions that fail or skip a check."""

from collections.abc import Sequence
from typing import Any, Final

from cloudconsole.conformance.redaction import json_line

MAX_REPORTED: Final = 3


class CheckFailed(Exception):
    """The console does not meet the check; the message says what it did instead."""

    def __init__(self, reason: str, *causes: str) -> None:
        """`causes` are IDs of checks whose failure explains this one."""
        super().__init__(reason)
        self.causes = causes


class CheckSkipped(Exception):
    """The check cannot be made; the message says why."""


class CausedBy(CheckSkipped):
    """The console does not meet the check, for a reason that another check reports."""

    def __init__(self, check: str, reason: str) -> None:
        super().__init__(f"because {check} failed: {reason}")
        self.check = check


def check(condition: object, reason: str, *causes: str) -> None:
    """Fail with this reason, or because one of the causes failed, unless the condition is true."""
    if not condition:
        raise CheckFailed(reason, *causes)


def check_equal(actual: Any, expected: Any, what: str) -> None:
    if actual != expected or type(actual) is not type(expected):
        raise CheckFailed(f"{what} is {json_line(actual)}, not {json_line(expected)}")


def check_no_problems(problems: Sequence[str]) -> None:
    """Fail if there are problems; report the first few."""
    if problems:
        more = len(problems) - MAX_REPORTED
        reported = "; ".join(problems[:MAX_REPORTED])
        raise CheckFailed(f"{reported}; and {more} more" if more > 0 else reported)
