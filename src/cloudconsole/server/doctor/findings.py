"""What a check is given, and what it finds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from cloudconsole.server.settings import Settings

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Case:
    """The console to look at."""

    settings: Settings
    setting_problems: list[str]
    now: float
    quick: bool = False


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


Check = Callable[[Case], Iterator[Finding]]
