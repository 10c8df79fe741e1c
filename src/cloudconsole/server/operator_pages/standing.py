"""How a tenant stands with its quotas, for its page."""

from typing import NamedTuple

from cloudconsole.core.resources import UNLIMITED
from cloudconsole.operator.entities import QUOTAS
from cloudconsole.operator.entities.quotas import used_by
from cloudconsole.operator.entities.references import find_tenant
from cloudconsole.operator.transaction import Desk
from cloudconsole.server.operator_pages.labels import label_of, unit_of


class Standing(NamedTuple):
    label: str
    unit: str
    used: int
    limit: int

    @property
    def is_unlimited(self) -> bool:
        return self.limit == UNLIMITED

    @property
    def is_over(self) -> bool:
        return not self.is_unlimited and self.used > self.limit


def standing_of(desk: Desk, tenant: str) -> list[Standing]:
    """The quotas from which resources take, and what they have taken."""
    limits, used = QUOTAS.show(desk, tenant), used_by(desk, find_tenant(desk, tenant)["id"])
    return [
        Standing(label_of(name, "quota"), unit_of("quota", name), amount, limits[name]) for name, amount in used.items()
    ]
