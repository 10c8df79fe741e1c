"""The cloud that answers for a tenant: the one its session has access to, else our own store."""

from cloudconsole.core.ports import Cloud, Fresh, Tenant
from cloudconsole.spec.records import ConsumptionItem, Flavors, UsageLimits


class ChosenCloud:
    def __init__(self, own: Cloud, behind: Cloud) -> None:
        self._own = own
        self._behind = behind

    async def usage_limits(self, tenant: Tenant) -> Fresh[UsageLimits]:
        return await self._of(tenant).usage_limits(tenant)

    async def flavors(self, tenant: Tenant) -> Fresh[Flavors]:
        return await self._of(tenant).flavors(tenant)

    async def consumption(self, tenant: Tenant) -> Fresh[list[ConsumptionItem]]:
        return await self._of(tenant).consumption(tenant)

    def _of(self, tenant: Tenant) -> Cloud:
        return self._own if tenant.access is None else self._behind
