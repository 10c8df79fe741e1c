"""A password among a command's arguments, which everyone on the machine can read while the command runs."""

import sys


def warn_of_shown_password(database: str | None) -> None:
    """Say so on standard error; the command goes on, since the password has been seen by then."""
    if database is None or not _has_password(database):
        return
    sys.stderr.write(
        "cloudconsole: everyone on this machine sees the password among the arguments: give it by a password file, "
        "CLOUDCONSOLE_DATABASE or PGPASSFILE instead\n"
    )


def _has_password(database: str) -> bool:
    try:
        from cloudconsole.store.postgres.dsn import holds_password

        return holds_password(database)
    except (ImportError, ValueError):
        # It is refused for that.
        return False
