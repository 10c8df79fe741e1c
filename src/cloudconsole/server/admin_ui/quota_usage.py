"""Limits with their use, as pages show them."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from cloudconsole.core.resources import UNLIMITED
from cloudconsole.operator.near_quotas import is_near
from cloudconsole.operator.quota_check import quota_usage_by_tenant
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.admin_ui.i18n import Label
from cloudconsole.server.admin_ui.labels import label_of, unit_of
from cloudconsole.server.admin_ui.messages import MESSAGES

Level = Literal["near", "full", "over"]


class QuotaUsage(NamedTuple):
    label: Label
    unit: Label
    used: int
    limit: int

    @property
    def shown_use(self) -> str:
        return f"{self.used:,}"

    @property
    def shown_limit(self) -> Label:
        return MESSAGES["value.unlimited"] if self.is_unlimited else f"{self.limit:,}"

    @property
    def is_unlimited(self) -> bool:
        return self.limit == UNLIMITED

    @property
    def level(self) -> Level | None:
        """How full it is, if that deserves attention."""
        if self.is_unlimited or not is_near(self.used, self.limit):
            return None
        return "near" if self.used < self.limit else "full" if self.used == self.limit else "over"


def quota_usages(limits: Record, used: Mapping[str, int]) -> dict[str, QuotaUsage]:
    """Return the usage of a tenant's quotas by name."""
    return {
        name: QuotaUsage(label_of(name, "quota"), unit_of("quota", name), amount, limits[name])
        for name, amount in used.items()
    }


def listed_quota_usages(tx: OperatorTransaction, records: Iterable[Record]) -> dict[str, dict[str, QuotaUsage]]:
    """Return the usage of listed quotas by tenant and name."""
    limits = {record["tenant"]: record for record in records}
    usage = quota_usage_by_tenant(tx, limits)
    return {tenant: quota_usages(limits[tenant], used) for tenant, used in usage.items()}
