"""Errors that reject an operator's change or a cloud file; messages and paths of validation errors."""

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from pydantic_core import ErrorDetails

Path = tuple[str | int, ...]
"""The path of a value: mapping keys and list indexes."""
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


_MESSAGES: Final[Mapping[str, str]] = {
    "missing": "is missing",
    "extra_forbidden": "is unknown: check the spelling or remove it",
    "string_type": "must be text: put it in quotes",
    "string_unicode": "contains half of a surrogate pair: write the character itself",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be a mapping of names to values",
    "model_type": "must be a mapping of names to values",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "value_error": "{error}",
}


def with_article(thing: str) -> str:
    """Prefix a noun with its article: `a tenant`, `an account`, `a URL`."""
    return f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}"


def error_path(detail: ErrorDetails) -> Path:
    loc = detail["loc"]
    return loc[:-1] if loc[-1] == "[key]" and detail["type"] != "extra_forbidden" else loc


def error_message(detail: ErrorDetails) -> str:
    if detail["type"].endswith("_type") and detail["input"] is None:
        return "has no value"
    template = _MESSAGES.get(detail["type"])
    return template.format(**detail.get("ctx", {})) if template else detail["msg"]


def format_path(path: Path) -> str:
    """Format a path, such as `tenants[0].accounts[1].username`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{_key_text(step)}" for step in path)
    return text.removeprefix(".")


def _key_text(key: str) -> str:
    return key if re.fullmatch(r"[\w-]{1,64}", key) else ascii(key[:64])
