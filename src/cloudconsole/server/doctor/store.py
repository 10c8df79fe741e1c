"""Checks of the store's content: schema, counters, prices."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, NullPool, create_engine, text
from sqlalchemy.exc import DBAPIError, OperationalError

from cloudconsole.core.clock import format_utc
from cloudconsole.core.pricing import Price, PriceBook, clock_hour
from cloudconsole.core.resources import PRICED_UNITS, Amounts
from cloudconsole.server.doctor.context_and_findings import DoctorContext, Finding, ok, problem, warning
from cloudconsole.server.doctor.postgres import check_database
from cloudconsole.server.doctor.sqlite import access_problem_at, lock_findings, locked
from cloudconsole.spec.records import BillableType
from cloudconsole.store import counters
from cloudconsole.store.base import DATABASE_NAMES, DatabaseName, read_only_engine
from cloudconsole.store.billing.verification import incorrect_record
from cloudconsole.store.migrations import is_compatible, known_revisions
from cloudconsole.store.sql import is_lock_error
from cloudconsole.store.sqlite.backup import find_corruption
from cloudconsole.store.sqlite.engine import connect, database_file
from cloudconsole.store.sqlite.schema_tampering import unexpected_schema_parts
from cloudconsole.store.sqlite.test_marker import has_marker

MAX_WAL: Final = 64 * 1024 * 1024
READ_TIMEOUT: Final = 2
"""Seconds that a check waits for a database that is locked even for reads."""


@contextmanager
def read_connection(case: DoctorContext, part: DatabaseName) -> Iterator[Connection]:
    """Open a read-only snapshot of a database, without creating the file."""
    if case.settings.database is not None:
        # Raises a StoreError for missing or outdated tables instead of PostgreSQL's error.
        case.settings.store.require_current(part)
        with case.settings.store.opened(part) as opened, read_only_engine(opened).begin() as connection:
            yield connection
        return
    engine = create_engine(
        "sqlite://",
        creator=lambda: connect(database_file(case.settings.data, part), timeout=READ_TIMEOUT),
        poolclass=NullPool,
    )
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only = ON")
        connection.exec_driver_sql("BEGIN")
        yield connection


def check_databases(case: DoctorContext) -> Iterator[Finding]:
    if case.settings.database is not None:
        yield from check_database(case)
        return
    for part in DATABASE_NAMES:
        file = database_file(case.settings.data, part)
        if not file.is_file():
            yield _missing(case, part, file)
            continue
        access = access_problem_at(case, file) or _open_failure(case, part)
        if access is not None:
            yield access
            continue
        corruption = find_corruption(file, quick=case.quick)
        if corruption is not None:
            yield problem(
                f"{file} is damaged: {corruption}",
                "restore the last backup into a new directory (cloudconsole admin restore BACKUP --to DIR)",
            )
            continue
        findings = [*lock_findings(file), *_revision(case, part, file), *_journal(case, part, file)]
        if part == "activity" and not findings:
            findings = list(_test_marker(case))
        yield from findings
        if not findings:
            yield ok(f"{file.name} is intact and up to date")


def _test_marker(case: DoctorContext) -> Iterator[Finding]:
    with read_connection(case, "activity") as connection:
        if has_marker(connection):
            yield problem(
                "the store was created in test mode, with predictable sessions and keys: other consoles reject it",
                "use another store (--data)",
            )


def check_totals(case: DoctorContext) -> Iterator[Finding]:
    with read_connection(case, "cloud") as connection:
        wrong = [*counters.incorrect_counters(connection), *incorrect_record(connection)]
    if wrong:
        yield problem(
            f"{len(wrong)} totals do not match the resources, such as {wrong[0]}: usage and costs are wrong",
            "recompute them",
            case.command("admin", "recount"),
        )
    else:
        yield ok("they match the resources")


def _missing(case: DoctorContext, part: DatabaseName, file: Path) -> Finding:
    if not any(database_file(case.settings.data, each).is_file() for each in DATABASE_NAMES):
        return problem(f"{file} does not exist", "create a store, or restore a backup", case.command("init"))
    return problem(f"{file} does not exist", *_missing_tables_fix(case, part))


def _missing_tables_fix(case: DoctorContext, part: DatabaseName) -> tuple[str, str]:
    """Return the fix for a database without tables, as text and command."""
    lost = "sessions and the access audit" if part == "activity" else "tenants, accounts and resources"
    return f"restore a backup, or create it empty, without its {lost}", case.command("admin", "migrate")


def _open_failure(case: DoctorContext, part: DatabaseName) -> Finding | None:
    """Report a database that cannot be opened; corruption raises another error and is checked later."""
    try:
        with read_connection(case, part) as connection:
            connection.execute(text("SELECT COUNT(*) FROM sqlite_master"))
    except OperationalError as error:
        file = database_file(case.settings.data, part)
        if is_lock_error(error):
            return locked(file)
        return problem(f"{file} cannot be opened: {error.orig}", "fix that first, then run doctor again")
    except DBAPIError:
        return None
    return None


def _revision(case: DoctorContext, part: DatabaseName, file: Path) -> Iterator[Finding]:
    """Check the revision, and compare the schema with the one that its migrations create."""
    known = known_revisions()
    compatible = False
    try:
        with read_connection(case, part) as connection:
            revision = connection.scalar(text("SELECT version_num FROM alembic_version"))
            compatible = is_compatible(connection, revision)
    except OperationalError:
        revision = None
    if revision is None:
        with read_connection(case, part) as connection:
            is_empty = connection.scalar(text("SELECT COUNT(*) FROM sqlite_master")) == 0
        fix = _missing_tables_fix(case, part) if is_empty else ("restore a backup, or use another store (--data)",)
        yield problem(f"{part}.db has no Cloud Console tables", *fix)
        return
    if compatible:
        yield warning(
            f"{part}.db was migrated by a newer Cloud Console (revision {revision}); this one can still serve it",
            "install that version",
        )
        return
    if revision not in known:
        yield problem(f"{part}.db was created by a newer Cloud Console (revision {revision})", "install that version")
        return
    if revision != known[0]:
        yield problem(
            f"{part}.db has revision {revision}, but this version needs {known[0]}",
            "take a backup, then migrate it",
            case.command("admin", "migrate"),
        )
    odd = unexpected_schema_parts(file, part, revision)
    if odd:
        yield problem(
            f"the schema of {file.name} was modified ({', '.join(odd[:3])}): its data cannot be trusted",
            "find out who changed it, and restore an earlier backup into a new directory",
        )


def _journal(case: DoctorContext, part: DatabaseName, file: Path) -> Iterator[Finding]:
    with read_connection(case, part) as connection:
        mode = connection.scalar(text("PRAGMA journal_mode"))
    migrate = case.command("admin", "migrate")
    if mode != "wal":
        yield problem(f"{file.name} has journal mode {mode}, not WAL", "migrate it, which sets the mode", migrate)
    log = Path(f"{file}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size > max(MAX_WAL, 2 * file.stat().st_size):
        yield warning(
            f"{log.name} has grown to {size // 1024**2} MB: a long-running reader blocks checkpoints",
            "end commands that hang, and restart cloudconsole serve",
        )


MAX_LISTED: Final = 5
PRICE_COMMAND: Final = "add a price; 0, as here, is free of charge"

_PRICES: Final = text("SELECT kind, unit, node_id, start, billionths FROM prices WHERE type IS NULL")
_ONE: Final = Amounts(items=1)
# A price applies until the next one, so a resource with a price at its earliest time has one at every later time.
_BILLED: Final = text("""
    SELECT resources.node_id AS node_id, nodes.name AS node, COUNT(*) AS number,
        MIN(COALESCE(resources.ended_at, :now)) AS earliest
    FROM resources LEFT JOIN nodes ON nodes.id = resources.node_id
    WHERE resources.kind = :kind AND resources.started_at <= :now
        AND (resources.ended_at IS NULL OR resources.ended_at >= :since)
    GROUP BY resources.node_id, nodes.name ORDER BY nodes.name
""")


def check_prices(case: DoctorContext) -> Iterator[Finding]:
    findings = list(_unpriced(case))
    yield from findings
    if not findings:
        yield ok("all billable resources have one")


def _unpriced(case: DoctorContext) -> Iterator[Finding]:
    now, since = int(case.now), clock_hour(case.now, case.settings.zone).start
    with read_connection(case, "cloud") as connection:
        book = PriceBook(Price(*row) for row in connection.execute(_PRICES))
        for kind in PRICED_UNITS:
            billed = connection.execute(_BILLED, {"kind": kind, "now": now, "since": since}).all()
            rows = [row for row in billed if book.hourly(kind, row.node_id, _ONE, min(now, row.earliest)) is None]
            if rows:
                more = f" and {len(rows) - MAX_LISTED} more" if len(rows) > MAX_LISTED else ""
                nodes = ", ".join(str(row.node) for row in rows[:MAX_LISTED])
                yield problem(
                    f"{sum(row.number for row in rows)} × {kind} on {nodes}{more} without a price: "
                    "cost estimates of their tenants fail",
                    PRICE_COMMAND,
                    _price_command(case, kind, min(now, *(row.earliest for row in rows))),
                )


def _price_command(case: DoctorContext, kind: BillableType, at: int) -> str:
    start = format_utc(at // 3600 * 3600)
    words = ("--kind", kind, "--unit", PRICED_UNITS[kind][0], "--price", "0", "--from", start, "--force")
    return case.command("admin", "price", "add", *words)
