"""Checks of a PostgreSQL store, and advice by error."""

import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Final

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from cloudconsole.server.doctor.fix_commands import shell
from cloudconsole.server.doctor.results import DoctorContext, Finding, ok, problem, warning
from cloudconsole.store.base import BUSY_SECONDS, StoreError, read_only
from cloudconsole.store.migrations import current_revision, is_compatible, known_revisions

_UNKNOWN: Final = "see that it runs, and that address, password and certificates in the database setting are right"
_ADVICE: Final[tuple[tuple[str, str], ...]] = (
    (
        r"certificate verify failed|unable to get (local )?issuer|self-signed certificate|root certificate file",
        "set sslrootcert in the address of the database to a file with the certificate of the server's authority",
    ),
    (
        r"does not match host name",
        "use a host name of the server's certificate in the address of the database",
    ),
    (
        r"does not support SSL",
        "set ssl = on in postgresql.conf, or add sslmode=disable to the address on a network that nobody can tap",
    ),
    (
        r"no pg_hba\.conf entry",
        "add a line for this role, database and address to pg_hba.conf, and reload the server",
    ),
    (r'database "[^"]*" does not exist', "create the database, and then its tables with cloudconsole admin migrate"),
    (r'role "[^"]*" (does not exist|is not permitted to log in)', "create that role with LOGIN, or name another one"),
    (
        r"too many clients|remaining connection slots|too many connections",
        "raise max_connections, or serve with fewer workers",
    ),
    (r"permission denied", "make the role the owner of the database and its tables"),
    (r"resolve host|translate host name|not known", "correct the host in the address of the database"),
    (
        r"[Cc]onnection refused|No such file or directory|timed? ?out|timeout expired|No route to host",
        "see that the server runs and listens there, and that no firewall is between",
    ),
)
"""Patterns of messages, which libpq has in English; a server may have others."""


def advice_on(reason: str, case: DoctorContext) -> str:
    if re.search(r"password authentication failed|no password supplied|SCRAM", reason):
        return _on_password(case)
    return next((advice for pattern, advice in _ADVICE if re.search(pattern, reason)), _UNKNOWN)


def _on_password(case: DoctorContext) -> str:
    file = case.settings.database_password_file
    if file is not None:
        return f"write the password of the role into {file}"
    return "write the password of the role into a file, and set database_password_file to it"


OLDEST_VERSION: Final = 13
CONNECTIONS_OF_WORKER: Final = 9
"""The most that one worker has open: for reads, for the watch, for writes and for operators' pages."""
MORE_FOR_OPENSTACK: Final = 1
"""By which tenants are made for its projects."""
CLOCK_SECONDS: Final = 1.0
MOST_SIGNALS: Final = 1_000_000

_FOR_OTHERS: Final = stat.S_IRWXO | stat.S_IWGRP
"""A group may read it: the file can then be root's."""
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
"""On what is shared, on what is emptied, on what tenants have, on sessions."""
# Those modes keep others from writing to a table.
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
            with read_only(engine).connect() as connection:
                findings = [*_server(connection, case), *_revision(case, connection, revision)]
                if revision == known_revisions()[0]:
                    findings += [*_watching(connection), *_locks(case, connection)]
    except StoreError as refused:
        findings = [problem(str(refused), "mend that first, then run doctor again")]
    except DBAPIError as refused:
        reason = " ".join(str(refused.orig).split())
        findings = [problem(f"{store} cannot be used: {reason}", advice_on(reason, case))]
    file = case.settings.database_password_file
    if file is not None:
        findings += _openness(file)
    yield from findings
    if not findings:
        yield ok(f"{store} is reached, up to date and tells of changes")


def _openness(file: Path) -> Iterator[Finding]:
    """Not said when the console starts: in a container, where nobody else is, secrets are often open to all."""
    try:
        is_open = file.stat().st_mode & _FOR_OTHERS
    except OSError:
        # Whoever needs the password tells that.
        return
    if is_open:
        yield warning(
            f"other users have access to the database's password in {file}",
            "close it to others; for a container's secret, set its mode",
            shell("chmod", "640", file),
        )


def _server(connection: Connection, case: DoctorContext) -> Iterator[Finding]:
    before = time.time()
    facts = connection.execute(_FACTS).one()
    after = time.time()
    if facts.version < OLDEST_VERSION:
        yield problem(f"it is PostgreSQL {facts.version}", f"take PostgreSQL {OLDEST_VERSION} or later")
    if not facts.is_encrypted and not facts.is_here:
        yield warning(
            "passwords and sessions go over the network unencrypted", "add sslmode=verify-full to the database setting"
        )
    if not facts.keeps_word:
        yield warning(
            "fsync or synchronous_commit is off: what was acknowledged may be lost when the database crashes",
            "set both to on for this database",
        )
    of_worker = CONNECTIONS_OF_WORKER + (MORE_FOR_OPENSTACK if case.settings.has_keystone else 0)
    needed = case.settings.workers * of_worker
    if facts.most_connections < needed + facts.connections:
        yield warning(
            f"it takes {facts.most_connections} connections, of which {facts.connections} are in use; "
            f"{case.settings.workers} workers may take {needed} more",
            "raise max_connections, or serve with fewer workers",
        )
    # Its time is between ours before and after; that it takes long to answer is no difference.
    difference = max(before - float(facts.now), float(facts.now) - after)
    if difference > CLOCK_SECONDS:
        yield warning(
            f"its clock and this machine's differ by {difference:.0f} s",
            "let both be kept right, by NTP: replicas take times from their own machines",
        )


def _revision(case: DoctorContext, connection: Connection, revision: str | None) -> Iterator[Finding]:
    known, migrate = known_revisions(), case.command("admin", "migrate")
    if revision is None:
        yield problem("it has no tables of Cloud Console", "create them", migrate)
    elif is_compatible(connection, revision):
        yield warning(
            f"it was migrated by a newer Cloud Console (revision {revision}), and this one can still serve it",
            "install that version",
        )
    elif revision not in known:
        yield problem(f"it was made by a newer Cloud Console (revision {revision})", "install that version")
    elif revision != known[0]:
        yield problem(f"it is of revision {revision}, and this program needs {known[0]}", "migrate it", migrate)


def _watching(connection: Connection) -> Iterator[Finding]:
    found = connection.scalar(_TRIGGERS)
    if found != TRIGGERS:
        yield problem(
            f"{found} of {TRIGGERS} triggers that signal changes are in force: replicas may answer from the past",
            "find out who changed it, and restore a backup from before",
        )
    signals = connection.scalar(_SIGNALS, {"most": MOST_SIGNALS})
    if signals == MOST_SIGNALS:
        yield warning("more than a million signals of changes are kept", "see that replicas run: they sweep them")


def _locks(case: DoctorContext, connection: Connection) -> Iterator[Finding]:
    """Report the transactions that have kept logins from being written for as long as the console waits."""
    for row in connection.execute(_LOCKS, {"seconds": BUSY_SECONDS}):
        yield problem(
            f"{row.name} (backend {row.pid}) locks the tables of logins: logins get 503",
            "see what that does, and end it if it hangs",
            _psql(case, f"SELECT pg_terminate_backend({row.pid})"),
        )


def _psql(case: DoctorContext, statement: str) -> str:
    """Return the command that executes a statement as the role of the console."""
    from cloudconsole.store.postgres.dsn import without_password

    file, address = case.settings.database_password_file, without_password(str(case.settings.database))
    psql = shell("psql", address, "-c", statement)
    return psql if file is None else f'PGPASSWORD="$(cat {quote(str(file))})" {psql}'
