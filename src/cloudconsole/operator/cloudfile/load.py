"""Making the store equal to a file: all of it, or nothing."""

from collections.abc import Callable, Container, Mapping, Set
from dataclasses import dataclass
from datetime import tzinfo
from operator import itemgetter
from pathlib import Path

from sqlalchemy import Connection, Engine, Table

from cloudconsole.operator.audit import note
from cloudconsole.operator.cloudfile import rows
from cloudconsole.operator.cloudfile.checks import check
from cloudconsole.operator.cloudfile.closed import refuse_disabled
from cloudconsole.operator.cloudfile.model import CloudFile
from cloudconsole.operator.cloudfile.passwords import read_passwords
from cloudconsole.operator.cloudfile.problems import CloudFileError
from cloudconsole.operator.cloudfile.reading import read_document
from cloudconsole.operator.cloudfile.room import refuse_over_quota
from cloudconsole.operator.cloudfile.shape import read_model
from cloudconsole.operator.cloudfile.sync import Changes, Counts, compare, rows_of
from cloudconsole.operator.cloudfile.trail import note_each
from cloudconsole.operator.desk import Desk
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.kept import StoredNames
from cloudconsole.operator.nouns.operators import keeping_an_operator
from cloudconsole.operator.nouns.sessions import end_sessions_of_guests, ends_sessions_of_guests
from cloudconsole.operator.passwords import DEFAULT_POLICY, PasswordPolicy
from cloudconsole.store import counters, tables
from cloudconsole.store.base import reading
from cloudconsole.store.sql import allow_long_thought


@dataclass(frozen=True)
class Summary:
    """What a load did, by table; tables in which nothing changed are left out."""

    counts: Mapping[str, Counts]

    @property
    def changed(self) -> bool:
        return bool(self.counts)

    def __str__(self) -> str:
        if not self.counts:
            return "nothing to change"
        return "\n".join(f"{table}: {_count_text(counts)}" for table, counts in self.counts.items())


def _refuse_nothing(_connection: Connection) -> None:
    """Whatever is there may be changed."""


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
    """Make the store what the file says; a file with problems raises `CloudFileError` with every one of them."""
    file, passwords = read_cloud_file(source, zone, StoredNames(engine))
    return make_equal(engine, file, passwords, name=source.name, now=now, actor=actor, dry_run=dry_run, force=force)


def make_equal(
    engine: Engine,
    file: CloudFile,
    passwords: Mapping[str, str],
    *,
    name: str,
    now: int,
    actor: str,
    dry_run: bool = False,
    force: bool = False,
    refuse: Callable[[Connection], None] = _refuse_nothing,
) -> Summary:
    """Add, change and remove until the store is what the file of this name says; a dry run takes it all back.

    It is held to the rules of single changes: quotas, what is disabled, and that an operator can log in. `refuse` may
    look at the store in the very transaction, and raise.
    """
    # Hashed before the transaction: it takes its time, in which others could not write.
    hashes = rows.hash_passwords(passwords, _current_hashes(engine))
    with engine.connect() as connection, connection.begin() as transaction:
        allow_long_thought(connection)
        refuse(connection)
        desk = Desk(connection, actor, now, force=force)
        with keeping_an_operator(desk):
            summary = Summary(_change(desk, file, hashes))
        if summary.changed:
            after = {table: counts._asdict() for table, counts in summary.counts.items()}
            note(desk, "load", name, None, after)
        if dry_run:
            transaction.rollback()
    return summary


def read_cloud_file(
    source: Path, zone: tzinfo, kept: Container[str] = (), policy: PasswordPolicy = DEFAULT_POLICY
) -> tuple[CloudFile, dict[str, str]]:
    """A file without problems, and the passwords from the files it names; names that are kept may stay as they are."""
    try:
        content = source.read_bytes()
    except OSError as error:
        raise OperatorError(f"{source} cannot be read: {error.strerror}") from error
    return read_cloud(content, str(source), zone, kept, policy, beside=source.parent)


def read_cloud(
    content: bytes,
    name: str,
    zone: tzinfo,
    kept: Container[str] = (),
    policy: PasswordPolicy = DEFAULT_POLICY,
    *,
    beside: Path,
) -> tuple[CloudFile, dict[str, str]]:
    """The content of a file without problems, and the passwords from the files it names, as seen from a folder."""
    document = read_document(content)
    if document.data is None:
        raise CloudFileError(name, document.problems)
    file, shape_problems = read_model(document, zone, kept)
    passwords, password_problems = read_passwords(file, beside, document, policy)
    problems = [*document.problems, *shape_problems, *check(file, document), *password_problems]
    if problems:
        raise CloudFileError(name, problems)
    return file, passwords


def _change(desk: Desk, file: CloudFile, hashes: Mapping[str, str]) -> dict[str, Counts]:
    connection = desk.connection
    nodes = compare(connection, tables.nodes, itemgetter("name"), rows.node_rows(file))
    tenants = compare(connection, tables.tenants, itemgetter("name"), rows.tenant_rows(file))
    # Tenants may swap their projects, or one may have that of another which is removed at the end.
    tenants.clear(connection, "project")
    for parents in (nodes, tenants):
        parents.write_in_place(connection)
    shut_out = {now["name"] for was, now in tenants.written() if was and now["disabled"] and not was["disabled"]}
    for was, now in tenants.written():
        if was and ends_sessions_of_guests(was, now):
            end_sessions_of_guests(desk, now["id"])
    children = _children(connection, file, hashes, shut_out)
    for part in children:
        part.remove(connection)
        part.write(connection)
    resources = next(part for part in children if part.table is tables.resources)
    if tenants.removed or any(resources.counts):
        counters.recount_all(connection)
    refuse_disabled(connection, resources, tenants=tenants, nodes=nodes)
    refuse_over_quota(desk, resources)
    parts = (nodes, tenants, *children)
    note_each(desk, parts)
    for parents in (nodes, tenants):
        parents.remove(connection)
    return {part.table.name: part.counts for part in parts if any(part.counts)}


def _children(connection: Connection, file: CloudFile, hashes: Mapping[str, str], shut_out: Set[str]) -> list[Changes]:
    tenants = _ids(connection, tables.tenants)
    nodes = _ids(connection, tables.nodes)
    accounts = {row["username"]: row for row in rows_of(connection, tables.accounts)}
    wanted = (
        (tables.flavors, itemgetter("id"), rows.flavor_rows(file)),
        (tables.prices, itemgetter("kind", "unit", "type", "node_id", "start"), rows.price_rows(file, nodes)),
        (tables.news, itemgetter("id"), rows.news_rows(file)),
        (tables.urls, itemgetter("id"), rows.url_rows(file, tenants)),
        (tables.quotas, itemgetter("tenant_id"), rows.quota_rows(file, tenants)),
        (tables.accounts, itemgetter("username"), rows.account_rows(file, tenants, hashes, accounts, shut_out)),
        (tables.domains, itemgetter("id"), rows.domain_rows(file, tenants)),
        (tables.resources, itemgetter("id"), rows.resource_rows(file, tenants, nodes)),
    )
    return [compare(connection, table, key, these) for table, key, these in wanted]


def _current_hashes(engine: Engine) -> dict[str, str]:
    with reading(engine).connect() as connection:
        return {row["username"]: row["password_hash"] for row in rows_of(connection, tables.accounts)}


def _ids(connection: Connection, table: Table) -> dict[str, int]:
    return {row["name"]: row["id"] for row in rows_of(connection, table)}


def _count_text(counts: Counts) -> str:
    return ", ".join(f"{count} {word}" for word, count in counts._asdict().items() if count)
