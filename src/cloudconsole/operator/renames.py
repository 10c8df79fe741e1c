"""Entities that were renamed, as the audit log records it."""

from typing import Final

from cloudconsole.operator.audit import AuditQuery, find_changes
from cloudconsole.operator.entities import QUOTAS, TENANTS, EntityType
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import OperatorTransaction

_MAX_RENAMES: Final = 10


def key_after(entity: EntityType, entry: Record) -> str:
    """Return the key of an entity after a change, which is another than the entry's subject if it was renamed."""
    subject, after = str(entry["subject"]), entry["after"]
    try:
        return subject if entry["before"] is None or after is None else entity.key_of(after)
    except KeyError:
        # The record has a part of the entity only, such as its password.
        return subject


def renamed_to(tx: OperatorTransaction, entity: EntityType, key: str) -> str | None:
    """Return the present key of an entity that had this one, if it was renamed since and exists."""
    named = TENANTS if entity is QUOTAS else entity
    latest = key
    for _ in range(_MAX_RENAMES):
        search = AuditQuery(subject=latest, change=f"{named.name}.", limit=1)
        entries = find_changes(tx.connection, search)
        following = key_after(named, entries[0]) if entries else latest
        if following == latest:
            return None
        if named.exists(tx, following):
            return following
        latest = following
    return None
