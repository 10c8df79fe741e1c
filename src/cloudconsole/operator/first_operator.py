"""Creation of the first operator in a store without accounts."""

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, select

from cloudconsole.operator.entities import ACCOUNTS, TENANTS
from cloudconsole.operator.entities.accounts import has_accounts
from cloudconsole.operator.entity_models import Account, Tenant
from cloudconsole.operator.errors import OperatorError, error_message
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.store.base import Store, read_only_engine
from cloudconsole.store.migrations import current_revision
from cloudconsole.store.sqlite.permissions import reject_unsafe_permissions
from cloudconsole.store.sqlite.store import SqliteStore
from cloudconsole.store.tables import tenants


def check_names(*, username: str, tenant: str) -> None:
    """Reject names that a cloud file would reject."""
    _check("--username", lambda: Account.model_validate({"username": username}))
    _check("--tenant", lambda: Tenant.model_validate({"name": tenant}))


def reject_if_accounts_exist(store: Store) -> None:
    """Reject a store that has accounts or whose directory others can write to, without changing it."""
    if isinstance(store, SqliteStore) and store.folder.is_dir():
        reject_unsafe_permissions(store.folder)
    if not store.exists():
        return
    with store.opened("cloud") as engine:
        if current_revision(engine) is not None:
            with read_only_engine(engine).connect() as connection:
                _reject_accounts(connection)


def add_first_operator(tx: OperatorTransaction, *, username: str, tenant: str, password_hash: str) -> None:
    """Add the account, and its tenant if it does not exist."""
    _reject_accounts(tx.connection)
    if tx.connection.scalar(select(tenants.c.id).where(tenants.c.name == tenant)) is None:
        TENANTS.add(tx, {"name": tenant})
    account = {"tenant": tenant, "username": username, "role": "operator"}
    ACCOUNTS.add(tx, {**account, "password_hash": password_hash})


def _check(flag: str, validate: Callable[[], Any]) -> None:
    try:
        validate()
    except ValidationError as error:
        raise OperatorError(f"{flag}: {error_message(error.errors(include_url=False)[0])}") from None


def _reject_accounts(connection: Connection) -> None:
    if has_accounts(connection):
        raise OperatorError("the store already has accounts; nothing was changed: use cloudconsole admin to add more")
