"""Decorators for checks that run on the payload of each body form."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from cloudconsole.conformance.assertions import CheckFailed, CheckSkipped
from cloudconsole.conformance.checks import CheckFunction
from cloudconsole.conformance.context import CheckContext

PayloadCheck = Callable[[Any], str | None]


def for_each_payload(action: str) -> Callable[[PayloadCheck], CheckFunction]:
    """Run the check on the action's `data`; skip empty lists."""

    def apply(data: Any, payload_check: PayloadCheck) -> str | None:
        if data == []:
            raise CheckSkipped(f"{action} returned an empty list")
        return payload_check(data)

    return _for_each(lambda console: console.payloads(action), apply)


def for_each_domain(payload_check: PayloadCheck) -> CheckFunction:
    """Run the check on the list of all domains given by ID."""
    return _for_each(lambda console: console.domains_by_form(), lambda domains, payload_check: payload_check(domains))(
        payload_check
    )


def _for_each(
    payloads: Callable[[CheckContext], Iterable[tuple[str, Any]]], apply: Callable[[Any, PayloadCheck], str | None]
) -> Callable[[PayloadCheck], CheckFunction]:
    def decorator(payload_check: PayloadCheck) -> CheckFunction:
        @wraps(payload_check)
        def examine(console: CheckContext) -> str | None:
            notes: list[str | None] = []
            problems, skipped = [], None
            for label, payload in payloads(console):
                try:
                    notes.append(apply(payload, payload_check))
                except CheckFailed as reason:
                    problems.append(f"{label}{reason}")
                except CheckSkipped as reason:
                    skipped = reason
            if problems:
                raise CheckFailed("; ".join(problems))
            if skipped is not None and not notes:
                raise skipped
            return notes[0]

        return examine

    return decorator
