"""Handlers of the actions, in one explicit table, and their execution through the response cache."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct

from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import CacheableResult, Cloud, Content, Tenant
from cloudconsole.server.response_cache import CacheEntry, CacheKey, ResponseCache
from cloudconsole.spec import actions, envelope
from cloudconsole.spec.actions import Action
from cloudconsole.spec.i18n import Language
from cloudconsole.spec.records import (
    ConsumptionItem,
    DomainDetail,
    Flavors,
    NewsItem,
    UrlItem,
    UsageLimits,
)


class Ports(Struct, frozen=True):
    """Backends of the actions."""

    cloud: Cloud
    content: Content


class Handler(Struct, frozen=True):
    action: Action
    handle: Callable[..., Awaitable[CacheableResult[Any]]]
    """Called with the ports, the tenant and the action's parameters in their order."""
    cache_scope: Callable[[Tenant], int | str | None]
    """Returns who shares the cached response: tenants with an equal scope."""


async def get_usage_limits(ports: Ports, tenant: Tenant) -> CacheableResult[UsageLimits]:
    return await ports.cloud.usage_limits(tenant)


async def get_flavors(ports: Ports, tenant: Tenant) -> CacheableResult[Flavors]:
    return await ports.cloud.flavors(tenant)


async def get_url_list(ports: Ports, tenant: Tenant) -> CacheableResult[list[UrlItem]]:
    return await ports.content.urls(tenant)


async def get_domain_detail(ports: Ports, tenant: Tenant, domain_id: str) -> CacheableResult[DomainDetail]:
    return await ports.content.domain(tenant, domain_id)


async def get_news(ports: Ports, _tenant: Tenant) -> CacheableResult[list[NewsItem]]:
    return await ports.content.news()


async def get_consumptions_estimated(ports: Ports, tenant: Tenant) -> CacheableResult[list[ConsumptionItem]]:
    return await ports.cloud.consumption(tenant)


def _everyone(_tenant: Tenant) -> None:
    return None


def _tenant(tenant: Tenant) -> int:
    return tenant.id


def _cloud_user(tenant: Tenant) -> int | str:
    """OpenStack may return different data to each user."""
    return tenant.id if tenant.credentials is None else tenant.credentials.scope


def _cloud(tenant: Tenant) -> str | None:
    """All tenants of the embedded store share the same data."""
    return None if tenant.credentials is None else tenant.credentials.scope


@dataclass(frozen=True)
class ActionRunner:
    ports: Ports
    cache: ResponseCache
    clock: Clock

    def cached(
        self, handler: Handler, tenant: Tenant, parameters: tuple[str, ...], language: Language
    ) -> CacheEntry | None:
        """Return the response from the cache, if it is valid for a request that has polled for changes."""
        return self.cache.get(_key(handler, tenant, parameters, language), tenant.id)

    async def run(
        self, handler: Handler, tenant: Tenant, parameters: tuple[str, ...], language: Language
    ) -> CacheEntry:
        """Produce a response and cache it."""
        # Taken before the data is read: a change in between makes the entry stale, never wrongly valid.
        version, now = self.cache.version, self.clock.now()
        result = await handler.handle(self.ports, tenant, *parameters)
        body = envelope.success(handler.action.success, language, envelope.encode(result.record))
        entry = CacheEntry(version, now, result.expires_at, body, result.read_at)
        self.cache.put(_key(handler, tenant, parameters, language), entry)
        return entry


def _key(handler: Handler, tenant: Tenant, parameters: tuple[str, ...], language: Language) -> CacheKey:
    return handler.action.name, handler.cache_scope(tenant), parameters, language


HANDLERS: Final[dict[str, Handler]] = {
    handler.action.name: handler
    for handler in (
        Handler(actions.GET_USAGE_LIMITS, get_usage_limits, _cloud_user),
        Handler(actions.GET_FLAVORS, get_flavors, _cloud),
        Handler(actions.GET_URL_LIST, get_url_list, _tenant),
        Handler(actions.GET_DOMAIN_DETAIL, get_domain_detail, _tenant),
        Handler(actions.GET_NEWS, get_news, _everyone),
        Handler(actions.GET_CONSUMPTIONS_ESTIMATED, get_consumptions_estimated, _cloud_user),
    )
}
