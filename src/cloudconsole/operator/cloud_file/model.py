"""The model of a cloud file and its validation."""

from collections.abc import Container, Iterator
from datetime import tzinfo
from typing import Any, Literal

from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails

from cloudconsole.operator import entity_models
from cloudconsole.operator.cloud_file.yaml import Document
from cloudconsole.operator.entity_models import Account, Domain, EntityModel, Flavor, News, Price, Resource, UrlEntry
from cloudconsole.operator.errors import FileProblem, Path, error_message, error_path, format_path
from cloudconsole.operator.fields import Items, Name, Quotas, Reference
from cloudconsole.operator.invalid_placeholder import INVALID, validate_with_placeholders


class Tenant(entity_models.Tenant):
    quotas: Quotas = Field(default={})
    accounts: Items[Account] = Field(default=[])
    urls: Items[UrlEntry] = Field(default=[])
    domains: Items[Domain] = Field(default=[])
    resources: Items[Resource] = Field(default=[])


class CloudFile(EntityModel):
    version: Literal[1]
    nodes: Items[Name] = Field(default=[])
    disabled_nodes: Items[Reference] = Field(default=[])
    flavors: Items[Flavor] = Field(default=[])
    prices: Items[Price] = Field(default=[])
    news: Items[News] = Field(default=[])
    urls: Items[UrlEntry] = Field(default=[])
    tenants: Items[Tenant] = Field(default=[])


def read_model(document: Document, zone: tzinfo, existing_names: Container[str]) -> tuple[CloudFile, list[FileProblem]]:
    """Return the model and its problems; `INVALID` replaces each invalid field or item."""
    context = {"zone": zone, "existing_names": existing_names}
    details: list[ErrorDetails] = []
    try:
        model = CloudFile.model_validate(document.data, context=context)
    except ValidationError as error:
        details = error.errors(include_url=False)
    else:
        if not document.faulty:
            return model, []
    problems = [
        FileProblem(document.line_of(path), format_path(path), error_message(detail))
        for detail in details
        if not _is_reported(path := error_path(detail), document.faulty)
    ]
    data = validate_with_placeholders(document.data, details, document.faulty)
    return CloudFile.model_validate(data, context=context), problems


def items_of(part: Any, section: str, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the valid items of a part's list, each with its path."""
    items = enumerate(getattr(part, section))
    return (((*path, section, index), item) for index, item in items if item is not INVALID)


def items_of_tenants(model: CloudFile, section: str) -> Iterator[tuple[Path, Any]]:
    for path, tenant in items_of(model, "tenants"):
        yield from items_of(tenant, section, path)


def _is_reported(path: Path, faulty: set[Path]) -> bool:
    return any(path[:length] in faulty for length in range(len(path) + 1))
