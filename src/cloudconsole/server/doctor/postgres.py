"""Checks of a PostgreSQL store, and fixes by error message."""

import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Final

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from cloudconsole.server.doctor.context_and_findings import DoctorContext, Finding, ok, problem, warning
from cloudconsole.server.doctor.fix_commands import shell
from cloudconsole.store.base import BUSY_SECONDS, StoreError, read_only_engine
from cloudconsole.store.file_permissions import reason_for_distrust
from cloudconsole.store.migrations import current_revision, is_compatible, known_revisions

_UNKNOWN: Final = "check that it runs, and the address, password and certificates in the database setting"
_ADVICE: Final[tuple[tuple[str, str], ...]] = (
    (
        r"certificate verify failed|unable to get (local )?issuer|self-signed certificate|root certificate file",
        "set sslrootcert in the database URL to a file with the certificate of the server's authority",
    ),
    (
        r"does not match host name",
        "use a host name of the server's certificate in the database URL",
    ),
    (
        r"does not support SSL",
        "set ssl = on in postgresql.conf or, on a trusted network, add sslmode=disable to the database URL",
    ),
    (
        r"no pg_hba\.conf entry",
        "add a line for this role, database and address to pg_hba.conf, and reload the server",
    ),
    (r'database "[^"]*" does not exist', "create the database, then its tables with cloudconsole admin migrate"),
    (r'role "[^"]*" (does not exist|is not permitted to log in)', "create that role with LOGIN, or use another one"),
    (
        r"too many clients|remaining connection slots|too many connections",
        "raise max_connections, or serve with fewer workers",
    ),
    (r"permission denied", "make the role the owner of the database and its tables"),
    (r"resolve host|translate host name|not known", "correct the host in the database URL"),
    (
        r"[Cc]onnection refused|No such file or directory|timed? ?out|timeout expired|No route to host",
        "check that the server runs and listens there, and that no firewall blocks it",
    ),
)
"""Fixes by pattern of libpq's English messages; a server's messages may be localised."""


def advice_on(reason: str, case: DoctorContext) -> str:
    if re.search(r"password authentication failed|no password supplied|SCRAM", reason):
        return _on_password(case)
    return next((advice for pattern, advice in _ADVICE if re.search(pattern, reason)), _UNKNOWN)


def _on_password(case: DoctorContext) -> str:
    file = case.settings.database_password_file
    if file is not None:
        return f"write the role's password to {file}"
    return "write the role's password to a file, and set database_password_file"


OLDEST_VERSION: Final = 13
CONNECTIONS_OF_WORKER: Final = 9
"""Maximum per worker: reads, change feed, writes and admin UI."""
MORE_FOR_OPENSTACK: Final = 1
"""Creates tenants for projects."""
CLOCK_SECONDS: Final = 1.0
MAX_SIGNALS: Final = 1_000_000

_FOR_OTHERS: Final = stat.S_IROTH | stat.S_IXOTH | stat.S_IWGRP
"""A group may read the file, so that root can own it. One that everyone can write is rejected where it is read."""
_FACTS: Final = text("""
    SELECT current_setting('server_version_num')::int / 10000 AS version,
        current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off' AS keeps_word,
        current_setting('max_connections')::int AS most_connections,
        (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
        COALESCE((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS is_encrypted,
        inet_server_addr() IS NULL OR inet_server_addr() <<= '127.0.0.0/8' OR inet_server_addr() = '::1' AS is_here,
        extract(epoch FROM clock_timestamp()) AS now
""")
_TRIGGERS: Final = text("""
    SELECT count(*) FILTER (WHERE tgenabled = 'O') FROM pg_trigger
    WHERE NOT tgisinternal AND tgname LIKE 'signal\\_%' AND tgrelid IN (
        SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace
    )
""")
TRIGGERS: Final = 4 + 9 + 3 * 8 + 1
"""On shared tables, on TRUNCATE, on tables of tenants, on sessions."""
# These modes block writes to a table.
_LOCKS: Final = text("""
    SELECT DISTINCT activity.pid, COALESCE(NULLIF(activity.application_name, ''), 'a client') AS name
    FROM pg_locks JOIN pg_stat_activity AS activity USING (pid)
    WHERE pg_locks.granted AND pg_locks.pid <> pg_backend_pid()
        AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND pg_locks.relation IN ('sessions'::regclass, 'login_failures'::regclass, 'access_audit'::regclass)
        AND pg_locks.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
        AND activity.xact_start < clock_timestamp() - make_interval(secs => :seconds)
    ORDER BY activity.pid
""")
_SIGNALS: Final = text("SELECT count(*) FROM (SELECT 1 FROM signals LIMIT :most) AS found")


def check_database(case: DoctorContext) -> Iterator[Finding]:
    store = case.settings.store
    try:
        with store.opened("activity") as engine:
            revision = current_revision(engine)
            with read_only_engine(engine).connect() as connection:
                findings = [*_server(connection, case), *_revision(case, connection, revision)]
                if revision == known_revisions()[0]:
                    findings += [*_change_log(connection), *_locks(case, connection)]
    except StoreError as error:
        findings = [problem(str(error), "fix that first, then run doctor again")]
    except DBAPIError as error:
        reason = " ".join(str(error.orig).split())
        findings = [problem(f"{store} cannot be used: {reason}", advice_on(reason, case))]
    file = case.settings.database_password_file
    if file is not None:
        findings += _password_file_permissions(file)
    yield from findings
    if not findings:
        yield ok(f"{store} is reachable and up to date, and records changes")


def _password_file_permissions(file: Path) -> Iterator[Finding]:
    """Warn of a readable password file; `serve` does not, since container secrets are often world-readable."""
    try:
        status = file.stat()
    except OSError:
        # Reported where the password is read.
        return
    if status.st_mode & _FOR_OTHERS and reason_for_distrust(status) is None:
        yield warning(
            f"other users have access to the database password in {file}",
            "restrict its permissions; for a container secret, set its mode",
            shell("chmod", "640", file),
        )


def _server(connection: Connection, case: DoctorContext) -> Iterator[Finding]:
    before = time.time()
    facts = connection.execute(_FACTS).one()
    after = time.time()
    if facts.version < OLDEST_VERSION:
        yield problem(f"PostgreSQL {facts.version} is not supported", f"use PostgreSQL {OLDEST_VERSION} or later")
    if not facts.is_encrypted and not facts.is_here:
        yield warning("passwords and sessions are sent unencrypted", "add sslmode=verify-full to the database setting")
    if not facts.keeps_word:
        yield warning(
            "fsync or synchronous_commit is off: a crash of the database may lose acknowledged changes",
            "set both to on for this database",
        )
    of_worker = CONNECTIONS_OF_WORKER + (MORE_FOR_OPENSTACK if case.settings.has_keystone else 0)
    needed = case.settings.workers * of_worker
    if facts.most_connections < needed + facts.connections:
        yield warning(
            f"{facts.connections} of {facts.most_connections} connections are in use, and "
            f"{case.settings.workers} workers may need {needed} more",
            "raise max_connections, or serve with fewer workers",
        )
    # Its time must lie between ours before and after the query; a slow response is no skew.
    difference = max(before - float(facts.now), float(facts.now) - after)
    if difference > CLOCK_SECONDS:
        yield warning(
            f"its clock and this machine's differ by {difference:.0f} s",
            "synchronise both by NTP: replicas use the clocks of their machines",
        )


def _revision(case: DoctorContext, connection: Connection, revision: str | None) -> Iterator[Finding]:
    known, migrate = known_revisions(), case.command("admin", "migrate")
    if revision is None:
        yield problem("it has no Cloud Console tables", "create them", migrate)
    elif is_compatible(connection, revision):
        yield warning(
            f"it was migrated by a newer Cloud Console (revision {revision}); this one can still serve it",
            "install that version",
        )
    elif revision not in known:
        yield problem(f"it was created by a newer Cloud Console (revision {revision})", "install that version")
    elif revision != known[0]:
        yield problem(f"it has revision {revision}, but this version needs {known[0]}", "migrate it", migrate)


def _change_log(connection: Connection) -> Iterator[Finding]:
    triggers = connection.scalar(_TRIGGERS)
    if triggers != TRIGGERS:
        yield problem(
            f"{triggers} of {TRIGGERS} change log triggers are active: replicas may serve stale data",
            "find out who changed it, and restore an earlier backup",
        )
    signals = connection.scalar(_SIGNALS, {"most": MAX_SIGNALS})
    if signals == MAX_SIGNALS:
        yield warning("the change log has over a million entries", "check that replicas run: they purge it")


def _locks(case: DoctorContext, connection: Connection) -> Iterator[Finding]:
    """Report transactions that have blocked logins for longer than the console waits."""
    for row in connection.execute(_LOCKS, {"seconds": BUSY_SECONDS}):
        yield problem(
            f"{row.name} (backend {row.pid}) locks the login tables: logins get 503",
            "find out what it is doing, and end it if it hangs",
            _psql(case, f"SELECT pg_terminate_backend({row.pid})"),
        )


def _psql(case: DoctorContext, statement: str) -> str:
    """Return the command that executes a statement as the console's role."""
    from cloudconsole.store.postgres.dsn import without_password

    file, address = case.settings.database_password_file, without_password(str(case.settings.database))
    psql = shell("psql", address, "-c", statement)
    return psql if file is None else f'PGPASSWORD="$(cat {quote(str(file))})" {psql}'
