"""The databases: sound, of this program's version, in their mode, and with totals that are true."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, NullPool, create_engine, text
from sqlalchemy.exc import DBAPIError, OperationalError

from cloudconsole.server.doctor.database_checks import check_database
from cloudconsole.server.doctor.findings import Case, Finding, ok, problem, warning
from cloudconsole.server.doctor.obstacles import obstacle_at
from cloudconsole.store import counting
from cloudconsole.store.engine import PARTS, Part, reading
from cloudconsole.store.migrations import known_revisions
from cloudconsole.store.sqlite.copying import connect, damage
from cloudconsole.store.sqlite.desk_mark import has_mark
from cloudconsole.store.sqlite.engine import database_file
from cloudconsole.store.sqlite.schema import odd_parts

LONGEST_LOG: Final = 64 * 1024 * 1024


@contextmanager
def looking_at(case: Case, part: Part) -> Iterator[Connection]:
    """One moment of a database, to read only; none is made where there is none."""
    if case.settings.database is not None:
        # Of tables that are not there, or not as we know them, PostgreSQL would tell in its own words.
        case.settings.store.require_current(part)
        with case.settings.store.opened(part) as opened, reading(opened).begin() as connection:
            yield connection
        return
    engine = create_engine(
        "sqlite://", creator=lambda: connect(database_file(case.settings.data, part)), poolclass=NullPool
    )
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only = ON")
        connection.exec_driver_sql("BEGIN")
        yield connection


def check_databases(case: Case) -> Iterator[Finding]:
    if case.settings.database is not None:
        yield from check_database(case)
        return
    for part in PARTS:
        file = database_file(case.settings.data, part)
        if not file.is_file():
            yield problem(f"there is no {file}", "make a store with cloudconsole init, or restore a backup")
            continue
        obstacle = obstacle_at(file) or _unopened(case, part)
        if obstacle is not None:
            yield obstacle
            continue
        found = damage(file, quick=case.quick)
        if found is not None:
            yield problem(
                f"{file} is damaged: {found}",
                "restore the last backup into a new folder: cloudconsole admin restore FILE --to DIR",
            )
            continue
        findings = [*(list(_revision(case, part)) or _schema(part, file)), *_journal(case, part, file)]
        if part == "activity" and not findings:
            findings = list(_desks(case))
        yield from findings
        if not findings:
            yield ok(f"{file.name} is sound and up to date")


def _desks(case: Case) -> Iterator[Finding]:
    with looking_at(case, "activity") as connection:
        if has_mark(connection):
            yield problem(
                "the store is of a console for the desk, whose sessions and keys can be foretold: others refuse it",
                "give the folder of another store (--data)",
            )


def check_totals(case: Case) -> Iterator[Finding]:
    with looking_at(case, "cloud") as connection:
        wrong = counting.wrong(connection)
    if wrong:
        yield problem(
            f"{len(wrong)} totals are not what the resources add up to, such as {wrong[0]}: usage and costs are wrong",
            "cloudconsole admin recount",
        )
    else:
        yield ok("they are what the resources add up to")


def _unopened(case: Case, part: Part) -> Finding | None:
    """A database that cannot even be opened, which says nothing of what is in it; damage is told by another error."""
    try:
        with looking_at(case, part) as connection:
            connection.execute(text("SELECT COUNT(*) FROM sqlite_master"))
    except OperationalError as error:
        file = database_file(case.settings.data, part)
        return problem(f"{file} cannot be opened: {error.orig}", "mend that first, then run doctor again")
    except DBAPIError:
        return None
    return None


def _revision(case: Case, part: Part) -> Iterator[Finding]:
    known = known_revisions()
    try:
        with looking_at(case, part) as connection:
            revision = connection.scalar(text("SELECT version_num FROM alembic_version"))
    except OperationalError:
        revision = None
    if revision is None:
        yield problem(f"{part}.db has no tables of Cloud Console", "make a store with cloudconsole init")
    elif revision not in known:
        yield problem(f"{part}.db was made by a newer Cloud Console (revision {revision})", "install that version")
    elif revision != known[0]:
        yield problem(
            f"{part}.db is of revision {revision}, and this program needs {known[0]}",
            "start cloudconsole serve anew: it brings the store up to date",
        )


def _schema(part: Part, file: Path) -> Iterator[Finding]:
    """Of a database that is up to date."""
    odd = odd_parts(file, part, known_revisions()[0])
    if odd:
        yield problem(
            f"{file.name} is not as Cloud Console makes it ({', '.join(odd[:3])}): what it says cannot be trusted",
            "find out who changed it, and restore a backup from before into a new folder",
        )


def _journal(case: Case, part: Part, file: Path) -> Iterator[Finding]:
    with looking_at(case, part) as connection:
        mode = connection.scalar(text("PRAGMA journal_mode"))
    if mode != "wal":
        yield problem(f"{file.name} is in mode {mode}, not WAL", "start cloudconsole serve anew: it sets the mode")
    log = Path(f"{file}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size > max(LONGEST_LOG, 2 * file.stat().st_size):
        yield warning(
            f"{log.name} has grown to {size // 1024**2} MB: something has been reading for very long",
            "end commands that hang, and start cloudconsole serve anew",
        )
