"""Error exit, OS user name."""

import os
import pwd
import sys
from typing import Final

from cloudconsole.server.logging import ERROR_PREFIX, is_journal
from cloudconsole.spec.text import escape

REFUSED: Final = 1


def refuse(problem: str) -> int:
    """Say it on standard error, each line with our name; gives the exit code."""
    prefix = ERROR_PREFIX if is_journal(sys.stderr) else ""
    sys.stderr.writelines(f"{prefix}cloudconsole: {escape(line)}\n" for line in problem.splitlines())
    return REFUSED


def user_name() -> str:
    """The user of the process itself: a variable such as LOGNAME could say anything."""
    user = os.getuid()
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
