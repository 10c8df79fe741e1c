"""The cloud file, version 1."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from cloudconsole.core.kinds import Kind, Role, Unit
from cloudconsole.operator.cloudfile.fields import (
    Address,
    Billionths,
    Count,
    Id,
    Items,
    Label,
    Name,
    Note,
    NumericId,
    Password,
    PasswordHash,
    PositiveCount,
    Quotas,
    Seconds,
    Url,
    UrlId,
)
from cloudconsole.operator.cloudfile.gaps import pass_unusable
from cloudconsole.spec.records import ResourceType


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    _any_may_be_unusable = field_validator("*", mode="wrap")(pass_unusable)


class Flavor(Part):
    id: NumericId
    name: Name
    vcpus: PositiveCount
    ram: PositiveCount
    disk: Count


class Price(Part):
    kind: ResourceType
    unit: Unit
    node: Name | None = None
    price: Billionths
    start: Seconds = Field(alias="from")


class News(Part):
    id: PositiveCount
    date: Seconds
    title: Name
    url: Url


class UrlEntry(Part):
    id: UrlId
    type: Literal["link", "directory"]
    url: Url


class Account(Part):
    username: Id
    role: Role = "tenant"
    disabled: bool = False
    password: Password = None
    password_hash: PasswordHash | None = None
    password_file: Note | None = None


class OriginConfig(Part):
    origin_ips: Items[Address] = Field(default=[], alias="originIps")
    adv_origin_configs: Any = Field(default=None, alias="advOriginConfigs")
    origin_domain_name: Name | None = Field(default=None, alias="originDomainName")


class Domain(Part):
    id: NumericId
    name: Name
    comment: Note = ""
    service_areas: Label = Field(alias="serviceAreas")
    service_type: Label = Field(alias="serviceType")
    enabled: bool = True
    cname: Label
    status: Label
    cache_behaviors: list[Any] = Field(default=[], alias="cacheBehaviors")
    visit_control_rules: list[Any] = Field(default=[], alias="visitControlRules")
    origin_config: OriginConfig = Field(default=OriginConfig(), alias="originConfig")
    query_string_settings: Note | None = Field(default=None, alias="queryStringSettings")


class Resource(Part):
    id: Id
    kind: Kind
    name: Name
    node: Name | None = None
    vcpus: int = 0
    ram: int = 0
    disk: int = 0
    size: int = 0
    started: Seconds
    ended: Seconds | None = None

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes by the names of their columns."""
        return {"vcpus": self.vcpus, "ram_mb": self.ram, "disk_gb": self.disk, "size_gb": self.size}


class Tenant(Part):
    name: Name
    quotas: Quotas = {}
    accounts: Items[Account] = []
    urls: Items[UrlEntry] = []
    domains: Items[Domain] = []
    resources: Items[Resource] = []


class CloudFile(Part):
    version: Literal[1]
    nodes: Items[Name] = []
    flavors: Items[Flavor] = []
    prices: Items[Price] = []
    news: Items[News] = []
    urls: Items[UrlEntry] = []
    tenants: Items[Tenant] = []
