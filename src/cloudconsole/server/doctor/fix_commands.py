"""Shell commands that fix what doctor finds: they work when pasted into the shell that doctor was called from."""

import os
import pwd
import shlex
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

ROOT: Final = 0


def shell(*words: object) -> str:
    """Return a command for the user that doctor runs as, with `sudo` where doctor itself was called with it."""
    client = os.environ.get("SUDO_UID")
    if client is None or client == str(os.geteuid()):
        return _join(words)
    return _join(("sudo", "-u", _user_name(os.geteuid()) or f"#{os.geteuid()}", *words))


def as_root(*words: object) -> str:
    """Return a command that needs root."""
    if os.geteuid() == ROOT:
        return shell(*words)
    return _join(("sudo", *words))


def as_user(user: int, *words: object) -> str:
    """Return a command for another user; the empty string where the user has no name."""
    name = _user_name(user)
    if name is None:
        return ""
    if os.geteuid() == ROOT and "SUDO_UID" not in os.environ:
        return _join(("runuser", "-u", name, "--", *words))
    return _join(("sudo", "-u", name, *words))


def program() -> list[str]:
    """Return the words that call this very installation of cloudconsole."""
    found, called = shutil.which("cloudconsole"), Path(sys.argv[0])
    if called.name == "cloudconsole" and os.access(called, os.X_OK):
        is_on_path = found is not None and called.samefile(found)
        return ["cloudconsole"] if is_on_path else [str(called.absolute())]
    return [sys.executable, "-m", "cloudconsole"]


def pip_install(requirement: str) -> str:
    """Return the command that installs a package into this environment."""
    return shell(sys.executable, "-m", "pip", "install", requirement)


def _join(words: Iterable[object]) -> str:
    return shlex.join(map(str, words))


def _user_name(user: int) -> str | None:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return None
