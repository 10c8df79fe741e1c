"""The cloud that answers for a tenant: the one its session has access to, else our own store."""

from cloudconsole.core.ports import CacheableResult, Cloud, Tenant
from cloudconsole.spec.records import ConsumptionItem, Flavors, UsageLimits


class CloudRouter:
    def __init__(self, own: Cloud, behind: Cloud) -> None:
        self._own = own
        self._behind = behind

    async def usage_limits(self, tenant: Tenant) -> CacheableResult[UsageLimits]:
        return await self._of(tenant).usage_limits(tenant)

    async def flavors(self, tenant: Tenant) -> CacheableResult[Flavors]:
        return await self._of(tenant).flavors(tenant)

    async def consumption(self, tenant: Tenant) -> CacheableResult[list[ConsumptionItem]]:
        return await self._of(tenant).consumption(tenant)

    def _of(self, tenant: Tenant) -> Cloud:
        return self._own if tenant.credentials is None else self._behind
