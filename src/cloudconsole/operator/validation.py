"""Messages and paths of validation errors; the placeholder for invalid values."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from typing import Any, Final, NamedTuple

from pydantic import ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import ErrorDetails

Path = tuple[str | int, ...]
"""The path of a value: mapping keys and list indexes."""

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


class _Invalid:
    """Placeholder for an invalid value. Its attributes are invalid too, and it has no items."""

    def __getattr__(self, _field: str) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())


INVALID: Final[Any] = _Invalid()


class UnreadableValue(NamedTuple):
    """Text that could not be parsed, and why; validation reports it together with the other fields."""

    why: str


def pass_invalid(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    if isinstance(value, UnreadableValue):
        raise ValueError(value.why)  # noqa: TRY004 - pydantic takes ValueError
    return value if value is INVALID else check(value)


OR_INVALID: Final = WrapValidator(pass_invalid)


def validate_with_placeholders(data: Any, details: list[ErrorDetails], faulty: Set[Path] = frozenset()) -> Any:
    """Return the data with `INVALID` in place of the values these details or paths name, without unknown keys."""
    return _Placeholders(details, faulty).fill(data)


def _is_about_key(detail: ErrorDetails) -> bool:
    """Return whether the key of an entry is invalid rather than its value."""
    return detail["type"] == "extra_forbidden" or detail["loc"][-1] == "[key]"


class _Placeholders:
    """The unknown entries, missing entries and invalid values in the data."""

    def __init__(self, details: list[ErrorDetails], faulty: Set[Path]) -> None:
        self._unknown = {error_path(detail) for detail in details if _is_about_key(detail)}
        self._missing: dict[Path, dict[str | int, Any]] = defaultdict(dict)
        for *parent, key in (error_path(detail) for detail in details if detail["type"] == "missing"):
            self._missing[tuple(parent)][key] = INVALID
        self._faulty = faulty | set(map(error_path, details))
        self._ancestors = {path[:length] for path in self._faulty for length in range(len(path))}

    def fill(self, value: Any, path: Path = ()) -> Any:
        """Return the value with placeholders and without unknown entries, copying only as needed."""
        if path in self._faulty and path:
            return INVALID
        if path in self._ancestors and isinstance(value, list):
            return [self.fill(item, (*path, index)) for index, item in enumerate(value)]
        if path in self._ancestors and isinstance(value, dict):
            entries = value | self._missing.get(path, {})
            return {
                key: self.fill(part, (*path, key)) for key, part in entries.items() if (*path, key) not in self._unknown
            }
        return value
