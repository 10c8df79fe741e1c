"""Validation-error messages and paths; placeholder for invalid values."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from typing import Any, Final, NamedTuple

from pydantic import ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import ErrorDetails

Path = tuple[str | int, ...]
"""The way to a value: keys of mappings and places in lists."""

_WORDS: Final[Mapping[str, str]] = {
    "missing": "is missing",
    "extra_forbidden": "is not known here: check the spelling or take it out",
    "string_type": "must be text: put it in quotes",
    "string_unicode": "has half of a character: write the character itself",
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
    """`a tenant`, `an account`, and `a URL` as it is spoken."""
    return f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}"


def error_path(detail: ErrorDetails) -> Path:
    loc = detail["loc"]
    return loc[:-1] if loc[-1] == "[key]" and detail["type"] != "extra_forbidden" else loc


def error_message(detail: ErrorDetails) -> str:
    if detail["type"].endswith("_type") and detail["input"] is None:
        return "has no value"
    words = _WORDS.get(detail["type"])
    return words.format(**detail.get("ctx", {})) if words else detail["msg"]


def format_path(path: Path) -> str:
    """A path as people write it, such as `tenants[0].accounts[1].username`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{_key_text(step)}" for step in path)
    return text.removeprefix(".")


def _key_text(key: str) -> str:
    return key if re.fullmatch(r"[\w-]{1,64}", key) else ascii(key[:64])


class _Invalid:
    """A value that cannot be told. Its fields cannot be told either, and it has no items to look at."""

    def __getattr__(self, _field: str) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())


INVALID: Final[Any] = _Invalid()


class UnreadableValue(NamedTuple):
    """A text that could not be made into what its field takes, and why: it is refused along with the other fields."""

    why: str


def pass_invalid(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    if isinstance(value, UnreadableValue):
        raise ValueError(value.why)  # noqa: TRY004 - pydantic takes ValueError
    return value if value is INVALID else check(value)


OR_INVALID: Final = WrapValidator(pass_invalid)


def validate_with_placeholders(data: Any, details: list[ErrorDetails], faulty: Set[Path] = frozenset()) -> Any:
    """Data in which `UNUSABLE` stands for what these details or paths are about; keys that are not known are gone."""
    return _Gaps(details, faulty).put_in(data)


def _is_about_key(detail: ErrorDetails) -> bool:
    """Whether it is the name of an entry that is wrong, whatever its value."""
    return detail["type"] == "extra_forbidden" or detail["loc"][-1] == "[key]"


class _Gaps:
    """What is faulty in the data: entries that should not be there, entries that are missing, and values."""

    def __init__(self, details: list[ErrorDetails], faulty: Set[Path]) -> None:
        self._unknown = {error_path(detail) for detail in details if _is_about_key(detail)}
        self._missing: dict[Path, dict[str | int, Any]] = defaultdict(dict)
        for *around, key in (error_path(detail) for detail in details if detail["type"] == "missing"):
            self._missing[tuple(around)][key] = INVALID
        self._faulty = faulty | set(map(error_path, details))
        self._around = {path[:length] for path in self._faulty for length in range(len(path))}

    def put_in(self, value: Any, path: Path = ()) -> Any:
        """A copy, as far as needed, with `UNUSABLE` for what is faulty, and without the unknown entries."""
        if path in self._faulty and path:
            return INVALID
        if path in self._around and isinstance(value, list):
            return [self.put_in(item, (*path, place)) for place, item in enumerate(value)]
        if path in self._around and isinstance(value, dict):
            entries = value | self._missing.get(path, {})
            return {
                key: self.put_in(part, (*path, key))
                for key, part in entries.items()
                if (*path, key) not in self._unknown
            }
        return value
