"""The table of nouns: what operators keep, and for each the verbs that change it or show it."""

from typing import Final

from cloudconsole.operator.nouns.accounts import Accounts
from cloudconsole.operator.nouns.domains import Domains
from cloudconsole.operator.nouns.filters import Filter
from cloudconsole.operator.nouns.flavors import Flavors
from cloudconsole.operator.nouns.news import News
from cloudconsole.operator.nouns.nodes import Nodes
from cloudconsole.operator.nouns.noun import Done, Noun
from cloudconsole.operator.nouns.prices import Prices
from cloudconsole.operator.nouns.quotas import Quotas
from cloudconsole.operator.nouns.resources import Resources
from cloudconsole.operator.nouns.tenants import Tenants
from cloudconsole.operator.nouns.urls import Urls

TENANTS: Final = Tenants()
ACCOUNTS: Final = Accounts()
QUOTAS: Final = Quotas()
NODES: Final = Nodes()
PRICES: Final = Prices()
RESOURCES: Final = Resources()
FLAVORS: Final = Flavors()
URLS: Final = Urls()
DOMAINS: Final = Domains()
NEWS: Final = News()

NOUNS: Final[tuple[Noun, ...]] = (
    TENANTS, ACCOUNTS, QUOTAS, NODES, PRICES, RESOURCES, FLAVORS, URLS, DOMAINS, NEWS,
)  # fmt: skip

__all__ = [
    "ACCOUNTS",
    "DOMAINS",
    "FLAVORS",
    "NEWS",
    "NODES",
    "NOUNS",
    "PRICES",
    "QUOTAS",
    "RESOURCES",
    "TENANTS",
    "URLS",
    "Done",
    "Filter",
    "Noun",
]
