"""DSN parsing and redaction; pg_dump and pg_restore commands."""

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
from cloudconsole.store.file_permissions import reason_for_distrust

Parameters = dict[str, str]

IDLE_TRANSACTION_SECONDS: Final = 30
"""A client idle in a transaction for this long, such as a paused replica, loses the transaction and its locks."""

_DEFAULTS: Final = {
    "application_name": "cloudconsole",
    # Per host: with three hosts, the third is reached within the timeout of a read.
    "connect_timeout": "2",
    # Detect a lost connection instead of waiting forever.
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
    # Of several hosts, use the one that accepts writes.
    "target_session_attrs": "read-write",
}
_OPTIONS: Final = " ".join(
    (
        f"-c lock_timeout={BUSY_SECONDS}s",
        f"-c idle_in_transaction_session_timeout={IDLE_TRANSACTION_SECONDS}s",
        # Required, whatever the defaults of the role, database or server.
        r"-c default_transaction_isolation=read\ committed",
        "-c synchronous_commit=on",
    )
)
_SECRETS: Final = ("password", "sslpassword")
_WRITABLE: Final = ("read-write", "primary")
_CA_FILES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora
    "/etc/ssl/cert.pem",  # Alpine
)
"""Common locations of the system's CA certificates."""


class Dsn(NamedTuple):
    given: str
    """May contain a password, so it is never shown."""
    password_file: Path | None = None

    def conninfo(self, *more_options: str) -> str:
        """Return the connection string; the password file is read each time, so that it can change at runtime."""
        given = parse(self.given)
        parameters = {**_DEFAULTS, **_tls_defaults(given), **given}
        parameters["options"] = " ".join((_OPTIONS, *more_options, given.get("options", ""))).rstrip()
        if self.password_file is not None:
            parameters["password"] = _read_password(self.password_file)
        return make_conninfo(**parameters)

    def __str__(self) -> str:
        database, hosts = self._database_and_hosts()
        return f"the database {database} on {hosts or 'this machine'}"

    @property
    def chinese(self) -> str:
        """The name in Chinese messages."""
        database, hosts = self._database_and_hosts()
        return f"{hosts or '本机'} 上的数据库 {database}"

    def _database_and_hosts(self) -> tuple[str, str | None]:
        given = parse(self.given)
        return given.get("dbname", given.get("user", "")), given.get("host", given.get("hostaddr"))


def parse(text: str) -> Parameters:
    """Parse an address into libpq parameters; raise `ValueError` if it is invalid or unsupported."""
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(text).items() if value is not None}
    except psycopg.ProgrammingError as problem:
        # libpq quotes parts of the address, which may be the password.
        raise ValueError(str(problem).partition('"')[0].strip(" :\n")) from None
    if _exposes_password(given):
        raise ValueError("write each @, / and : of the password as %40, %2F and %3A, or use a password file instead")
    if given.get("target_session_attrs", "read-write") not in _WRITABLE:
        raise ValueError(f"target_session_attrs must be {' or '.join(_WRITABLE)}, or be omitted")
    return given


def without_password(given: str) -> str:
    """Return the address without its password, for display and command lines."""
    if not holds_password(given):
        return given
    rest = {name: value for name, value in parse(given).items() if name not in _SECRETS}
    # All as parameters: libpq accepts the password in several positions, and hosts in several forms.
    return f"postgresql:///?{urlencode(rest, quote_via=quote)}"


def holds_password(given: str) -> bool:
    return not parse(given).keys().isdisjoint(_SECRETS)


def _exposes_password(given: Parameters) -> bool:
    """Return whether an unescaped character split the password, so that part of it would be shown."""
    names = [given.get(name, "") for name in ("host", "hostaddr", "port", "dbname")]
    ports = given.get("port", "").split(",")
    is_split = any("@" in name for name in names) or "/" in given.get("dbname", "")
    return is_split or not all(port.isdecimal() or not port for port in ports)


def _tls_defaults(given: Parameters) -> Parameters:
    """Require a verified certificate over a network, unless the address sets `sslmode`."""
    hosts = [host for name in ("host", "hostaddr") for host in given.get(name, "").split(",") if host]
    sslmode = given.get("sslmode", "" if all(_is_local(host) for host in hosts) else "verify-full")
    return {"sslmode": sslmode, **_root_certificates()} if sslmode == "verify-full" else {}


def _root_certificates() -> Parameters:
    """Return the system's CA file, unless libpq finds other certificates by itself.

    libpq's `sslrootcert=system` does not work: psycopg's wheel searches a path that no system has, and PostgreSQL 15's
    programs do not support it.
    """
    own = os.path.expanduser("~/.postgresql/root.crt")  # noqa: PTH111 - there may be no home
    if "PGSSLROOTCERT" in os.environ or os.access(own, os.F_OK):
        return {}
    files = (ssl.get_default_verify_paths().cafile, *_CA_FILES)
    return {"sslrootcert": next((file for file in files if file and os.access(file, os.R_OK)), "system")}


def _is_local(host: str) -> bool:
    if host.startswith("/") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _read_password(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as opened:
            reason = reason_for_distrust(os.fstat(opened.fileno()))
            if reason:
                raise StoreError(
                    f"database_password_file: {file} {reason.en}", f"database_password_file：{file} {reason.zh}"
                )
            return opened.read().rstrip("\r\n")
    except OSError as problem:
        raise StoreError(
            f"database_password_file: {file} cannot be read: {problem.strerror}",
            f"database_password_file：无法读取 {file}：{problem.strerror}",
        ) from problem
    except UnicodeDecodeError:
        raise StoreError(
            f"database_password_file: {file} is not UTF-8 text", f"database_password_file：{file} 不是 UTF-8 文本"
        ) from None


_SHARED_DEFAULTS: Final = ("sslmode", "sslrootcert", "target_session_attrs")
"""Defaults that backup programs need too; the others are only for serving."""


def backup_command(address: Dsn, file: str) -> str:
    """Return the pg_dump command; the change log is excluded, since it is only valid in its own database."""
    options = "--format=custom --no-owner --no-privileges --exclude-table-data=signals"
    return f"{_password(address)}pg_dump {options} {_dbname(address)} --file={shlex.quote(file)}"


def restore_command(address: Dsn, file: str) -> str:
    """Return the pg_restore command, which replaces everything in one transaction."""
    options = "--clean --if-exists --single-transaction --no-owner --no-privileges"
    return f"{_password(address)}pg_restore {options} {_dbname(address)} {shlex.quote(file)}"


def _dbname(address: Dsn) -> str:
    """Return the address without its password, which other users could see in the process list."""
    given, complete = parse(without_password(address.given)), parse(address.conninfo())
    parameters = {name: complete[name] for name in (*_SHARED_DEFAULTS, *given) if name in complete}
    return shlex.quote(f"--dbname={make_conninfo(**parameters | _options(given))}")


def _options(given: Parameters) -> Parameters:
    """Return only the given options: a backup may wait longer for a lock than a request."""
    return {"options": given["options"]} if "options" in given else {}


def _password(address: Dsn) -> str:
    """Read the password file, if any; otherwise the program prompts or uses ~/.pgpass."""
    file = address.password_file
    return "" if file is None else f'PGPASSWORD="$(cat {shlex.quote(str(file))})" '
