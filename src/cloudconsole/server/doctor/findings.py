"""What a check is given, and what it finds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from cloudconsole.server.settings import Settings

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Login:
    """A user of a cloud, as whom to look into it."""

    address: str
    """The identity endpoint's, in one form."""
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class Case:
    """The console to look at."""

    settings: Settings
    setting_problems: list[str]
    now: float
    quick: bool = False
    unknown: frozenset[str] = frozenset()
    """Settings whose value cannot be told: what hangs on them is not looked at."""
    login: Login | None = None
    """Without one, a cloud behind the console is looked at only from outside."""


class Finding(NamedTuple):
    level: Level
    text: str
    mend: str = ""


def ok(text: str) -> Finding:
    return Finding("ok", text)


def warning(text: str, mend: str) -> Finding:
    return Finding("warning", text, mend)


def problem(text: str, mend: str) -> Finding:
    return Finding("problem", text, mend)


class Check(NamedTuple):
    run: Callable[[Case], Iterator[Finding]]
    needs: tuple[str, ...] = ()
    """Settings without which there is no telling what to look at."""
