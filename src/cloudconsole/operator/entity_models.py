"""Pydantic models of everything operators manage, with cross-field checks."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator
from pydantic import ValidationError as ModelError

from cloudconsole.core.clock import format_utc
from cloudconsole.core.resources import Kind, Role, Unit
from cloudconsole.operator.errors import FieldError, ValidationError, error_message, error_path, raise_if_invalid
from cloudconsole.operator.fields import (
    SHALLOW,
    Address,
    Billionths,
    Count,
    DomainName,
    Id,
    Items,
    Label,
    Name,
    Note,
    NumericId,
    Password,
    PasswordHash,
    PositiveCount,
    Project,
    Quotas,
    Reference,
    Seconds,
    Url,
    UrlId,
)
from cloudconsole.operator.invalid_placeholder import INVALID, pass_invalid, validate_with_placeholders
from cloudconsole.operator.messages import Message
from cloudconsole.operator.resource_and_price_rules import node_problem, size_problems, type_problem, unit_problem
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.spec.records import BillableType


class EntityModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    _allow_invalid = field_validator("*", mode="wrap")(pass_invalid)


class Tenant(EntityModel):
    name: Name = Field(description="the tenant's name, unique")
    project: Project | None = Field(
        default=None,
        description="its OpenStack project, as ID@ADDRESS of the identity service",
    )
    disabled: bool = Field(default=False, description="its accounts cannot log in")


class Node(EntityModel):
    name: Name = Field(description="the node's name, unique")
    disabled: bool = Field(default=False, description="accepts no new resources")


class Flavor(EntityModel):
    id: NumericId = Field(description="a unique number, such as 12")
    name: Name = Field(description="the name tenants see, unique")
    vcpus: PositiveCount = Field(description="cores")
    ram: PositiveCount = Field(description="RAM in MB")
    disk: Count = Field(description="system disk in GB")
    disabled: bool = Field(default=False, description="no longer offered")


class Price(EntityModel):
    kind: BillableType = Field(description="instance, image, loadbalance or volume")
    unit: Unit = Field(description="each, vcpu, ram_gb or gb, as the kind is priced")
    type: Name | None = Field(
        default=None,
        description="the flavor (instance by each) or volume type (volume by gb) it applies to (default: all)",
    )
    node: Reference | None = Field(
        default=None, description="the node it applies to (default: all without a node price)"
    )
    price: Billionths = Field(description="per hour and unit, at most nine decimals")
    start: Seconds = Field(alias="from", description="when it takes effect")


class News(EntityModel):
    id: PositiveCount = Field(description="a unique number")
    date: Seconds = Field(description="when it appears")
    title: Name = Field(description="the text tenants see, in one line")
    url: Url = Field(description="the page the title links to")
    language: Literal["en", "zh"] | None = Field(
        default=None, description="the language of the title, en or zh (default: none, for readers of both)"
    )
    pinned: bool = Field(default=False, description="important: at the top of every page of tenants")
    disabled: bool = Field(default=False, description="withdrawn")


class UrlEntry(EntityModel):
    id: UrlId = Field(description="url- followed by eight lowercase letters or digits, such as url-a1b2c3d4")
    type: Literal["link", "directory"] = Field(description="link, or directory for one that lists others")
    url: Url = Field(description="the address tenants see, http or https")
    disabled: bool = Field(default=False, description="not shown")


class Account(EntityModel):
    username: Id = Field(description="the login name")
    role: Role = Field(default="tenant", description="tenant, or operator for access to the admin UI")
    disabled: bool = Field(default=False, description="cannot log in")
    password: Password = None
    password_hash: PasswordHash | None = None
    password_file: Note | None = None


class OriginConfig(EntityModel):
    origin_ips: Items[Address] = Field(default=[], alias="originIps")
    adv_origin_configs: Annotated[Any, SHALLOW] = Field(default=None, alias="advOriginConfigs")
    origin_domain_name: Name | None = Field(default=None, alias="originDomainName")


class Domain(EntityModel):
    id: NumericId = Field(description="the number tenants look it up by, such as 206813")
    name: DomainName = Field(description="the domain's name, such as www.example.com")
    comment: Note = Field(default="", description="a comment, visible to the tenant")
    service_areas: Label = Field(alias="serviceAreas", description="where it is served, such as hk;ov")
    service_type: Label = Field(alias="serviceType", description="what it serves, such as web")
    enabled: bool = Field(default=True, description="whether it is accelerated")
    cname: Label = Field(description="the name it points to")
    status: Label = Field(description="such as Deployed")
    cache_behaviors: Annotated[list[Any], SHALLOW] = Field(
        default=[],
        alias="cacheBehaviors",
        description='a list, such as [{"pathPattern": "/static/*", "ttlSeconds": 86400}]',
    )
    visit_control_rules: Annotated[list[Any], SHALLOW] = Field(
        default=[], alias="visitControlRules", description='a list, such as [{"type": "referer", "mode": "deny"}]'
    )
    origin_config: OriginConfig = Field(
        default=OriginConfig(),
        alias="originConfig",
        description="originIps, advOriginConfigs and originDomainName",
    )
    query_string_settings: Note | None = Field(
        default=None, alias="queryStringSettings", description="how query strings are handled"
    )


class Resource(EntityModel):
    id: Id = Field(description="unique across all tenants")
    kind: Kind = Field(description="what it is, such as instance or volume")
    name: Name = Field(description="the name its tenant sees")
    node: Reference | None = Field(default=None, description="the node it is on")
    vcpus: int = Field(default=0, description="cores of an instance")
    ram: int = Field(default=0, description="RAM of an instance in MB")
    disk: int = Field(default=0, description="system disk of an instance in GB")
    size: int = Field(default=0, description="size of a volume, snapshot or image in GB")
    started: Seconds = Field(description="when it starts")
    ended: Seconds | None = Field(default=None, description="when it ends")

    @property
    def sizes(self) -> dict[str, int]:
        return {"vcpus": self.vcpus, "ram": self.ram, "disk": self.disk, "size": self.size}


AnyModel = TypeVar("AnyModel", bound=EntityModel)
_QUOTAS: TypeAdapter[dict[str, int]] = TypeAdapter(Quotas, config=ConfigDict(strict=True))


def parse_model(
    model: type[AnyModel],
    values: Mapping[str, Any],
    tx: OperatorTransaction,
    earlier: Iterable[FieldError] = (),
    check: Callable[[AnyModel], Iterable[FieldError]] = lambda _part: (),
) -> AnyModel:
    """Validate the values and return the model.

    One `ValidationError` lists all errors: the earlier ones, those of single fields, and those of `check`, which
    receives the model with `INVALID` in place of invalid fields.
    """
    errors, data, context = list(earlier), dict(values), {"zone": tx.zone, "existing_names": tx.existing_names}
    try:
        part = model.model_validate(data, context=context)
    except ModelError as error:
        errors += _validation_error(error).errors
        part = model.model_validate(validate_with_placeholders(data, error.errors(include_url=False)), context=context)
    raise_if_invalid([*errors, *check(part)])
    return part


def parse_quotas(values: Mapping[str, Any]) -> dict[str, int]:
    try:
        return _QUOTAS.validate_python(dict(values))
    except ModelError as error:
        raise _validation_error(error) from None


def _validation_error(error: ModelError) -> ValidationError:
    # Messages never contain the input: it may be a password in the wrong field.
    return ValidationError((error_path(detail), error_message(detail)) for detail in error.errors(include_url=False))


def price_errors(price: Price) -> Iterator[FieldError]:
    if INVALID in (price.kind, price.unit):
        return
    problem = unit_problem(price.kind, price.unit)
    if problem is not None:
        yield ("unit",), problem
    elif price.type not in (None, INVALID):
        problem = type_problem(price.kind, price.unit)
        if problem is not None:
            yield ("type",), problem


def resource_errors(resource: Resource) -> Iterator[FieldError]:
    if resource.kind is not INVALID:
        yield from _size_errors(resource)
        yield from _node_errors(resource)
    times = (resource.started, resource.ended)
    if INVALID not in times and resource.ended is not None and resource.ended < resource.started:
        problem = Message(
            "must not be before its start, {start}", "不能早于开始时间 {start}", start=format_utc(resource.started)
        )
        yield ("ended",), problem


def _size_errors(resource: Resource) -> Iterator[FieldError]:
    sizes = resource.sizes
    given = {name: sizes[name] for name in sizes if name in resource.model_fields_set}
    numbers = {name: 0 if size is INVALID else size for name, size in given.items()}
    for name, message in size_problems(resource.kind, numbers):
        if sizes[name] is not INVALID:
            yield (name,), message


def _node_errors(resource: Resource) -> Iterator[FieldError]:
    problem = None if resource.node is INVALID else node_problem(resource.kind, resource.node)
    if problem is not None:
        yield ("node",), problem
