"""Entities that were renamed, as the audit log records it."""

from typing import Final

from cloudconsole.operator.audit import AuditQuery, find_changes
from cloudconsole.operator.entities import QUOTAS, TENANTS, EntityType
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import OperatorTransaction

_MAX_RENAMES: Final = 10
_MAX_CHANGES: Final = 100
"""Changes between two renames that are read."""


def key_after(entity: EntityType, entry: Record) -> str:
    """Return the key of an entity after a change, which is another than the entry's subject if it was renamed."""
    subject, after = str(entry["subject"]), entry["after"]
    try:
        return subject if entry["before"] is None or after is None else entity.key_of(after)
    except KeyError:
        # The record has a part of the entity only, such as its password.
        return subject


def renamed_to(tx: OperatorTransaction, entity: EntityType, key: str) -> str | None:
    """Return the present key of an entity that had this one, if it was renamed since and exists.

    Of each further key only later changes count: another entity may have had it before, or have it since.
    """
    named = TENANTS if entity is QUOTAS else entity
    change = f"{named.name}."
    latest = key
    entries = find_changes(tx.connection, AuditQuery(subject=key, change=change, limit=1))
    for _ in range(_MAX_RENAMES):
        last = next((entry for entry in entries if _is_removal(entry) or key_after(named, entry) != latest), None)
        if last is None:
            return latest if latest != key and named.exists(tx, latest) else None
        if _is_removal(last):
            return None
        latest = key_after(named, last)
        later = AuditQuery(subject=latest, change=change, before=last["id"], limit=_MAX_CHANGES)
        entries = find_changes(tx.connection, later)[::-1]
    return None


def _is_removal(entry: Record) -> bool:
    return entry["before"] is not None and entry["after"] is None
