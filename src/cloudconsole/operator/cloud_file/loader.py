"""Load a cloud file into a store."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import tzinfo
from operator import itemgetter
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, Table

from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator.audit import AuditEntry, record_change, record_changes
from cloudconsole.operator.cloud_file import rows
from cloudconsole.operator.cloud_file.model import CloudFile, read_model
from cloudconsole.operator.cloud_file.table_changes import Changes, Counts, compare, rows_of
from cloudconsole.operator.cloud_file.validation import check, reject_disabled, reject_over_quota
from cloudconsole.operator.cloud_file.yaml import read_document
from cloudconsole.operator.entities import ACCOUNTS, ENTITY_TYPES, QUOTAS
from cloudconsole.operator.entities.accounts import (
    PASSWORD_CHANGED,
    end_federated_sessions,
    ends_federated_sessions,
    ensure_operator_remains,
)
from cloudconsole.operator.errors import CloudFileError, OperatorError, cannot_read
from cloudconsole.operator.new_and_existing_names import StoredNames
from cloudconsole.operator.password_policy import DEFAULT_POLICY, PasswordPolicy
from cloudconsole.operator.rows_and_records import Record, Row
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.operator.unpriced_resources import reject_unpriced_projects
from cloudconsole.store import counters, tables
from cloudconsole.store.base import read_only_engine
from cloudconsole.store.billing.entries import detach_entries
from cloudconsole.store.billing.prices import record_prices
from cloudconsole.store.billing.resources import record_resources
from cloudconsole.store.sql import allow_idle_transaction

MAX_AUDITED_RESOURCES: Final = 10_000
"""Beyond this, the audit log has only the counts of the load, not an entry per resource."""

_ENTITY_TYPES: Final = {entity.table: entity for entity in ENTITY_TYPES}


def record_each_change(tx: OperatorTransaction, parts: Sequence[Changes]) -> None:
    """Record the changes before tenants and nodes are removed, while they can still be named.

    A load into an empty store records nothing here.
    """
    if all(part.was_empty for part in parts):
        return
    tenants, nodes = (
        {row["id"]: row["name"] for row in rows_of(tx.connection, table)} for table in (tables.tenants, tables.nodes)
    )

    def named(row: Row) -> Row:
        return {**row, "tenant": tenants.get(row.get("tenant_id")), "node": nodes.get(row.get("node_id"))}

    record_changes(tx, (entry for part in parts if not _are_too_many(part) for entry in _entries(part, named)))


def _are_too_many(part: Changes) -> bool:
    return part.table is tables.resources and sum(part.counts) > MAX_AUDITED_RESOURCES


def _entries(part: Changes, named: Callable[[Row], Row]) -> Iterator[AuditEntry]:
    entity = _ENTITY_TYPES[part.table]
    part = _from_defaults(part) if entity is QUOTAS else part
    for row in part.added:
        record = entity.record_of(named(row))
        yield AuditEntry(f"{entity.name}.add", entity.key_of(record), None, record)
    for before, after in zip(part.replaced, part.changed, strict=True):
        was, now = (entity.record_of(named(row)) for row in (before, after))
        if entity is ACCOUNTS:
            yield from _account_entries(before, after, was, now)
        else:
            yield AuditEntry(f"{entity.name}.change", entity.key_of(now), was, now)
    for row in part.removed:
        record = entity.record_of(named(row))
        yield AuditEntry(f"{entity.name}.remove", entity.key_of(record), record, None)


def _from_defaults(quotas: Changes) -> Changes:
    """Return only changes from the default quotas: a tenant's quotas are created and removed with it."""
    changes = Changes(quotas.table)
    for before, after in quotas.written():
        known = {"tenant_id": after["tenant_id"], **QUOTA_DEFAULTS} if before is None else before
        if known != after:
            changes.replaced.append(known)
            changes.changed.append(after)
    return changes


def _account_entries(before: Row, after: Row, was: Record, now: Record) -> Iterator[AuditEntry]:
    """Yield nothing if only the version differs, as when the tenant is disabled."""
    key = ACCOUNTS.key_of(now)
    if was != now:
        yield AuditEntry("account.change", key, was, now)
    if before["password_hash"] != after["password_hash"]:
        yield AuditEntry("account.password", key, None, PASSWORD_CHANGED)


@dataclass(frozen=True)
class Summary:
    """The result of a load by table, without unchanged tables."""

    counts: Mapping[str, Counts]

    @property
    def changed(self) -> bool:
        return bool(self.counts)

    def __str__(self) -> str:
        if not self.counts:
            return "nothing to change"
        return "\n".join(f"{table}: {_count_text(counts)}" for table, counts in self.counts.items())


def _allow(_connection: Connection) -> None:
    """Accept any store."""


def load(
    engine: Engine,
    source: Path,
    *,
    zone: tzinfo,
    now: int,
    actor: str,
    dry_run: bool = False,
    force: bool = False,
) -> Summary:
    """Make the store equal to the file; raise `CloudFileError` with all problems of the file."""
    file, passwords = read_cloud_file(source, zone, StoredNames(engine))
    return apply_cloud_file(
        engine, file, passwords, name=source.name, now=now, actor=actor, zone=zone, dry_run=dry_run, force=force
    )


def apply_cloud_file(
    engine: Engine,
    file: CloudFile,
    passwords: Mapping[str, str],
    *,
    name: str,
    now: int,
    actor: str,
    zone: tzinfo,
    dry_run: bool = False,
    force: bool = False,
    require: Callable[[Connection], None] = _allow,
) -> Summary:
    """Make the store equal to the file; a dry run rolls back.

    The rules for single changes apply: quotas, disabled tenants and nodes, and at least one operator who can log in.
    `require` can raise after reading the store in the same transaction.
    """
    # Hashed before the transaction: hashing is slow, and the transaction blocks other writers.
    hashes = rows.hash_passwords(passwords, _current_hashes(engine))
    with engine.connect() as connection, connection.begin() as transaction:
        allow_idle_transaction(connection)
        require(connection)
        tx = OperatorTransaction(connection, actor, now, zone, force)
        with ensure_operator_remains(tx):
            summary = Summary(_change(tx, file, hashes))
        if summary.changed:
            after = {table: counts._asdict() for table, counts in summary.counts.items()}
            record_change(tx, "load", name, None, after)
        if dry_run:
            transaction.rollback()
    return summary


def read_cloud_file(
    source: Path, zone: tzinfo, existing_names: Container[str] = (), policy: PasswordPolicy = DEFAULT_POLICY
) -> tuple[CloudFile, dict[str, str]]:
    """Return a valid file and the passwords from the password files it names; existing names stay valid."""
    try:
        content = source.read_bytes()
    except OSError as error:
        raise OperatorError(cannot_read(source, error)) from error
    return read_cloud(content, str(source), zone, existing_names, policy, beside=source.parent)


def read_cloud(
    content: bytes,
    name: str,
    zone: tzinfo,
    existing_names: Container[str] = (),
    policy: PasswordPolicy = DEFAULT_POLICY,
    *,
    beside: Path,
) -> tuple[CloudFile, dict[str, str]]:
    """Return a valid file and the passwords from the password files it names, relative to `beside`."""
    document = read_document(content)
    if document.data is None:
        raise CloudFileError(name, document.problems)
    file, shape_problems = read_model(document, zone, existing_names)
    passwords, password_problems = rows.read_passwords(file, beside, document, policy)
    problems = [*document.problems, *shape_problems, *check(file, document), *password_problems]
    if problems:
        raise CloudFileError(name, problems)
    return file, passwords


def _change(tx: OperatorTransaction, file: CloudFile, hashes: Mapping[str, str]) -> dict[str, Counts]:
    connection = tx.connection
    nodes = compare(connection, tables.nodes, itemgetter("name"), rows.node_rows(file))
    tenants = compare(connection, tables.tenants, itemgetter("name"), rows.tenant_rows(file))
    # Tenants may swap projects, or take that of a tenant removed at the end.
    tenants.clear(connection, "project")
    for parents in (nodes, tenants):
        parents.write_in_place(connection)
    newly_disabled = {now["name"] for was, now in tenants.written() if was and now["disabled"] and not was["disabled"]}
    for was, now in tenants.written():
        if was and ends_federated_sessions(was, now):
            end_federated_sessions(tx, now["id"])
    children = _children(connection, file, hashes, newly_disabled)
    prices = next(part for part in children if part.table is tables.prices)
    reject_unpriced_projects(tx, prices.pairs())
    for part in children:
        part.remove(connection)
        part.write(connection)
    resources = next(part for part in children if part.table is tables.resources)
    if tenants.removed or any(resources.counts):
        counters.recount_all(connection)
    record_prices(connection, prices.pairs(), tx.now, tx.zone)
    record_resources(connection, resources.pairs(), tx.now, tx.zone)
    for thing, parents in (("node", nodes), ("tenant", tenants)):
        for row in parents.removed:
            detach_entries(connection, thing, row["id"], row["name"])
    reject_disabled(connection, resources, tenants=tenants, nodes=nodes)
    reject_over_quota(tx, resources)
    parts = (nodes, tenants, *children)
    record_each_change(tx, parts)
    for parents in (nodes, tenants):
        parents.remove(connection)
    return {part.table.name: part.counts for part in parts if any(part.counts)}


def _children(
    connection: Connection, file: CloudFile, hashes: Mapping[str, str], newly_disabled: Set[str]
) -> list[Changes]:
    tenants = _ids(connection, tables.tenants)
    nodes = _ids(connection, tables.nodes)
    accounts = {row["username"]: row for row in rows_of(connection, tables.accounts)}
    targets = (
        (tables.flavors, itemgetter("id"), rows.flavor_rows(file)),
        (tables.prices, itemgetter("kind", "unit", "type", "node_id", "start"), rows.price_rows(file, nodes)),
        (tables.news, itemgetter("id"), rows.news_rows(file)),
        (tables.urls, itemgetter("id"), rows.url_rows(file, tenants)),
        (tables.quotas, itemgetter("tenant_id"), rows.quota_rows(file, tenants)),
        (tables.accounts, itemgetter("username"), rows.account_rows(file, tenants, hashes, accounts, newly_disabled)),
        (tables.domains, itemgetter("id"), rows.domain_rows(file, tenants)),
        (tables.resources, itemgetter("id"), rows.resource_rows(file, tenants, nodes)),
    )
    return [compare(connection, table, key, target) for table, key, target in targets]


def _current_hashes(engine: Engine) -> dict[str, str]:
    with read_only_engine(engine).connect() as connection:
        return {row["username"]: row["password_hash"] for row in rows_of(connection, tables.accounts)}


def _ids(connection: Connection, table: Table) -> dict[str, int]:
    return {row["name"]: row["id"] for row in rows_of(connection, table)}


def _count_text(counts: Counts) -> str:
    return ", ".join(f"{count} {word}" for word, count in counts._asdict().items() if count)
