"""Accounts: last-operator guard, session revocation, throttle reset."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from secrets import randbits
from typing import Any, Final, get_args

from sqlalchemy import ColumnElement, Connection, Select, delete, select, update

from cloudconsole.core.resources import Role
from cloudconsole.operator import entity_models, rows_and_records
from cloudconsole.operator.audit import record_change
from cloudconsole.operator.entities.base import ChangeResult, EntityType, Values
from cloudconsole.operator.entities.fields_and_filters import (
    Filter,
    prefix_filter,
    search_filter,
    switch_filter,
    tenant_filter,
)
from cloudconsole.operator.entities.references import require_owner, with_tenant
from cloudconsole.operator.entity_models import parse_model
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.messages import Message
from cloudconsole.operator.rows_and_records import Record, Row
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.store import tables
from cloudconsole.store.activity_writes import hash_username
from cloudconsole.store.sql import update_rows
from cloudconsole.store.tables import accounts, login_failures, sessions, tenants


def has_accounts(connection: Connection) -> bool:
    return connection.scalar(select(accounts.c.id).limit(1)) is not None


def active_operators() -> Select[tuple[str]]:
    """Select the usernames of operators who can log in."""
    operators = select(accounts.c.username).join(tenants, tenants.c.id == accounts.c.tenant_id)
    return operators.where(accounts.c.role == "operator", ~accounts.c.disabled, ~tenants.c.disabled)


@contextmanager
def ensure_operator_remains(tx: OperatorTransaction) -> Iterator[None]:
    """Reject the enclosed changes if they leave no operator who can log in."""
    can_log_in = active_operators().limit(1)
    before = tx.connection.scalar(can_log_in)
    yield
    if before is not None and tx.connection.scalar(can_log_in) is None:
        tx.ask(
            Message(
                "this leaves no operator who can sign in ({account} can now): keep one",
                "此操作将使任何管理员都无法登录（目前 {account} 可以），请至少保留一个",
                account=before,
            )
        )


def reject_removing_last_operator(tx: OperatorTransaction, going: ColumnElement[bool]) -> None:
    """Reject a change that leaves no operator who can log in; `going` matches the accounts that lose access."""
    can_log_in = active_operators()
    last = tx.connection.scalar(can_log_in.where(going).limit(1))
    if last is not None and tx.connection.scalar(can_log_in.where(~going).limit(1)) is None:
        problem = Message(
            "the account {account} is the last operator who can sign in: create another one first",
            "账户 {account} 是最后一个可以登录的管理员，请先创建另一个",
            account=last,
        )
        if tx.keeps_operator:
            raise OperatorError(problem)
        tx.ask(problem)


def new_version() -> int:
    return randbits(63)


def end_account_sessions(tx: OperatorTransaction, tenant_id: int) -> None:
    ids = tx.connection.scalars(select(accounts.c.id).where(accounts.c.tenant_id == tenant_id))
    update_rows(tx.connection, accounts, [{"id": account, "version": new_version()} for account in ids])


def ends_federated_sessions(before: Row, after: Row) -> bool:
    """Return whether a tenant's change ends them.

    Enabling does too: a login in progress while the tenant was disabled may have opened a session.
    """
    return any(before[field] != after[field] for field in ("disabled", "project"))


def end_federated_sessions(tx: OperatorTransaction, tenant_id: int) -> None:
    """End the tenant's federated sessions opened before now or within this second."""
    tx.connection.execute(update(tenants).where(tenants.c.id == tenant_id).values(guests_ended_at=tx.now))


PASSWORD_CHANGED: Final[Record] = {"password": "changed"}
"""The only audit record of a password."""


class Accounts(EntityType):
    name = "account"
    label = "account"
    plural = "accounts"
    model = entity_models.Account
    table = tables.accounts
    key = "username"
    owner = "the tenant it acts for"
    fixed = frozenset({"username"})
    overridable = frozenset({"change", "disable", "remove"})

    def filters(self) -> Mapping[str, Filter]:
        columns = self.table.c
        return {
            "search": search_filter("username", columns.username),
            "tenant": tenant_filter(columns.tenant_id),
            "role": Filter(
                "only accounts with this role", lambda _tx, role: columns.role == role, choices=get_args(Role)
            ),
            "prefix": prefix_filter(columns.username, "name"),
            "disabled": switch_filter(columns.disabled, "only the disabled ones"),
        }

    def sortable(self) -> Mapping[str, ColumnElement[Any]]:
        return {"tenant": tenants.c.name, "role": self.table.c.role}

    def add(self, tx: OperatorTransaction, values: Values) -> ChangeResult:
        """Add an account; `password_hash` is required."""
        if values.get("password_hash") is None:
            raise OperatorError("password_hash: is missing")
        return super().add(tx, values)

    def check_new(self, tx: OperatorTransaction, values: Values) -> None:
        """Reject an account that cannot be added, before prompting for its password."""
        self._new_row(tx, values)

    def change(self, tx: OperatorTransaction, key: str, values: Values) -> ChangeResult:
        if "password_hash" in values:
            raise OperatorError("password_hash: cannot be changed here: reset the password")
        return super().change(tx, key, values)

    def reset_password(self, tx: OperatorTransaction, key: str, password_hash: str) -> ChangeResult:
        current = self._require(tx, key)
        values = {"username": current["username"], "password_hash": password_hash}
        account = parse_model(entity_models.Account, values, tx.allowing_names([current["username"]]))
        self._renew(tx, current, password_hash=account.password_hash)
        return self._record_change(tx, "password", key, None, PASSWORD_CHANGED)

    def end_sessions(self, tx: OperatorTransaction, key: str) -> ChangeResult:
        self._renew(tx, self._require(tx, key))
        return self._record_change(tx, "end-sessions", key, None, {"sessions": "ended"})

    def _renew(self, tx: OperatorTransaction, current: Row, **columns: Any) -> None:
        statement = update(self.table).where(self._is(current)).values(version=new_version(), **columns)
        tx.connection.execute(statement)

    def _query(self) -> Select[Any]:
        return with_tenant(self.table)

    def record_of(self, row: Row) -> Record:
        return {"tenant": row["tenant"], **rows_and_records.account_record(row)}

    def _row(self, tx: OperatorTransaction, values: Values) -> Row:
        tenant_id, others, errors = require_owner(tx, values)
        if "password_file" in others:
            raise OperatorError("password_file: is not allowed here")
        account = parse_model(entity_models.Account, others, tx, errors)
        row = {"tenant_id": tenant_id, "username": account.username, "role": account.role, "disabled": account.disabled}
        return row if account.password_hash is None else {**row, "password_hash": account.password_hash}

    def _written(self, row: Row) -> Row:
        return {**row, "version": new_version()}

    def _check(self, tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:
        if before is not None and not self._is_operator(tx, after):
            reject_removing_last_operator(tx, self._is(before))
        if before is None or after is None:
            return
        questions = []
        if after["role"] == "operator" != before["role"]:
            questions.append(Message(*_PROMOTES, account=before["username"]))
        if before["tenant_id"] != after["tenant_id"]:
            name = tx.connection.scalar(select(tenants.c.name).where(tenants.c.id == after["tenant_id"]))
            values = {"account": before["username"], "former": before["tenant"], "tenant": name}
            questions.append(Message(*_MOVES, **values))
        if questions:
            tx.ask(reduce(_joined, questions))

    def _is_operator(self, tx: OperatorTransaction, row: Row | None) -> bool:
        """Return whether the account is an operator who can log in."""
        if row is None or row["disabled"] or row["role"] != "operator":
            return False
        query = select(tenants.c.disabled).where(tenants.c.id == row["tenant_id"])
        return tx.connection.scalar(query) is False


def _joined(first: Message, second: Message) -> Message:
    return Message("{first}; {second}", "{first}；{second}", first=first, second=second)


_PROMOTES: Final = (
    "makes the account {account} an operator, who can change everything, with a password that the stricter rules for "
    "operators never checked: reset its password, too, or add another account with this role",
    "将账户 {account} 设为管理员，可更改所有内容，但其密码未按更严格的管理员规则检查："
    "请同时重置密码，或另行添加管理员账户",
)
_MOVES: Final = (
    "moves the account {account} from the tenant {former} to the tenant {tenant}: "
    "it will see what belongs to {tenant}, and no longer what belongs to {former}",
    "将账户 {account} 从租户 {former} 移至租户 {tenant}：此后可查看 {tenant} 的内容，不再能查看 {former} 的内容",
)


ACCOUNTS: Final = Accounts()


def clear_throttle(
    tx: OperatorTransaction, activity: Connection, username: str, network: str | None = None
) -> ChangeResult:
    """Delete an account's failed logins, from one network or from all.

    Commit `activity` after `tx`: a crash between the two leaves an extra audit entry, never a missing one.
    """
    ACCOUNTS.show(tx, username)
    failures = delete(login_failures).where(login_failures.c.user_hash == hash_username(username))
    if network is not None:
        failures = failures.where(login_failures.c.network == network)
    deleted = activity.execute(failures).rowcount
    after = {**({} if network is None else {"address": network}), "failures": deleted}
    record_change(tx, "account.clear-throttle", username, None, after)
    return ChangeResult(username, None, after)


def throttle_cleared(done: ChangeResult) -> Message:
    count = 0 if done.after is None else done.after["failures"]
    words = "{count} failed sign-in cleared" if count == 1 else "{count} failed sign-ins cleared"
    return Message(words, "已清除 {count} 次登录失败记录", count=count)


def end_all_sessions(tx: OperatorTransaction, activity: Connection) -> int:
    """End every session, those of the admin UI included; return their number.

    Commit `activity` after `tx`: a crash between the two leaves an extra audit entry, never a missing one.
    """
    ended = activity.execute(delete(sessions)).rowcount
    record_change(tx, "end-sessions", None, None, {"sessions": ended})
    return ended
