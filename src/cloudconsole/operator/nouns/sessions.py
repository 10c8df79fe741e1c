"""Ending sessions: one is live only while its account has the version it was opened under."""

from secrets import randbits

from sqlalchemy import bindparam, select, update

from cloudconsole.operator.desk import Desk
from cloudconsole.store.tables import accounts


def new_version() -> int:
    return randbits(63)


def end_sessions_of_tenant(desk: Desk, tenant_id: int) -> None:
    ids = desk.connection.scalars(select(accounts.c.id).where(accounts.c.tenant_id == tenant_id)).all()
    if ids:
        renew = update(accounts).where(accounts.c.id == bindparam("account")).values(version=bindparam("renewed"))
        desk.connection.execute(renew, [{"account": account, "renewed": new_version()} for account in ids])
