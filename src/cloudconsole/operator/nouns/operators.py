"""Who can log in, and the last operator who still can."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import ColumnElement, Connection, Select, select

from cloudconsole.operator.desk import Desk
from cloudconsole.operator.errors import Overridable
from cloudconsole.store.tables import accounts, tenants


def has_accounts(connection: Connection) -> bool:
    return connection.scalar(select(accounts.c.id).limit(1)) is not None


def operators_who_can_log_in() -> Select[tuple[str]]:
    """Their usernames."""
    operators = select(accounts.c.username).join(tenants, tenants.c.id == accounts.c.tenant_id)
    return operators.where(accounts.c.role == "operator", ~accounts.c.disabled, ~tenants.c.disabled)


@contextmanager
def keeping_an_operator(desk: Desk) -> Iterator[None]:
    """Refuse what is done within if no operator can log in afterwards, where one could before."""
    can_log_in = operators_who_can_log_in().limit(1)
    could = desk.connection.scalar(can_log_in)
    yield
    if could is not None and not desk.force and desk.connection.scalar(can_log_in) is None:
        raise Overridable(f"this leaves no operator who can log in, as {could} can now: keep one")


def refuse_no_operator_left(desk: Desk, going: ColumnElement[bool]) -> None:
    """Refuse a change after which no operator could log in, where one can now; `going` says whom it concerns."""
    if desk.force:
        return
    can_log_in = operators_who_can_log_in()
    last = desk.connection.scalar(can_log_in.where(going).limit(1))
    if last is not None and desk.connection.scalar(can_log_in.where(~going).limit(1)) is None:
        raise Overridable(f"the account {last} is the last operator who can log in: make another one first")
