"""How a command says that it will not do something."""

import sys
from typing import Final

from cloudconsole.spec.visible import visible

REFUSED: Final = 1


def refuse(problem: str) -> int:
    """Say it on standard error, each line with our name; gives the exit code."""
    sys.stderr.writelines(f"cloudconsole: {visible(line)}\n" for line in problem.splitlines())
    return REFUSED
