"""Routing of tenants: federated sessions to their cloud, all others to the embedded store."""

from cloudconsole.core.ports import CacheableResult, Cloud, Tenant
from cloudconsole.spec.records import ConsumptionItem, Flavors, UsageLimits


class CloudRouter:
    def __init__(self, embedded: Cloud, openstack: Cloud) -> None:
        self._embedded = embedded
        self._openstack = openstack

    async def usage_limits(self, tenant: Tenant) -> CacheableResult[UsageLimits]:
        return await self._cloud_of(tenant).usage_limits(tenant)

    async def flavors(self, tenant: Tenant) -> CacheableResult[Flavors]:
        return await self._cloud_of(tenant).flavors(tenant)

    async def consumption(self, tenant: Tenant) -> CacheableResult[list[ConsumptionItem]]:
        return await self._cloud_of(tenant).consumption(tenant)

    def _cloud_of(self, tenant: Tenant) -> Cloud:
        return self._embedded if tenant.credentials is None else self._openstack
