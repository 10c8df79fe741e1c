"""Registry of the entity types that operators manage."""

from typing import Final

from cloudconsole.operator.entities.accounts import ACCOUNTS
from cloudconsole.operator.entities.base import ChangeResult, EntityType
from cloudconsole.operator.entities.content import Domains, Flavors, News, Urls
from cloudconsole.operator.entities.fields_and_filters import Filter
from cloudconsole.operator.entities.prices import Prices
from cloudconsole.operator.entities.quotas import Quotas
from cloudconsole.operator.entities.resources import Nodes, Resources
from cloudconsole.operator.entities.tenants import Tenants

TENANTS: Final = Tenants()
QUOTAS: Final = Quotas()
NODES: Final = Nodes()
PRICES: Final = Prices()
RESOURCES: Final = Resources()
FLAVORS: Final = Flavors()
URLS: Final = Urls()
DOMAINS: Final = Domains()
NEWS: Final = News()

ENTITY_TYPES: Final[tuple[EntityType, ...]] = (
    TENANTS, ACCOUNTS, QUOTAS, NODES, PRICES, RESOURCES, FLAVORS, URLS, DOMAINS, NEWS,
)  # fmt: skip

__all__ = [
    "ACCOUNTS",
    "DOMAINS",
    "ENTITY_TYPES",
    "FLAVORS",
    "NEWS",
    "NODES",
    "PRICES",
    "QUOTAS",
    "RESOURCES",
    "TENANTS",
    "URLS",
    "ChangeResult",
    "EntityType",
    "Filter",
]
