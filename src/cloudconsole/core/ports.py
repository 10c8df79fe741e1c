"""The ports that actions and the login speak; each backend stands behind them and translates its own errors.

Whatever cannot be had raises an `ApiError`: `Unavailable` for our own store, `UpstreamFailed` or `UpstreamTimeout` for
a cloud behind us.
"""

import math
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from cloudconsole.core.kinds import Role
from cloudconsole.spec.records import (
    ConsumptionItem,
    DomainDetail,
    Flavors,
    NewsItem,
    UrlItem,
    UsageLimits,
)

Record = TypeVar("Record")


class Fresh(Struct, Generic[Record], frozen=True):
    """A record, and the moment until which time alone does not change it (changed data always does)."""

    record: Record
    until: float = math.inf


class Account(Struct, frozen=True):
    """Who proved to be who. `version` changes whenever the account's sessions must end."""

    id: int
    username: str
    version: int
    role: Role


class Tenant(Struct, frozen=True, gc=False):
    """On whose behalf an action runs."""

    id: int
    username: str


class Identity(Protocol):
    async def authenticate(self, username: str, password: str) -> Account | None:
        """The account, or None for an unknown user, a wrong password or a disabled account: alike in time, too."""

    def recognises(self, username: str) -> bool:
        """Whether there is such an account: only then is the name fit for a log, else it may be a mistyped password."""


class Cloud(Protocol):
    async def usage_limits(self, tenant: Tenant) -> Fresh[UsageLimits]: ...

    async def flavors(self, tenant: Tenant) -> Fresh[Flavors]: ...

    async def consumption(self, tenant: Tenant) -> Fresh[list[ConsumptionItem]]:
        """Exact, or an error: never a sum that leaves out what could not be read."""


class Content(Protocol):
    async def urls(self, tenant: Tenant) -> Fresh[list[UrlItem]]: ...

    async def domain(self, tenant: Tenant, domain_id: str) -> Fresh[DomainDetail]:
        """The tenant's domain; raises `DomainNotFound`, word for word the same for another tenant's."""

    async def news(self) -> Fresh[list[NewsItem]]: ...
