"""Definition of checks, and their groups."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from cloudconsole.conformance.context import CheckContext

Profile = Literal["interface", "console", "extensions"]
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
    causes: tuple[str, ...] = ()
    """IDs of earlier checks whose failure explains a failure of this one."""


class CheckGroup(list[Check]):
    """Checks of one module, in order of definition; a check's title is its function's docstring."""

    def __init__(self, profile: Profile) -> None:
        super().__init__()
        self._profile = profile

    def must(
        self, name: str, section: str, *needs: str, causes: tuple[str, ...] = ()
    ) -> Callable[[CheckFunction], CheckFunction]:
        return self._decorator(name, section, "must", needs, causes)

    def should(
        self, name: str, section: str, *needs: str, causes: tuple[str, ...] = ()
    ) -> Callable[[CheckFunction], CheckFunction]:
        return self._decorator(name, section, "should", needs, causes)

    def info(self, name: str, section: str, *needs: str) -> Callable[[CheckFunction], CheckFunction]:
        return self._decorator(name, section, "info", needs)

    def _decorator(
        self, name: str, section: str, level: Level, needs: tuple[str, ...], causes: tuple[str, ...] = ()
    ) -> Callable[[CheckFunction], CheckFunction]:
        def add(examine: CheckFunction) -> CheckFunction:
            title = " ".join((examine.__doc__ or "").split())
            self.append(Check(name, self._profile, section, level, title, examine, needs, causes))
            return examine

        return add
