"""References to tenants and nodes by name."""

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Select, Table, func, select

from cloudconsole.operator.errors import FieldError, OperatorError, ValidationError
from cloudconsole.operator.invalid_placeholder import INVALID
from cloudconsole.operator.messages import Message, Term, all_of
from cloudconsole.operator.rows_and_records import Row
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.store.tables import nodes, tenants

FieldErrors = list[FieldError]
_UNKNOWN: Final = -1


def find_tenant(tx: OperatorTransaction, name: Any) -> Row:
    return _named(tx, tenants, "tenant", name)


def find_node(tx: OperatorTransaction, name: Any) -> Row:
    return _named(tx, nodes, "node", name)


def node_problems(tx: OperatorTransaction, name: Any) -> FieldErrors:
    """Return the errors of a node's name, which may be None."""
    try:
        if name is not None and name is not INVALID:
            find_node(tx, name)
    except ValidationError as error:
        return list(error.errors)
    return []


def split_owner(tx: OperatorTransaction, values: Mapping[str, Any]) -> tuple[int | None, dict[str, Any], FieldErrors]:
    """Return the id of the tenant in `values`, if any, the other values, and the errors of its name."""
    others = dict(values)
    name = others.pop("tenant", None)
    try:
        return None if name is None else int(find_tenant(tx, name)["id"]), others, []
    except ValidationError as error:
        return _UNKNOWN, others, list(error.errors)


def require_owner(tx: OperatorTransaction, values: Mapping[str, Any]) -> tuple[int, dict[str, Any], FieldErrors]:
    tenant_id, others, errors = split_owner(tx, values)
    if tenant_id is None:
        return _UNKNOWN, others, [(("tenant",), Message("is missing", "为必填项"))]
    return tenant_id, others, errors


def with_tenant(table: Table, *, may_lack: bool = False) -> Select[Any]:
    """Select the rows of a table, each with its tenant's name as `tenant`."""
    owned = select(table, tenants.c.name.label("tenant"))
    return owned.join(tenants, tenants.c.id == table.c.tenant_id, isouter=may_lack)


def count_references(tx: OperatorTransaction, users: Mapping[str, tuple[Table, str]], row_id: int) -> dict[str, int]:
    """Return how many rows of each table refer to a row, by the name of the entity; tables without any are omitted."""
    counts = {
        user: tx.connection.scalar(select(func.count()).where(table.c[column] == row_id)) or 0
        for user, (table, column) in users.items()
    }
    return {user: count for user, count in counts.items() if count}


def reject_if_referenced(entity: str, name: str, counts: Mapping[str, int]) -> None:
    """Reject the removal of a row that others refer to, with their numbers."""
    needs = [
        Message(
            "{count} {user}" if count == 1 else "{count} {user}s",
            "{count} 个{user}",
            count=count,
            user=Term("entity", user),
        )
        for user, count in counts.items()
    ]
    if needs:
        verb = "needs" if sum(counts.values()) == 1 else "need"
        raise OperatorError(
            Message(
                "the {entity} {name} cannot be removed: {users} " + verb + " it",
                "无法删除{entity} {name}：正被 {users}使用",
                entity=Term("entity", entity),
                name=name,
                users=all_of(needs),
            )
        )


def not_found(entity: str, name: object) -> Message:
    return Message("there is no {entity} {name}", "{entity} {name} 不存在", entity=Term("entity", entity), name=name)


def _named(tx: OperatorTransaction, table: Table, entity: str, name: Any) -> Row:
    row = None
    if isinstance(name, str) and "\0" not in name:  # PostgreSQL rejects NUL in parameters
        row = tx.connection.execute(select(table).where(table.c.name == name)).mappings().one_or_none()
    if name == "":
        raise ValidationError(
            [
                (
                    (entity,),
                    Message(
                        "must not be empty: give the {entity}'s name",
                        "不能为空，请填写{entity}名称",
                        entity=Term("entity", entity),
                    ),
                )
            ]
        )
    if row is None:
        raise ValidationError([((entity,), not_found(entity, name))])
    return dict(row)
