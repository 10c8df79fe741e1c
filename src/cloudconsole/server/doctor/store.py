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
from cloudconsole.server.doctor.postgres import check_database
from cloudconsole.server.doctor.results import DoctorContext, Finding, ok, problem, warning
from cloudconsole.server.doctor.sqlite import access_problem_at, lock_findings, locked
from cloudconsole.spec.records import ResourceType
from cloudconsole.store import counters
from cloudconsole.store.base import DATABASE_NAMES, DatabaseName, read_only
from cloudconsole.store.migrations import is_compatible, known_revisions
from cloudconsole.store.sql import is_lock_error
from cloudconsole.store.sqlite.backup import connect, find_corruption
from cloudconsole.store.sqlite.engine import database_file
from cloudconsole.store.sqlite.integrity import unexpected_schema_parts
from cloudconsole.store.sqlite.test_marker import has_marker

LONGEST_LOG: Final = 64 * 1024 * 1024
LOOK_SECONDS: Final = 2
"""The longest wait of a single check for a database that is locked against reads, too."""


@contextmanager
def read_connection(case: DoctorContext, part: DatabaseName) -> Iterator[Connection]:
    """One moment of a database, to read only; none is made where there is none."""
    if case.settings.database is not None:
        # Of tables that are not there, or not as we know them, PostgreSQL would tell in its own words.
        case.settings.store.require_current(part)
        with case.settings.store.opened(part) as opened, read_only(opened).begin() as connection:
            yield connection
        return
    engine = create_engine(
        "sqlite://",
        creator=lambda: connect(database_file(case.settings.data, part), timeout=LOOK_SECONDS),
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
        obstacle = access_problem_at(case, file) or _unopened(case, part)
        if obstacle is not None:
            yield obstacle
            continue
        found = find_corruption(file, quick=case.quick)
        if found is not None:
            yield problem(
                f"{file} is damaged: {found}",
                "restore the last backup into a new folder (cloudconsole admin restore BACKUP --to FOLDER)",
            )
            continue
        findings = [*lock_findings(file), *_revision(case, part, file), *_journal(case, part, file)]
        if part == "activity" and not findings:
            findings = list(_desks(case))
        yield from findings
        if not findings:
            yield ok(f"{file.name} is sound and up to date")


def _desks(case: DoctorContext) -> Iterator[Finding]:
    with read_connection(case, "activity") as connection:
        if has_marker(connection):
            yield problem(
                "the store is of a console for the desk, whose sessions and keys can be foretold: others refuse it",
                "give the folder of another store (--data)",
            )


def check_totals(case: DoctorContext) -> Iterator[Finding]:
    with read_connection(case, "cloud") as connection:
        wrong = counters.incorrect_counters(connection)
    if wrong:
        yield problem(
            f"{len(wrong)} totals are not what the resources add up to, such as {wrong[0]}: usage and costs are wrong",
            "count them again",
            case.command("admin", "recount"),
        )
    else:
        yield ok("they are what the resources add up to")


def _missing(case: DoctorContext, part: DatabaseName, file: Path) -> Finding:
    if not any(database_file(case.settings.data, each).is_file() for each in DATABASE_NAMES):
        return problem(f"there is no {file}", "create a store, or restore a backup", case.command("init"))
    return problem(f"there is no {file}", *_new_tables(case, part))


def _new_tables(case: DoctorContext, part: DatabaseName) -> tuple[str, str]:
    """Return the advice for a part of a store without tables, in words and as a command."""
    lost = "sessions and the access trail" if part == "activity" else "tenants, accounts and resources"
    return f"restore a backup, or create it without its {lost}", case.command("admin", "migrate")


def _unopened(case: DoctorContext, part: DatabaseName) -> Finding | None:
    """A database that cannot even be opened, which says nothing of what is in it; damage is told by another error."""
    try:
        with read_connection(case, part) as connection:
            connection.execute(text("SELECT COUNT(*) FROM sqlite_master"))
    except OperationalError as error:
        file = database_file(case.settings.data, part)
        if is_lock_error(error):
            return locked(file)
        return problem(f"{file} cannot be opened: {error.orig}", "mend that first, then run doctor again")
    except DBAPIError:
        return None
    return None


def _revision(case: DoctorContext, part: DatabaseName, file: Path) -> Iterator[Finding]:
    """Check the revision, and the live schema against what the migrations to that revision create."""
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
        mend = _new_tables(case, part) if is_empty else ("restore a backup, or give another store's folder (--data)",)
        yield problem(f"{part}.db has no tables of Cloud Console", *mend)
        return
    if compatible:
        yield warning(
            f"{part}.db was migrated by a newer Cloud Console (revision {revision}), and this one can still serve it",
            "install that version",
        )
        return
    if revision not in known:
        yield problem(f"{part}.db was made by a newer Cloud Console (revision {revision})", "install that version")
        return
    if revision != known[0]:
        yield problem(
            f"{part}.db is of revision {revision}, and this program needs {known[0]}",
            "take a backup, then migrate it",
            case.command("admin", "migrate"),
        )
    odd = unexpected_schema_parts(file, part, revision)
    if odd:
        yield problem(
            f"{file.name} is not as Cloud Console makes it ({', '.join(odd[:3])}): what it says cannot be trusted",
            "find out who changed it, and restore a backup from before into a new folder",
        )


def _journal(case: DoctorContext, part: DatabaseName, file: Path) -> Iterator[Finding]:
    with read_connection(case, part) as connection:
        mode = connection.scalar(text("PRAGMA journal_mode"))
    migrate = case.command("admin", "migrate")
    if mode != "wal":
        yield problem(f"{file.name} is in mode {mode}, not WAL", "migrate it, which sets the mode", migrate)
    log = Path(f"{file}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size > max(LONGEST_LOG, 2 * file.stat().st_size):
        yield warning(
            f"{log.name} has grown to {size // 1024**2} MB: something has been reading for very long",
            "end commands that hang, and start cloudconsole serve anew",
        )


MOST_NAMED: Final = 5
PRICE_COMMAND: Final = "give it a price; 0, as here, is free of charge"

_PRICES: Final = text("SELECT kind, unit, node_id, start, billionths FROM prices WHERE type IS NULL")
_ONE: Final = Amounts(items=1)
# A price stays in force until the next one: what has a price at the earliest moment has one at every later moment.
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
                more = f" and {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else ""
                places = ", ".join(str(row.node) for row in rows[:MOST_NAMED])
                yield problem(
                    f"{sum(row.number for row in rows)} × {kind} on {places}{more} without a price: "
                    "the estimates of their tenants are errors",
                    PRICE_COMMAND,
                    _price_command(case, kind, min(now, *(row.earliest for row in rows))),
                )


def _price_command(case: DoctorContext, kind: ResourceType, at: int) -> str:
    start = format_utc(at // 3600 * 3600)
    words = ("--kind", kind, "--unit", PRICED_UNITS[kind][0], "--price", "0", "--from", start)
    return case.command("admin", "price", "add", *words)
