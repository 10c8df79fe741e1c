"""How PostgreSQL's own programs, which back databases up, come to the same database: as a shell takes it."""

import shlex
from typing import Final

from psycopg.conninfo import make_conninfo

from cloudconsole.store.postgres.address import DatabaseAddress, Parameters, parse, without_password

_OURS: Final = ("sslmode", "sslrootcert", "target_session_attrs")
"""What we ask for where the address does not say, and a program should, too; the rest is for serving."""


def backup_command(address: DatabaseAddress, file: str) -> str:
    """Everything as it is at one moment; signals are of the database that they were written in."""
    options = "--format=custom --no-owner --no-privileges --exclude-table-data=signals"
    return f"{_password(address)}pg_dump {options} {_place(address)} --file={shlex.quote(file)}"


def restore_command(address: DatabaseAddress, file: str) -> str:
    """All of it or nothing, in the place of what is there."""
    options = "--clean --if-exists --single-transaction --no-owner --no-privileges"
    return f"{_password(address)}pg_restore {options} {_place(address)} {shlex.quote(file)}"


def _place(address: DatabaseAddress) -> str:
    """Without a password, which a program's arguments would show to everyone on the machine."""
    given, asked = parse(without_password(address.given)), parse(address.conninfo())
    place = {name: asked[name] for name in (*_OURS, *given) if name in asked}
    return shlex.quote(f"--dbname={make_conninfo(**place | _options(given))}")


def _options(given: Parameters) -> Parameters:
    """Those that were given, without ours: a backup may wait longer for a lock than a call."""
    return {"options": given["options"]} if "options" in given else {}


def _password(address: DatabaseAddress) -> str:
    """From the file, where there is one; else the program asks, or finds it in ~/.pgpass."""
    file = address.password_file
    return "" if file is None else f'PGPASSWORD="$(cat {shlex.quote(str(file))})" '
