"""The quotas that a load is held to: for what it adds or lets grow, and for nothing that was there before."""

from collections import Counter
from typing import Final

from sqlalchemy import select

from cloudconsole.operator.cloudfile.sync import Changes
from cloudconsole.operator.desk import Desk
from cloudconsole.operator.errors import Overridable
from cloudconsole.operator.nouns.usage import Room, asked_for, over_quota
from cloudconsole.store.tables import tenants

_AT_ONCE: Final = 10_000
"""So many tenants in one question: a statement takes only so many values."""


def refuse_over_quota(desk: Desk, resources: Changes) -> None:
    """Refuse changes that have been written, totals included, if they take a tenant over a quota."""
    if desk.force:
        return
    asked = _asked(desk, resources)
    ids = sorted(asked)
    over = []
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        room = Room(desk, some)
        names = desk.connection.execute(select(tenants.c.id, tenants.c.name).where(tenants.c.id.in_(some)))
        for tenant_id, name in names:
            exceeded = room.exceeded(tenant_id, asked[tenant_id])
            if exceeded:
                over.append(f"the tenant {name} is {over_quota(exceeded)}")
    if over:
        raise Overridable("; ".join(over))


def _asked(desk: Desk, resources: Changes) -> dict[int, Counter[str]]:
    """What all the new and grown ones of each tenant take beyond what they took."""
    asked: dict[int, Counter[str]] = {}
    for before, resource in resources.written():
        # One that comes from another tenant is new here.
        known = before if before is not None and before["tenant_id"] == resource["tenant_id"] else None
        more = asked_for(resource, known, desk.now)
        if more:
            asked.setdefault(resource["tenant_id"], Counter()).update(more)
    return asked
