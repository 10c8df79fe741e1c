"""Advice on a PostgreSQL database that cannot be used, by what libpq or the server says about it."""

import re
from typing import Final

from cloudconsole.server.doctor.findings import Case

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


def advice_on(reason: str, case: Case) -> str:
    if re.search(r"password authentication failed|no password supplied|SCRAM", reason):
        return _on_password(case)
    return next((advice for pattern, advice in _ADVICE if re.search(pattern, reason)), _UNKNOWN)


def _on_password(case: Case) -> str:
    file = case.settings.database_password_file
    if file is not None:
        return f"write the password of the role into {file}"
    return "write the password of the role into a file, and set database_password_file to it"
