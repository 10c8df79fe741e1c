"""A check: where it comes from, its level and its function; and checks that look at each body form."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Literal, NamedTuple

from cloudconsole.conformance.assertions import CheckFailed, CheckSkipped
from cloudconsole.conformance.context import CheckContext

Profile = Literal["interface", "console"]
Level = Literal["must", "should", "info"]

CheckFunction = Callable[[CheckContext], str | None]
"""Looks, and may give a note; raises `Failed` or `Skipped`."""


class Check(NamedTuple):
    id: str
    profile: Profile
    section: str
    """The part of the interface, or of this project's documentation, that says so."""
    level: Level
    title: str
    examine: CheckFunction
    needs: tuple[str, ...] = ()
    """Checks without which this one cannot tell anything."""


class CheckGroup(list[Check]):
    """Checks of one module, in the order in which they stand there; a check's title is its function's docstring."""

    def __init__(self, profile: Profile) -> None:
        super().__init__()
        self._profile = profile

    def must(self, name: str, section: str, *needs: str) -> Callable[[CheckFunction], CheckFunction]:
        return self._adding(name, section, "must", needs)

    def should(self, name: str, section: str, *needs: str) -> Callable[[CheckFunction], CheckFunction]:
        return self._adding(name, section, "should", needs)

    def info(self, name: str, section: str, *needs: str) -> Callable[[CheckFunction], CheckFunction]:
        return self._adding(name, section, "info", needs)

    def _adding(
        self, name: str, section: str, level: Level, needs: tuple[str, ...]
    ) -> Callable[[CheckFunction], CheckFunction]:
        def add(examine: CheckFunction) -> CheckFunction:
            title = " ".join((examine.__doc__ or "").split())
            self.append(Check(name, self._profile, section, level, title, examine, needs))
            return examine

        return add


PayloadCheck = Callable[[Any], str | None]


def for_each_payload(action: str) -> Callable[[PayloadCheck], CheckFunction]:
    """Look at the action's `data`; lists must have something in them."""

    def look_at(data: Any, look: PayloadCheck) -> str | None:
        if data == []:
            raise CheckSkipped(f"{action} gave an empty list")
        return look(data)

    return _of_each(lambda console: console.payloads(action), look_at)


def for_each_domain(look: PayloadCheck) -> CheckFunction:
    """Look at all domains whose ids were given, a list."""
    return _of_each(lambda console: console.domains_by_form(), lambda domains, look: look(domains))(look)


def _of_each(
    find: Callable[[CheckContext], Iterable[tuple[str, Any]]], look_at: Callable[[Any, PayloadCheck], str | None]
) -> Callable[[PayloadCheck], CheckFunction]:
    def checked(look: PayloadCheck) -> CheckFunction:
        @wraps(look)
        def examine(console: CheckContext) -> str | None:
            notes: list[str | None] = []
            problems, nothing = [], None
            for label, seen in find(console):
                try:
                    notes.append(look_at(seen, look))
                except CheckFailed as reason:
                    problems.append(f"{label}{reason}")
                except CheckSkipped as reason:
                    nothing = reason
            if problems:
                raise CheckFailed("; ".join(problems))
            if nothing is not None and not notes:
                raise nothing
            return notes[0]

        return examine

    return checked
