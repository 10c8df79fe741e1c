"""`python -m bench`: the console over its own store."""

import sys
from pathlib import Path
from typing import Final

from bench.command import Suite, main
from bench.rounds import Pace
from bench.servers import LOAD_CORE

SUITE: Final = Suite(
    program="python -m bench",
    package="bench.parts",
    parts=("actions", "cold", "writes", "growth", "django", "workers", "logins", "attack", "client", "inputs"),
    results=Path(__file__).with_name("results") / "latest.json",
    document=Path(__file__).parents[1] / "docs/internals/performance.md",
    usual=Pace(rounds=5, seconds=2),
    # Off the server's core.
    core=LOAD_CORE,
)

if __name__ == "__main__":
    sys.exit(main(SUITE, sys.argv[1:]))
