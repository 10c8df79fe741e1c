"""Set up a PostgreSQL data directory: programs, system user, initdb, configuration files."""

import hashlib
import hmac
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from cluster import reaper
from cluster.errors import ClusterError

DEBIAN_PROGRAMS = Path("/usr/lib/postgresql")
DEBIAN_USER = "postgres"

Settings = Mapping[str, str | int]

FAST_SETTINGS: Settings = {
    # Stopping waits this long for a client that connected while the server was suspended and never logs in.
    "authentication_timeout": "15s",
    "shared_buffers": "32MB",
    "max_connections": 100,
    "max_wal_size": "256MB",
    "log_line_prefix": "%m [%p] ",
}
UNSAFE_SETTINGS: Settings = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
WAL_LOG_STRATEGY_FROM = 15_00_00
"""The version from which CREATE DATABASE copies through the WAL by default."""


def find_programs() -> Path:
    """Return the folder with `initdb` and `postgres`: Debian's newest, or that of pg_config."""
    folders = sorted(DEBIAN_PROGRAMS.glob("*/bin"), key=_version, reverse=True)
    if pg_config := shutil.which("pg_config"):
        output = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=True)
        folders.append(Path(output.stdout.strip()))
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise ClusterError("PostgreSQL not found: run `python -m cluster install` as root")


def _version(folder: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", folder.parent.name))


def find_user() -> str | None:
    """Return the user to run as: for root the user of Debian's package, since PostgreSQL rejects root; else None."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(DEBIAN_USER).pw_name
    except KeyError as missing:
        raise ClusterError(
            f"root cannot run PostgreSQL, and user {DEBIAN_USER} does not exist: run `python -m cluster install`"
        ) from missing


def chown(user: str | None, *paths: Path) -> None:
    """Make a user the owner of paths."""
    if user is not None:
        for path in paths:
            shutil.chown(path, user, user)


def initialize(programs: Path, folder: Path, user: str | None, superuser: str) -> None:
    """Initialize an empty folder; the superuser needs no password at the socket."""
    if any(folder.iterdir()):
        _initdb(programs, folder, user, superuser)  # fails with a message
    else:
        _run(["cp", "-a", f"{_template(programs, user, superuser)}/.", str(folder)], user)


@cache
def _template(programs: Path, user: str | None, superuser: str) -> Path:
    """Return an initialized folder that is never started; copying it is much faster than initdb."""
    folder = Path(tempfile.mkdtemp(prefix="cloudconsole-postgres-template-"))
    reaper.register_folder(folder)
    chown(user, folder)
    _initdb(programs, folder, user, superuser)
    return folder


def _initdb(programs: Path, folder: Path, user: str | None, superuser: str) -> None:
    command = [
        *(str(programs / "initdb"), "--pgdata", str(folder), "--username", superuser),
        *("--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync", "--no-instructions"),
        *("--auth-local", "trust", "--auth-host", "scram-sha-256"),
    ]
    _run(command, user)


def fast_verifier(password: str) -> str:
    """Return a SCRAM verifier with a single iteration instead of thousands per connection.

    The format is documented for "pg_authid"; wrong passwords are still rejected.
    """
    salt = os.urandom(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 1)
    stored_key = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    salt_text, stored_text, server_text = (b64encode(part).decode() for part in (salt, stored_key, server_key))
    return f"SCRAM-SHA-256$1:{salt_text}${stored_text}:{server_text}"


def base_backup(programs: Path, source: Path, port: int, folder: Path, user: str | None, superuser: str) -> None:
    """Copy the running PostgreSQL whose socket is in `source`, as a standby of it."""
    command = [
        *(str(programs / "pg_basebackup"), "--pgdata", str(folder), "--host", str(source), "--port", str(port)),
        *("--username", superuser, "--checkpoint", "fast", "--no-sync", "--write-recovery-conf"),
    ]
    _run(command, user)


def _run(command: Sequence[str], user: str | None) -> None:
    groups = None if user is None else [user]
    done = subprocess.run(
        command, cwd="/", capture_output=True, text=True, check=False, user=user, group=user, extra_groups=groups
    )
    if done.returncode:
        raise ClusterError(f"{Path(command[0]).name}: {(done.stderr or done.stdout).strip()[-2000:]}")


def settings_text(settings: Settings) -> str:
    """Format settings as postgresql.conf."""
    return "".join(f"{name} = {_quote(value)}\n" for name, value in settings.items())


def hba_rules(kind: str) -> str:
    """Lines of pg_hba.conf: local connections are trusted; TCP connections need a password."""
    return f"local all,replication all trust\n{kind} all all 127.0.0.1/32 scram-sha-256\n"


def _quote(value: str | int) -> str:
    return "'" + str(value).replace("'", "''") + "'"
