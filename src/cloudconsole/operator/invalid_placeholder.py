"""Placeholder for invalid values, so that the rest of the data can be validated too."""

from collections import defaultdict
from collections.abc import Iterator, Set
from typing import Any, Final, NamedTuple

from pydantic import ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import ErrorDetails

from cloudconsole.operator.errors import Path, error_path


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
