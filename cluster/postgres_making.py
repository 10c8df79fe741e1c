"""What a PostgreSQL of one's own is made from: its programs, whom it runs as, its folder and its settings."""

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

from cluster import guardian
from cluster.errors import ClusterFailed

DEBIAN_PROGRAMS = Path("/usr/lib/postgresql")
DEBIAN_USER = "postgres"

Settings = Mapping[str, str | int]

QUICK: Settings = {
    # A stop waits this long for a client that connected while the server was suspended and never logs in.
    "authentication_timeout": "15s",
    "shared_buffers": "32MB",
    "max_connections": 100,
    "max_wal_size": "256MB",
    "log_line_prefix": "%m [%p] ",
}
UNSAFE: Settings = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
COPIES_BY_LOG_FROM = 15_00_00
"""The version since which a new database is copied through the log unless one asks otherwise."""


def find_programs() -> Path:
    """The folder with `initdb` and `postgres`: the newest of Debian's, or where pg_config says."""
    folders = sorted(DEBIAN_PROGRAMS.glob("*/bin"), key=_version, reverse=True)
    if pg_config := shutil.which("pg_config"):
        said = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=True)
        folders.append(Path(said.stdout.strip()))
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise ClusterFailed("PostgreSQL is missing. This mends it, as root: python -m cluster install")


def _version(folder: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", folder.parent.name))


def find_user() -> str | None:
    """Whom it runs as: PostgreSQL refuses root, so for root it is the user of Debian's package; else ourselves."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(DEBIAN_USER).pw_name
    except KeyError as missing:
        raise ClusterFailed(
            f"root cannot run PostgreSQL, and there is no user {DEBIAN_USER}. This mends it: python -m cluster install"
        ) from missing


def give_to(user: str | None, *paths: Path) -> None:
    """Let these be the user's."""
    if user is not None:
        for path in paths:
            shutil.chown(path, user, user)


def make(programs: Path, folder: Path, user: str | None, superuser: str) -> None:
    """An empty PostgreSQL in a folder, whose superuser needs no password at its socket."""
    if any(folder.iterdir()):
        _initialize(programs, folder, user, superuser)  # which says what is wrong with that
    else:
        _run(["cp", "-a", f"{_first(programs, user, superuser)}/.", str(folder)], user)


@cache
def _first(programs: Path, user: str | None, superuser: str) -> Path:
    """One that is never started; to copy it takes a fraction of what it takes to make another."""
    folder = Path(tempfile.mkdtemp(prefix="cloudconsole-postgres-first-"))
    guardian.guard_folder(folder)
    give_to(user, folder)
    _initialize(programs, folder, user, superuser)
    return folder


def _initialize(programs: Path, folder: Path, user: str | None, superuser: str) -> None:
    command = [
        *(str(programs / "initdb"), "--pgdata", str(folder), "--username", superuser),
        *("--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync", "--no-instructions"),
        *("--auth-local", "trust", "--auth-host", "scram-sha-256"),
    ]
    _run(command, user)


def quick_verifier(password: str) -> str:
    """What PostgreSQL keeps of a password, with one round of hashing instead of thousands, which each connection costs.

    In the form that its documentation gives in "pg_authid"; a wrong password is refused as ever.
    """
    salt = os.urandom(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 1)
    stored_key = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    salt_text, stored_text, server_text = (b64encode(part).decode() for part in (salt, stored_key, server_key))
    return f"SCRAM-SHA-256$1:{salt_text}${stored_text}:{server_text}"


def copy(programs: Path, source: Path, port: int, folder: Path, user: str | None, superuser: str) -> None:
    """A copy of the PostgreSQL that runs at a socket in `source`, which will follow it."""
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
        raise ClusterFailed(f"{Path(command[0]).name}: {(done.stderr or done.stdout).strip()[-2000:]}")


def settings_text(settings: Settings) -> str:
    """Settings as lines of postgresql.conf."""
    return "".join(f"{name} = {_quoted(value)}\n" for name, value in settings.items())


def host_rules(kind: str) -> str:
    """Lines of pg_hba.conf: anyone who can reach the socket is trusted; over TCP there has to be a password."""
    return f"local all,replication all trust\n{kind} all all 127.0.0.1/32 scram-sha-256\n"


def _quoted(value: str | int) -> str:
    return "'" + str(value).replace("'", "''") + "'"
