"""From data to the model. What does not fit is said in plain words, and becomes a gap in what else is checked."""

from collections.abc import Container, Iterator
from datetime import tzinfo
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from cloudconsole.operator.cloudfile.document import Document
from cloudconsole.operator.cloudfile.model import CloudFile
from cloudconsole.operator.cloudfile.problems import Problem
from cloudconsole.operator.gaps import UNUSABLE, with_gaps
from cloudconsole.operator.words import Path, message_of, path_of, path_text


def read_model(document: Document, zone: tzinfo, kept: Container[str]) -> tuple[CloudFile, list[Problem]]:
    """The file's model and what is wrong; `UNUSABLE` stands in the place of each faulty field or item."""
    context = {"zone": zone, "kept": kept}
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
    data = with_gaps(document.data, details, document.faulty)
    return CloudFile.model_validate(data, context=context), problems


def items_of(part: Any, section: str, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The usable items of a part's list, each with its path."""
    items = enumerate(getattr(part, section))
    return (((*path, section, place), item) for place, item in items if item is not UNUSABLE)


def items_of_tenants(model: CloudFile, section: str) -> Iterator[tuple[Path, Any]]:
    for path, tenant in items_of(model, "tenants"):
        yield from items_of(tenant, section, path)


def _known_as_faulty(path: Path, faulty: set[Path]) -> bool:
    return any(path[:length] in faulty for length in range(len(path) + 1))
