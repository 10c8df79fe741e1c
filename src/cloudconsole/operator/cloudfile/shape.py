"""From data to the model. What does not fit is said in plain words, and becomes a gap in what else is checked."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import tzinfo
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from cloudconsole.operator.cloudfile.document import Document
from cloudconsole.operator.cloudfile.model import CloudFile
from cloudconsole.operator.cloudfile.problems import Problem
from cloudconsole.operator.gaps import UNUSABLE
from cloudconsole.operator.words import Path, message_of, path_of, path_text


def read_model(document: Document, zone: tzinfo) -> tuple[CloudFile, list[Problem]]:
    """The file's model and what is wrong; `UNUSABLE` stands in the place of each faulty field or item."""
    context = {"zone": zone}
    details: list[ErrorDetails] = []
    try:
        model = CloudFile.model_validate(document.data, context=context)
    except ValidationError as error:
        details = error.errors(include_url=False)
    else:
        if not document.faulty:
            return model, []
    problems = [
        Problem(document.line_of(path), path_text(path), message_of(detail))
        for detail in details
        if not _known_as_faulty(path := path_of(detail), document.faulty)
    ]
    data = _Gaps(details, document.faulty).put_in(document.data)
    return CloudFile.model_validate(data, context=context), problems


def items_of(part: Any, section: str, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The usable items of a part's list, each with its path."""
    items = enumerate(getattr(part, section))
    return (((*path, section, place), item) for place, item in items if item is not UNUSABLE)


def items_of_tenants(model: CloudFile, section: str) -> Iterator[tuple[Path, Any]]:
    for path, tenant in items_of(model, "tenants"):
        yield from items_of(tenant, section, path)


def _is_about_key(detail: ErrorDetails) -> bool:
    """Whether it is the name of an entry that is wrong, whatever its value."""
    return detail["type"] == "extra_forbidden" or detail["loc"][-1] == "[key]"


def _known_as_faulty(path: Path, faulty: set[Path]) -> bool:
    return any(path[:length] in faulty for length in range(len(path) + 1))


class _Gaps:
    """What is faulty in the data: entries that should not be there, entries that are missing, and values."""

    def __init__(self, details: list[ErrorDetails], faulty: set[Path]) -> None:
        self._unknown = {path_of(detail) for detail in details if _is_about_key(detail)}
        self._missing: dict[Path, dict[str | int, Any]] = defaultdict(dict)
        for *around, key in (path_of(detail) for detail in details if detail["type"] == "missing"):
            self._missing[tuple(around)][key] = UNUSABLE
        self._faulty = faulty.union(map(path_of, details))
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
