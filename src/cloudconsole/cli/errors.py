"""Why a command is not done, in lines for people, and the exit code that tells programs."""

import sys
from typing import Final

from cloudconsole.spec.text import escape

DONE: Final = 0
REFUSED: Final = 1
WRONG_USAGE: Final = 2
NOT_CONNECTED: Final = 3


class Problem(Exception):
    """The service, or this machine, does not do it."""

    exit_code = REFUSED


class UsageProblem(Problem):
    """What the call was given cannot be used; each line of the text says one thing."""

    exit_code = WRONG_USAGE


def tell(text: str) -> None:
    """Say it on standard error, each line with our name; what is in it does not control a terminal."""
    sys.stderr.writelines(f"cloudconsole: {escape(line)}\n" for line in text.split("\n"))
