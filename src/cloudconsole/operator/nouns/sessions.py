"""Ending sessions: one is live only while its account has the version it was opened under."""

from secrets import randbits

from sqlalchemy import select, update

from cloudconsole.operator.desk import Desk
from cloudconsole.operator.records import Row
from cloudconsole.store.sql import update_rows
from cloudconsole.store.tables import accounts, tenants


def new_version() -> int:
    return randbits(63)


def end_sessions_of_accounts(desk: Desk, tenant_id: int) -> None:
    ids = desk.connection.scalars(select(accounts.c.id).where(accounts.c.tenant_id == tenant_id))
    update_rows(desk.connection, accounts, [{"id": account, "version": new_version()} for account in ids])


def ends_sessions_of_guests(before: Row, after: Row) -> bool:
    """Whether a tenant's change does. Enabling, too: a login under way when it was disabled may have opened one."""
    return any(before[field] != after[field] for field in ("disabled", "project"))


def end_sessions_of_guests(desk: Desk, tenant_id: int) -> None:
    """Of those that an identity endpoint behind us vouches for: all that were opened before, or are in this second."""
    desk.connection.execute(update(tenants).where(tenants.c.id == tenant_id).values(guests_ended_at=desk.now))
