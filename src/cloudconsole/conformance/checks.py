"""Definition of checks, and decorators for checks that run on the payload of each body form."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Literal, NamedTuple

from cloudconsole.conformance.assertions import CheckFailed, CheckSkipped
from cloudconsole.conformance.context import CheckContext

Profile = Literal["interface", "console"]
Level = Literal["must", "should", "info"]

CheckFunction = Callable[[CheckContext], str | None]
"""Returns an optional note; raises `CheckFailed` or `CheckSkipped`."""


class Check(NamedTuple):
    id: str
    profile: Profile
    section: str
    """The section of the interface, or of this project's documentation, that requires it."""
    level: Level
    title: str
    examine: CheckFunction
    needs: tuple[str, ...] = ()
    """IDs of checks that must pass first."""


class CheckGroup(list[Check]):
    """Checks of one module, in order of definition; a check's title is its function's docstring."""

    def __init__(self, profile: Profile) -> None:
        super().__init__()
        self._profile = profile

    def must(self, name: str, section: str, *needs: str) -> Callable[[CheckFunction], CheckFunction]:
        return self._decorator(name, section, "must", needs)

    def should(self, name: str, section: str, *needs: str) -> Callable[[CheckFunction], CheckFunction]:
        return self._decorator(name, section, "should", needs)

    def info(self, name: str, section: str, *needs: str) -> Callable[[CheckFunction], CheckFunction]:
        return self._decorator(name, section, "info", needs)

    def _decorator(
        self, name: str, section: str, level: Level, needs: tuple[str, ...]
    ) -> Callable[[CheckFunction], CheckFunction]:
        def add(examine: CheckFunction) -> CheckFunction:
            title = " ".join((examine.__doc__ or "").split())
            self.append(Check(name, self._profile, section, level, title, examine, needs))
            return examine

        return add


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
