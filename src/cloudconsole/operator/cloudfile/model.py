"""The cloud file, version 1."""

from typing import Literal

from pydantic import Field

from cloudconsole.operator import models
from cloudconsole.operator.fields import Items, Name, Quotas, Reference
from cloudconsole.operator.models import Account, Domain, Flavor, News, Part, Price, Resource, UrlEntry


class Tenant(models.Tenant):
    quotas: Quotas = Field(default={})
    accounts: Items[Account] = Field(default=[])
    urls: Items[UrlEntry] = Field(default=[])
    domains: Items[Domain] = Field(default=[])
    resources: Items[Resource] = Field(default=[])


class CloudFile(Part):
    version: Literal[1]
    nodes: Items[Name] = Field(default=[])
    disabled_nodes: Items[Reference] = Field(default=[])
    flavors: Items[Flavor] = Field(default=[])
    prices: Items[Price] = Field(default=[])
    news: Items[News] = Field(default=[])
    urls: Items[UrlEntry] = Field(default=[])
    tenants: Items[Tenant] = Field(default=[])
