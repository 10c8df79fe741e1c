"""Problems in a file, with their lines and paths."""

from collections.abc import Iterable
from typing import NamedTuple

from cloudconsole.operator.errors import OperatorError


class Problem(NamedTuple):
    line: int
    path: str
    message: str


class CloudFileError(OperatorError):
    """A rejected file; the message has one line per problem."""

    def __init__(self, source: str, problems: Iterable[Problem]) -> None:
        self.source = source
        self.problems = sorted(problems)
        super().__init__("\n".join(self._describe(problem) for problem in self.problems))

    def _describe(self, problem: Problem) -> str:
        location = f"{self.source}:{problem.line}:"
        return " ".join(part for part in (location, problem.path and f"{problem.path}:", problem.message) if part)
