"""Errors that reject an operator's change, or a whole cloud file."""

from collections.abc import Iterable
from typing import NamedTuple

from cloudconsole.operator.validation import Path, format_path

FieldError = tuple[Path, str]
"""The path of a field and the message."""


class OperatorError(Exception):
    """A rejected change; the message says what is wrong and how to fix it."""


class OverridableError(OperatorError):
    """A rejection by a rule that a transaction with `force` overrides."""


class ValidationError(OperatorError):
    """A rejection that lists every invalid field."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(f"{format_path(path)}: {message}" for path, message in self.errors))


def raise_if_invalid(errors: Iterable[FieldError]) -> None:
    errors = tuple(errors)
    if errors:
        raise ValidationError(errors)


class FileProblem(NamedTuple):
    line: int
    path: str
    message: str


class CloudFileError(OperatorError):
    """A rejected file; the message has one line per problem."""

    def __init__(self, source: str, problems: Iterable[FileProblem]) -> None:
        self.source = source
        self.problems = sorted(problems)
        super().__init__("\n".join(self._describe(problem) for problem in self.problems))

    def _describe(self, problem: FileProblem) -> str:
        location = f"{self.source}:{problem.line}:"
        return " ".join(part for part in (location, problem.path and f"{problem.path}:", problem.message) if part)
