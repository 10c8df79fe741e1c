"""`python -m bench`: the console on SQLite."""

import sys
from pathlib import Path
from typing import Final

from bench.cli import Suite, main
from bench.rounds import RunLength
from bench.servers import LOAD_CORE

SUITE: Final = Suite(
    program="python -m bench",
    package="bench.parts",
    parts=(
        *("actions", "cache_misses", "concurrent_writes", "growth", "django", "workers"),
        *("login_throughput", "login_attack", "client", "parsing", "costs"),
    ),
    results=Path(__file__).with_name("results") / "sqlite.json",
    page=Path(__file__).parents[1] / "docs" / "internals" / "performance.md",
    length=RunLength(rounds=5, seconds=2),
    # Not on the server's core.
    core=LOAD_CORE,
)

if __name__ == "__main__":
    sys.exit(main(SUITE, sys.argv[1:]))
