"""What stands in for a value that has a problem of its own, so that the rest can still be checked."""

from collections import defaultdict
from collections.abc import Iterator, Set
from typing import Any, Final, NamedTuple

from pydantic import ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import ErrorDetails

from cloudconsole.operator.words import Path, path_of


class _Unusable:
    """A value that cannot be told. Its fields cannot be told either, and it has no items to look at."""

    def __getattr__(self, _field: str) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())


UNUSABLE: Final[Any] = _Unusable()


class Unreadable(NamedTuple):
    """A text that could not be made into what its field takes, and why: it is refused along with the other fields."""

    why: str


def pass_unusable(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    if isinstance(value, Unreadable):
        raise ValueError(value.why)  # noqa: TRY004 - pydantic takes ValueError
    return value if value is UNUSABLE else check(value)


OR_UNUSABLE: Final = WrapValidator(pass_unusable)


def with_gaps(data: Any, details: list[ErrorDetails], faulty: Set[Path] = frozenset()) -> Any:
    """Data in which `UNUSABLE` stands for what these details or paths are about; keys that are not known are gone."""
    return _Gaps(details, faulty).put_in(data)


def _is_about_key(detail: ErrorDetails) -> bool:
    """Whether it is the name of an entry that is wrong, whatever its value."""
    return detail["type"] == "extra_forbidden" or detail["loc"][-1] == "[key]"


class _Gaps:
    """What is faulty in the data: entries that should not be there, entries that are missing, and values."""

    def __init__(self, details: list[ErrorDetails], faulty: Set[Path]) -> None:
        self._unknown = {path_of(detail) for detail in details if _is_about_key(detail)}
        self._missing: dict[Path, dict[str | int, Any]] = defaultdict(dict)
        for *around, key in (path_of(detail) for detail in details if detail["type"] == "missing"):
            self._missing[tuple(around)][key] = UNUSABLE
        self._faulty = faulty | set(map(path_of, details))
        self._around = {path[:length] for path in self._faulty for length in range(len(path))}

    def put_in(self, value: Any, path: Path = ()) -> Any:
        """A copy, as far as needed, with `UNUSABLE` for what is faulty, and without the unknown entries."""
        if path in self._faulty and path:
            return UNUSABLE
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
