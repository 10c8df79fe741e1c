"""Shell commands that fix findings, ready to paste into the shell that doctor was called from."""

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
    """Return a command for the user that doctor runs as, with `sudo` if doctor was called with it."""
    sudo_user = os.environ.get("SUDO_UID")
    if sudo_user is None or sudo_user == str(os.geteuid()):
        return _join(words)
    return _join(("sudo", "-u", _user_name(os.geteuid()) or f"#{os.geteuid()}", *words))


def as_root(*words: object) -> str:
    """Return a command that needs root."""
    if os.geteuid() == ROOT:
        return shell(*words)
    return _join(("sudo", *words))


def as_user(user: int, *words: object) -> str:
    """Return a command for another user; an empty string if the user has no name."""
    name = _user_name(user)
    if name is None:
        return ""
    if os.geteuid() == ROOT and "SUDO_UID" not in os.environ:
        return _join(("runuser", "-u", name, "--", *words))
    return _join(("sudo", "-u", name, *words))


def program() -> list[str]:
    """Return the command that runs this installation of cloudconsole."""
    on_path, called = shutil.which("cloudconsole"), Path(sys.argv[0])
    if called.name == "cloudconsole" and os.access(called, os.X_OK):
        is_on_path = on_path is not None and called.samefile(on_path)
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
