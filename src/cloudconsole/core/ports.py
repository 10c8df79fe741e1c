"""Ports used by actions and login; backends implement them and translate their errors. Also the source of randomness.

Failures raise an `ApiError`: `Unavailable` for the store, `UpstreamFailed` or `UpstreamTimeout` for an upstream cloud.
"""

import math
import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from cloudconsole.core.clock import Clock
from cloudconsole.core.pricing import PriceBook
from cloudconsole.core.resources import Role
from cloudconsole.spec.extension_records import (
    Announcement,
    Consumption,
    ConsumptionSummaryItem,
    CostExport,
    DomainItem,
    Forecast,
    MonthlyBill,
    PriceItem,
)
from cloudconsole.spec.extensions import ConsumptionsParameters, CostExportParameters
from cloudconsole.spec.records import ConsumptionItem, DomainDetail, Flavors, NewsItem, UrlItem, UsageLimits

Record = TypeVar("Record")


class CacheableResult(Struct, Generic[Record], frozen=True):
    """A record and the time at which it expires even if no data changes."""

    record: Record
    expires_at: float = math.inf
    read_at: float | None = None
    """When an upstream cloud returned it; None for data of the store, which is always current."""


class PriceMissing(LookupError):
    """A billable resource has no price; the message says which, and the operator's fix."""


class ClientInfo(Struct, frozen=True):
    """Origin of a request, passed to an upstream cloud and written to the access audit log."""

    address: str
    request_id: str


Services = dict[str, dict[str, str]]
"""For each region, the URL of each service: the used part of a user's catalog."""


class CloudCredentials(Struct, frozen=True, dict=True):
    """Credentials of a session in an upstream cloud."""

    endpoint: str
    """The normalised URL of the identity endpoint."""
    user_id: str
    project_id: str
    services: Services
    encrypted_token: bytes

    @cached_property
    def scope(self) -> str:
        """Cache key: the cloud returns the same data to credentials with the same scope."""
        return " ".join((self.endpoint, self.user_id, self.project_id, *sorted(self.services)))


class Account(Struct, frozen=True):
    """An authenticated account. `version` changes whenever the account's sessions must end."""

    id: int
    username: str
    version: int
    role: Role
    outdated_hash: str | None = None
    """The stored password hash if its parameters are outdated and it must be replaced."""

    @property
    def log_name(self) -> str:
        return self.username


class FederatedUser(Struct, frozen=True):
    """A user authenticated by an external identity provider."""

    username: str
    """With an @ and the domain, unless it is the default one."""
    tenant_id: int
    credentials: CloudCredentials
    expires_at: float
    """When the token expires."""
    domain: str = ""
    project: str = ""
    """The name of the project, whose ID the credentials have."""

    @property
    def log_name(self) -> str:
        """The name in audit logs and logs, distinct from local accounts of the same name."""
        return f"{self.username}@{self.credentials.endpoint}"


class Tenant(Struct, frozen=True):
    """The tenant on whose behalf an action runs."""

    id: int
    username: str
    credentials: CloudCredentials | None = None
    """Credentials for an upstream cloud; None if the store serves the tenant."""
    client: ClientInfo | None = None


@dataclass(frozen=True)
class Credentials:
    """What a user sends to log in."""

    username: str
    password: str = field(repr=False)
    user_domain: str = ""
    """The domain of a user of an external identity provider; empty for the default one."""
    project: str = ""
    """The ID or the name of the project to use there; empty for the user's default."""


class IdentityBackend(Protocol):
    async def authenticate(self, credentials: Credentials, client: ClientInfo) -> Account | FederatedUser | None:
        """Return the account, or None for an unknown user, wrong password or disabled account, in the same time."""

    def counted_as(self, credentials: Credentials) -> str:
        """Return the key for counting a user's failed logins; raise `InvalidField` if such users cannot log in here."""

    async def knows_username(self, username: str) -> bool:
        """Whether the account exists; an unknown name may be a mistyped password and must not be logged."""


class TokenVerifier(Protocol):
    """Checks and revokes the tokens of federated sessions."""

    async def is_valid(self, access: CloudCredentials, client: ClientInfo) -> bool:
        """Whether the token is still valid; raises if the endpoint is unreachable, never returns False for that."""

    async def revoke(self, access: CloudCredentials, client: ClientInfo) -> None:
        """Revoke the token."""


class Cloud(Protocol):
    async def usage_limits(self, tenant: Tenant) -> CacheableResult[UsageLimits]: ...

    async def flavors(self, tenant: Tenant) -> CacheableResult[Flavors]: ...

    async def consumption(self, tenant: Tenant) -> CacheableResult[list[ConsumptionItem]]:
        """Return the exact estimate or raise: never a partial sum."""


class Content(Protocol):
    async def urls(self, tenant: Tenant) -> CacheableResult[list[UrlItem]]: ...

    async def domain(self, tenant: Tenant, domain_id: str) -> CacheableResult[DomainDetail]:
        """Return the tenant's domain, or raise `DomainNotFound`, identically for another tenant's domain."""

    async def domains(self, tenant: Tenant, limit: int, after: str) -> CacheableResult[list[DomainItem]]:
        """Return the tenant's domains in the order of their IDs, those after an ID only."""

    async def news(self) -> CacheableResult[list[NewsItem]]: ...

    async def announcements(self) -> CacheableResult[list[Announcement]]:
        """Return the items of `news` with more fields."""


class PriceList(NamedTuple):
    book: PriceBook
    nodes: dict[str, int]
    """Node ids by name, for prices that apply to one node."""


class PriceCatalog(Protocol):
    async def price_list(self, tenant: Tenant) -> PriceList:
        """Return all prices that apply to the tenant's resources."""

    async def prices(self, tenant: Tenant) -> CacheableResult[list[PriceItem]]:
        """Return the prices that apply to the tenant's resources now or later."""


class Costs(Protocol):
    """Costs over time; what is not recorded is null, never guessed."""

    async def report(self, tenant: Tenant) -> CacheableResult[list[MonthlyBill]]: ...

    async def summary(self, tenant: Tenant, region: str) -> CacheableResult[list[ConsumptionSummaryItem]]: ...

    async def consumptions(
        self, tenant: Tenant, parameters: ConsumptionsParameters
    ) -> CacheableResult[list[Consumption]]: ...

    async def forecast(self, tenant: Tenant) -> CacheableResult[Forecast]: ...

    async def export(self, tenant: Tenant, parameters: CostExportParameters) -> CacheableResult[CostExport]: ...


class Ports(Struct, frozen=True):
    """Backends of the actions, and their clock."""

    cloud: Cloud
    content: Content
    prices: PriceCatalog
    costs: Costs
    clock: Clock


class RandomSource(Protocol):
    def token_bytes(self, size: int, /) -> bytes:
        """Return `size` random bytes for secrets and IDs."""


class SystemRandomSource:
    def token_bytes(self, size: int, /) -> bytes:
        return os.urandom(size)


SYSTEM_RANDOM: Final = SystemRandomSource()
