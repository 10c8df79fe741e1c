"""The ports that actions and the login speak; each backend stands behind them and translates its own errors.

Whatever cannot be had raises an `ApiError`: `Unavailable` for our own store, `UpstreamFailed` or `UpstreamTimeout` for
a cloud behind us.
"""

import math
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from cloudconsole.core.resources import Role
from cloudconsole.spec.records import (
    ConsumptionItem,
    DomainDetail,
    Flavors,
    NewsItem,
    UrlItem,
    UsageLimits,
)

Record = TypeVar("Record")


class CacheableResult(Struct, Generic[Record], frozen=True):
    """A record, and the moment until which time alone does not change it (changed data always does)."""

    record: Record
    expires_at: float = math.inf
    read_at: float | None = None
    """When a cloud behind us said so; None for what is of our own store, and so always of this moment."""


class PriceMissing(LookupError):
    """Something billable has no price; the text says what, and what mends it. An operator's to mend, not a caller's."""


class ClientInfo(Struct, frozen=True):
    """Whose call it is that is being answered; handed on to a cloud, and written in the access trail."""

    address: str
    request_id: str


Services = dict[str, dict[str, str]]
"""For each region, the address of each service there: what a user's catalog says, as far as it is of use to us."""


class CloudCredentials(Struct, frozen=True, dict=True):
    """What a session has in a cloud behind us."""

    endpoint: str
    """The identity endpoint's address, in one form."""
    user_id: str
    project_id: str
    services: Services
    encrypted_token: bytes
    """The token, encrypted: only who holds the key can use it."""

    @cached_property
    def scope(self) -> str:
        """All that an answer of the cloud hangs on: two with the same scope are told the same."""
        return " ".join((self.endpoint, self.user_id, self.project_id, *sorted(self.services)))


class Account(Struct, frozen=True):
    """Who proved to be who. `version` changes whenever the account's sessions must end."""

    id: int
    username: str
    version: int
    role: Role
    outdated_hash: str | None = None
    """The stored password hash, where its parameters are not ours and it is to be replaced."""

    @property
    def log_name(self) -> str:
        return self.username


class FederatedUser(Struct, frozen=True):
    """Who proved to be who to an identity endpoint behind us."""

    username: str
    tenant_id: int
    credentials: CloudCredentials
    expires_at: float
    """When the token does."""

    @property
    def log_name(self) -> str:
        """The name in trails and logs, where one of our own accounts may have the same."""
        return f"{self.username}@{self.credentials.endpoint}"


class Tenant(Struct, frozen=True):
    """On whose behalf an action runs."""

    id: int
    username: str
    credentials: CloudCredentials | None = None
    """Where a cloud behind us answers, what is needed to ask it; None where our own store does."""
    client: ClientInfo | None = None


class IdentityBackend(Protocol):
    async def authenticate(self, username: str, password: str, client: ClientInfo) -> Account | FederatedUser | None:
        """The account, or None for an unknown user, a wrong password or a disabled account: alike in time, too."""

    async def knows_username(self, username: str) -> bool:
        """Whether there is such an account: only then is the name fit for a log, else it may be a mistyped password."""


class TokenVerifier(Protocol):
    """Looks after the tokens of sessions that an identity endpoint behind us vouches for."""

    async def is_valid(self, access: CloudCredentials, client: ClientInfo) -> bool:
        """Whether the token is still good; an endpoint that cannot be asked is an error, never a no."""

    async def revoke(self, access: CloudCredentials, client: ClientInfo) -> None:
        """Make the token worthless."""


class Cloud(Protocol):
    async def usage_limits(self, tenant: Tenant) -> CacheableResult[UsageLimits]: ...

    async def flavors(self, tenant: Tenant) -> CacheableResult[Flavors]: ...

    async def consumption(self, tenant: Tenant) -> CacheableResult[list[ConsumptionItem]]:
        """Exact, or an error: never a sum that leaves out what could not be read."""


class Content(Protocol):
    async def urls(self, tenant: Tenant) -> CacheableResult[list[UrlItem]]: ...

    async def domain(self, tenant: Tenant, domain_id: str) -> CacheableResult[DomainDetail]:
        """The tenant's domain; raises `DomainNotFound`, word for word the same for another tenant's."""

    async def news(self) -> CacheableResult[list[NewsItem]]: ...
