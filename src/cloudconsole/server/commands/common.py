"""Error exit, OS user name."""

import os
import pwd
import sys
from typing import Final

from cloudconsole.server.logging import ERROR_PREFIX, is_journal
from cloudconsole.spec.text import escape

EXIT_FAILED: Final = 1


def exit_with_error(problem: str) -> int:
    """Print the problem to standard error, one prefix per line, and return the exit code."""
    prefix = ERROR_PREFIX if is_journal(sys.stderr) else ""
    sys.stderr.writelines(f"{prefix}cloudconsole: {escape(line)}\n" for line in problem.splitlines())
    return EXIT_FAILED


def user_name() -> str:
    """Return the name of the process's user; variables such as LOGNAME can be forged."""
    user = os.getuid()
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
