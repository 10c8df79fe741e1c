"""Interface for packages that add actions to a console; it stays compatible until the next major version.

A package declares each action as an `Extension`, and registers it under the action's name as an entry point of the
group `cloudconsole.extensions`. Operators turn it on by that name in the setting `extensions`.
"""

import math
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any, Generic, TypeVar

from msgspec import Struct

from cloudconsole.core.ports import CacheableResult, Ports, Tenant
from cloudconsole.spec.actions import Action, NoParameters
from cloudconsole.spec.errors import ApiError
from cloudconsole.spec.extension_records import Announcement, DomainItem, PriceItem
from cloudconsole.spec.i18n import Text
from cloudconsole.spec.records import (
    ConsumptionItem,
    DomainDetail,
    Flavors,
    NewsItem,
    UrlItem,
    UsageLimits,
    field_doc,
)

__all__ = ["ApiError", "Call", "Extension", "NoParameters", "Text", "field_doc"]

Parameters = TypeVar("Parameters", bound=Struct)
Record = TypeVar("Record")


class Call(Generic[Parameters]):
    """A tenant's call: its parameters, and everything that this tenant can read, and no other tenant's data.

    The methods return the same records as the actions, and raise the same errors, which need no handling. A cached
    response expires with the first record that was read for it.
    """

    def __init__(self, ports: Ports, tenant: Tenant, parameters: Parameters) -> None:
        self.parameters = parameters
        self._ports = ports
        self._tenant = tenant
        self._expires_at = math.inf
        self._read_at: float | None = None

    @property
    def tenant_id(self) -> int:
        return self._tenant.id

    @property
    def username(self) -> str:
        return self._tenant.username

    @property
    def now(self) -> float:
        """Seconds since the epoch; in test mode, of the simulated clock."""
        return self._ports.clock.now()

    async def usage_limits(self) -> UsageLimits:
        return self._take(await self._ports.cloud.usage_limits(self._tenant))

    async def flavors(self) -> Flavors:
        return self._take(await self._ports.cloud.flavors(self._tenant))

    async def consumption(self) -> list[ConsumptionItem]:
        return self._take(await self._ports.cloud.consumption(self._tenant))

    async def urls(self) -> list[UrlItem]:
        return self._take(await self._ports.content.urls(self._tenant))

    async def domain(self, domain_id: str) -> DomainDetail:
        return self._take(await self._ports.content.domain(self._tenant, domain_id))

    async def domains(self, limit: int = 1000, after: str = "") -> list[DomainItem]:
        """Return the domains whose IDs follow `after`, ordered by ID."""
        return self._take(await self._ports.content.domains(self._tenant, limit, after))

    async def news(self) -> list[NewsItem]:
        return self._take(await self._ports.content.news())

    async def announcements(self) -> list[Announcement]:
        return self._take(await self._ports.content.announcements())

    async def prices(self) -> list[PriceItem]:
        return self._take(await self._ports.prices.prices(self._tenant))

    def expire_at(self, moment: float) -> None:
        """Let a cached response expire at this time, in seconds since the epoch, or earlier."""
        self._expires_at = min(self._expires_at, moment)

    def result(self, record: Record) -> CacheableResult[Record]:
        """Return the record with the limits of what was read; the console calls this."""
        return CacheableResult(record, self._expires_at, self._read_at)

    def _take(self, result: CacheableResult[Record]) -> Record:
        self.expire_at(result.expires_at)
        if result.read_at is not None:
            self._read_at = min(result.read_at, math.inf if self._read_at is None else self._read_at)
        # A copy: the console may return the same record to others.
        return deepcopy(result.record)


class Extension(Action, frozen=True, kw_only=True):
    """An action and its handler, a coroutine function that returns the record and must not block."""

    handle: Callable[[Call[Any]], Awaitable[Any]]
    is_cacheable: bool = False
    """Whether a response may be repeated to the same user until something changes in the console's store, or expires.

    Not if it depends on anything else, unless `Call.expire_at` bounds it.
    """
