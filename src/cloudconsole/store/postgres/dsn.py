"""DSN parsing, redaction, pg_dump/pg_restore commands."""

import ipaddress
import os
import shlex
import ssl
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from cloudconsole.store.base import BUSY_SECONDS, StoreError

Parameters = dict[str, str]

IDLE_TRANSACTION_SECONDS: Final = 30
"""Whoever stands still for so long in the middle of a change, a paused replica above all, loses it with its locks."""

_MANNERS: Final = {
    "application_name": "cloudconsole",
    # For each host: of three, the third is reached within the time of one read.
    "connect_timeout": "2",
    # A connection that was cut is noticed, instead of being waited for without an end.
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
    # Of several hosts, the one that takes writes: the others follow it.
    "target_session_attrs": "read-write",
}
_OPTIONS: Final = " ".join(
    (
        f"-c lock_timeout={BUSY_SECONDS}s",
        f"-c idle_in_transaction_session_timeout={IDLE_TRANSACTION_SECONDS}s",
        # Whatever a role, a database or a server has as its default: what we rely on.
        r"-c default_transaction_isolation=read\ committed",
        "-c synchronous_commit=on",
    )
)
_SECRETS: Final = ("password", "sslpassword")
_TAKING_WRITES: Final = ("read-write", "primary")
_AUTHORITIES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora
    "/etc/ssl/cert.pem",  # Alpine
)
"""Where systems have the certificates that they trust."""


class Dsn(NamedTuple):
    given: str
    """May hold a password, so it is never shown."""
    password_file: Path | None = None

    def conninfo(self, *more_options: str) -> str:
        """What to connect with; the password is read anew each time, so that it can be changed while we run."""
        given = parse(self.given)
        parameters = {**_MANNERS, **_safety(given), **given}
        parameters["options"] = " ".join((_OPTIONS, *more_options, given.get("options", ""))).rstrip()
        if self.password_file is not None:
            parameters["password"] = _read_password(self.password_file)
        return make_conninfo(**parameters)

    def __str__(self) -> str:
        given = parse(self.given)
        hosts = given.get("host", given.get("hostaddr", "this machine"))
        return f"the database {given.get('dbname', given.get('user', ''))} on {hosts}"


def parse(text: str) -> Parameters:
    """libpq's parameters; raises `ValueError` where the text is no address, or not one of ours."""
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(text).items() if value is not None}
    except psycopg.ProgrammingError as problem:
        # libpq quotes parts of the address, which may be the password.
        raise ValueError(str(problem).partition('"')[0].strip(" :\n")) from None
    if _holds_part_of_a_password(given):
        raise ValueError("write each @, / and : of the password as %40, %2F and %3A, or give it in a file instead")
    if given.get("target_session_attrs", "read-write") not in _TAKING_WRITES:
        raise ValueError(f"target_session_attrs must be {' or '.join(_TAKING_WRITES)}, or be left out")
    return given


def without_password(given: str) -> str:
    """The same address as it may be shown, or stand among a command's arguments."""
    if not holds_password(given):
        return given
    rest = {name: value for name, value in parse(given).items() if name not in _SECRETS}
    # All of it as parameters: libpq has several places for a password, and several forms of hosts.
    return f"postgresql:///?{urlencode(rest, quote_via=quote)}"


def holds_password(given: str) -> bool:
    return not parse(given).keys().isdisjoint(_SECRETS)


def _holds_part_of_a_password(given: Parameters) -> bool:
    """Whether a sign of the password was taken for the end of it, so that the rest is where it would be shown."""
    names = [given.get(name, "") for name in ("host", "hostaddr", "port", "dbname")]
    ports = given.get("port", "").split(",")
    is_cut = any("@" in name for name in names) or "/" in given.get("dbname", "")
    return is_cut or not all(port.isdecimal() or not port for port in ports)


def _safety(given: Parameters) -> Parameters:
    """Over a network the server has to prove who it is, unless the address says how much proof is enough."""
    hosts = [host for name in ("host", "hostaddr") for host in given.get(name, "").split(",") if host]
    proof = given.get("sslmode", "" if all(_is_here(host) for host in hosts) else "verify-full")
    return {"sslmode": proof, **_trusted()} if proof == "verify-full" else {}


def _trusted() -> Parameters:
    """The system's authorities, unless libpq finds others by itself.

    By their file: libpq has a word for them, `system`, but psycopg's wheel looks for them where no system has them,
    and programs of PostgreSQL 15 do not know it.
    """
    own = os.path.expanduser("~/.postgresql/root.crt")  # noqa: PTH111 - there may be no home
    if "PGSSLROOTCERT" in os.environ or os.access(own, os.F_OK):
        return {}
    places = (ssl.get_default_verify_paths().cafile, *_AUTHORITIES)
    return {"sslrootcert": next((place for place in places if place and os.access(place, os.R_OK)), "system")}


def _is_here(host: str) -> bool:
    if host.startswith("/") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _read_password(file: Path) -> str:
    try:
        return file.read_text("utf-8").rstrip("\r\n")
    except OSError as problem:
        raise StoreError(f"database_password_file: {file} cannot be read: {problem.strerror}") from problem
    except UnicodeDecodeError:
        raise StoreError(f"database_password_file: {file} is not UTF-8 text") from None


_OURS: Final = ("sslmode", "sslrootcert", "target_session_attrs")
"""What we ask for where the address does not say, and a program should, too; the rest is for serving."""


def backup_command(address: Dsn, file: str) -> str:
    """Everything as it is at one moment; signals are of the database that they were written in."""
    options = "--format=custom --no-owner --no-privileges --exclude-table-data=signals"
    return f"{_password(address)}pg_dump {options} {_place(address)} --file={shlex.quote(file)}"


def restore_command(address: Dsn, file: str) -> str:
    """All of it or nothing, in the place of what is there."""
    options = "--clean --if-exists --single-transaction --no-owner --no-privileges"
    return f"{_password(address)}pg_restore {options} {_place(address)} {shlex.quote(file)}"


def _place(address: Dsn) -> str:
    """Without a password, which a program's arguments would show to everyone on the machine."""
    given, asked = parse(without_password(address.given)), parse(address.conninfo())
    place = {name: asked[name] for name in (*_OURS, *given) if name in asked}
    return shlex.quote(f"--dbname={make_conninfo(**place | _options(given))}")


def _options(given: Parameters) -> Parameters:
    """Those that were given, without ours: a backup may wait longer for a lock than a call."""
    return {"options": given["options"]} if "options" in given else {}


def _password(address: Dsn) -> str:
    """From the file, where there is one; else the program asks, or finds it in ~/.pgpass."""
    file = address.password_file
    return "" if file is None else f'PGPASSWORD="$(cat {shlex.quote(str(file))})" '
