"""Accounts. Whatever changes one ends its sessions; its password's hash is never part of a record."""

from collections.abc import Mapping
from typing import Any, Final, get_args

from sqlalchemy import Select, select, update

from cloudconsole.core.resources import Role
from cloudconsole.operator import models, records
from cloudconsole.operator.desk import Desk
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.models import read_part
from cloudconsole.operator.nouns.filters import Filter, prefix_filter, switch_filter, tenant_filter
from cloudconsole.operator.nouns.noun import Done, Noun
from cloudconsole.operator.nouns.operators import refuse_no_operator_left
from cloudconsole.operator.nouns.places import require_owner, with_tenant
from cloudconsole.operator.nouns.sessions import new_version
from cloudconsole.operator.nouns.traits import Values
from cloudconsole.operator.records import Record, Row
from cloudconsole.store import tables

PASSWORD_CHANGED: Final[Record] = {"password": "changed"}
"""All that is ever noted of a password."""


class Accounts(Noun):
    name = "account"
    thing = "account"
    plural = "accounts"
    model = models.Account
    table = tables.accounts
    key = "username"
    owner = "the tenant it acts for"
    fixed = frozenset({"username"})
    overridable = frozenset({"change", "disable", "remove"})

    def filters(self) -> Mapping[str, Filter]:
        columns = self.table.c
        return {
            "tenant": tenant_filter(columns.tenant_id),
            "role": Filter("only those of this role", lambda _desk, role: columns.role == role, choices=get_args(Role)),
            "prefix": prefix_filter(columns.username, "name"),
            "disabled": switch_filter(columns.disabled, "only the disabled ones"),
        }

    def add(self, desk: Desk, values: Values) -> Done:
        """Add an account; of its password, `password_hash` is given."""
        if values.get("password_hash") is None:
            raise OperatorError("password_hash: is missing")
        return super().add(desk, values)

    def check_new(self, desk: Desk, values: Values) -> None:
        """Refuse what could not be added, before anyone is asked for its password."""
        self._new_row(desk, values)

    def change(self, desk: Desk, key: str, values: Values) -> Done:
        if "password_hash" in values:
            raise OperatorError("password_hash: is changed by resetting the password")
        return super().change(desk, key, values)

    def reset_password(self, desk: Desk, key: str, password_hash: str) -> Done:
        current = self._require(desk, key)
        values = {"username": current["username"], "password_hash": password_hash}
        given = read_part(models.Account, values, desk.keeping([current["username"]]))
        self._renew(desk, current, password_hash=given.password_hash)
        return self._noted(desk, "password", key, None, PASSWORD_CHANGED)

    def end_sessions(self, desk: Desk, key: str) -> Done:
        self._renew(desk, self._require(desk, key))
        return self._noted(desk, "end-sessions", key, None, {"sessions": "ended"})

    def _renew(self, desk: Desk, current: Row, **columns: Any) -> None:
        renewed = update(self.table).where(self._is(current)).values(version=new_version(), **columns)
        desk.connection.execute(renewed)

    def _query(self) -> Select[Any]:
        return with_tenant(self.table)

    def record_of(self, row: Row) -> Record:
        return {"tenant": row["tenant"], **records.account_record(row)}

    def _row(self, desk: Desk, values: Values) -> Row:
        tenant_id, others, findings = require_owner(desk, values)
        if "password_file" in others:
            raise OperatorError("password_file: is not taken here")
        account = read_part(models.Account, others, desk, findings)
        row = {"tenant_id": tenant_id, "username": account.username, "role": account.role, "disabled": account.disabled}
        return row if account.password_hash is None else {**row, "password_hash": account.password_hash}

    def _written(self, row: Row) -> Row:
        return {**row, "version": new_version()}

    def _check(self, desk: Desk, before: Row | None, after: Row | None) -> None:
        if before is not None and not self._is_operator(desk, after):
            refuse_no_operator_left(desk, self._is(before))

    def _is_operator(self, desk: Desk, row: Row | None) -> bool:
        """Whether this will be an operator who can log in."""
        if row is None or row["disabled"] or row["role"] != "operator":
            return False
        tenants = tables.tenants.c
        return desk.connection.scalar(select(tenants.disabled).where(tenants.id == row["tenant_id"])) is False
