"""The write locks of the embedded store: while another process holds one, logins get 503."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from cloudconsole.server.doctor.findings import Finding, problem
from cloudconsole.server.doctor.obstacles import files_of
from cloudconsole.server.doctor.processes import lock_holders
from cloudconsole.server.doctor.shell import shell
from cloudconsole.store.base import BUSY_SECONDS
from cloudconsole.store.sql import is_busy
from cloudconsole.store.sqlite.backup import connect

LONGEST_SECONDS: float = BUSY_SECONDS
"""As long as the console waits before it answers 503."""


def lock_findings(file: Path) -> Iterator[Finding]:
    """Report a database whose write lock cannot be had in the time that the console waits for it."""
    try:
        with closing(connect(file, timeout=LONGEST_SECONDS)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        if not is_busy(error):
            raise
        yield locked(file)


def locked(file: Path) -> Finding:
    holders = lock_holders(files_of(file))
    who = " and ".join(map(str, holders)) or "another process"
    return problem(
        f"{file} is locked by {who}: logins get 503, and no change can be made",
        "see what that does, and end it if it hangs",
        shell("kill", *(holder.pid for holder in holders)) if holders else "",
    )
