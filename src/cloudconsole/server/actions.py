"""Handlers of the six actions, and the execution of any action through the response cache."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct

from cloudconsole.core.ports import CacheableResult, Ports, Tenant
from cloudconsole.server.response_cache import CacheEntry, CacheKey, ResponseCache
from cloudconsole.spec import actions, envelope
from cloudconsole.spec.actions import Action
from cloudconsole.spec.i18n import Language

BYTES_IN_MEMORY: Final = 8
"""At most so many bytes per byte of the parameters' JSON."""
MAX_KEY_BYTES: Final = 4096
"""Responses to requests with larger parameters are not cached: they hardly repeat."""


class Handler(Struct, frozen=True):
    action: Action
    handle: Callable[[Ports, Tenant, Any], Awaitable[CacheableResult[Any]]]
    """Called with an instance of the action's parameters."""
    cache_scope: Callable[[Tenant], int | str | None]
    """Returns who shares the cached response: tenants with an equal scope."""


def of_everyone(_tenant: Tenant) -> None:
    return None


def of_tenant(tenant: Tenant) -> int:
    return tenant.id


def of_cloud_user(tenant: Tenant) -> int | str:
    """OpenStack may return different data to each user."""
    return tenant.id if tenant.credentials is None else tenant.credentials.scope


def of_cloud(tenant: Tenant) -> str | None:
    """All tenants of the embedded store share the same data."""
    return None if tenant.credentials is None else tenant.credentials.scope


@dataclass(frozen=True)
class ActionRunner:
    ports: Ports
    cache: ResponseCache

    def cached(self, handler: Handler, tenant: Tenant, parameters: Struct, language: Language) -> CacheEntry | None:
        """Return the response from the cache, if it is valid for a request that has polled for changes."""
        return self.cache.get(_key(handler, tenant, parameters, language), tenant.id)

    async def run(self, handler: Handler, tenant: Tenant, parameters: Struct, language: Language) -> CacheEntry:
        """Produce a response and cache it."""
        # Taken before the data is read: a change in between makes the entry stale, never wrongly valid.
        version, now = self.cache.version, self.ports.clock.now()
        result = await handler.handle(self.ports, tenant, parameters)
        body = envelope.success(handler.action.success, language, envelope.encode(result.record))
        key_bytes = len(envelope.encode(parameters)) * BYTES_IN_MEMORY
        entry = CacheEntry(version, now, result.expires_at, body, result.read_at, len(body) + key_bytes)
        if key_bytes <= MAX_KEY_BYTES:
            self.cache.put(_key(handler, tenant, parameters, language), entry)
        return entry


def _key(handler: Handler, tenant: Tenant, parameters: Struct, language: Language) -> CacheKey:
    return handler.action.name, handler.cache_scope(tenant), parameters, language


HANDLERS: Final[dict[str, Handler]] = {
    handler.action.name: handler
    for handler in (
        Handler(actions.GET_USAGE_LIMITS, lambda ports, tenant, _: ports.cloud.usage_limits(tenant), of_cloud_user),
        Handler(actions.GET_FLAVORS, lambda ports, tenant, _: ports.cloud.flavors(tenant), of_cloud),
        Handler(actions.GET_URL_LIST, lambda ports, tenant, _: ports.content.urls(tenant), of_tenant),
        Handler(
            actions.GET_DOMAIN_DETAIL,
            lambda ports, tenant, parameters: ports.content.domain(tenant, parameters.domain_id),
            of_tenant,
        ),
        Handler(actions.GET_NEWS, lambda ports, _tenant, _: ports.content.news(), of_everyone),
        Handler(
            actions.GET_CONSUMPTIONS_ESTIMATED, lambda ports, tenant, _: ports.cloud.consumption(tenant), of_cloud_user
        ),
    )
}
