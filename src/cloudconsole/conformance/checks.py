"""What a check is: where it comes from, how much depends on it, and the function that looks."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from cloudconsole.conformance.showing import shown

if TYPE_CHECKING:
    from cloudconsole.conformance.examination import Examination

Profile = Literal["interface", "console"]
Level = Literal["must", "should", "info"]

Examine = Callable[["Examination"], str | None]
"""Looks, and may give a note; raises `Failed` or `Skipped`."""

TOLD_AT_MOST: Final = 3


class Failed(Exception):
    """What the check demands does not hold; the text says what was seen instead."""


class Skipped(Exception):
    """There is nothing to look at; the text says why."""


class Check(NamedTuple):
    id: str
    profile: Profile
    section: str
    """The part of the interface, or of this project's documentation, that says so."""
    level: Level
    title: str
    examine: Examine
    needs: tuple[str, ...] = ()
    """Checks without which this one cannot tell anything."""


class Group(list[Check]):
    """Checks of one module, in the order in which they stand there; a check's title is its function's docstring."""

    def __init__(self, profile: Profile) -> None:
        super().__init__()
        self._profile = profile

    def must(self, name: str, section: str, *needs: str) -> Callable[[Examine], Examine]:
        return self._adding(name, section, "must", needs)

    def should(self, name: str, section: str, *needs: str) -> Callable[[Examine], Examine]:
        return self._adding(name, section, "should", needs)

    def info(self, name: str, section: str, *needs: str) -> Callable[[Examine], Examine]:
        return self._adding(name, section, "info", needs)

    def _adding(self, name: str, section: str, level: Level, needs: tuple[str, ...]) -> Callable[[Examine], Examine]:
        def add(examine: Examine) -> Examine:
            title = " ".join((examine.__doc__ or "").split())
            self.append(Check(name, self._profile, section, level, title, examine, needs))
            return examine

        return add


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
