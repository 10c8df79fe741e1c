"""What is wrong with a file: where, and in plain words."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from cloudconsole.operator.errors import OperatorError

Path = tuple[str | int, ...]
"""The way to a value: keys of mappings and places in lists."""


class Problem(NamedTuple):
    line: int
    path: str
    message: str


class CloudFileError(OperatorError):
    """A file that was refused as a whole; its text has a line for every problem."""

    def __init__(self, source: str, problems: Iterable[Problem]) -> None:
        self.source = source
        self.problems = sorted(problems)
        super().__init__("\n".join(self._describe(problem) for problem in self.problems))

    def _describe(self, problem: Problem) -> str:
        place = f"{self.source}:{problem.line}:"
        return " ".join(part for part in (place, problem.path and f"{problem.path}:", problem.message) if part)


def path_text(path: Path) -> str:
    """A path as people write it, such as `tenants[0].accounts[1].username`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{_key_text(step)}" for step in path)
    return text.removeprefix(".")


def _key_text(key: str) -> str:
    return key if re.fullmatch(r"[\w-]{1,64}", key) else ascii(key[:64])
