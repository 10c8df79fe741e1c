"""`python -m bench.scale`: the console on PostgreSQL."""

import sys
from pathlib import Path
from typing import Final

from bench.command import Suite, main
from bench.rounds import Pace
from bench.scale.plots import plots
from bench.servers import LOAD_CORE

SUITE: Final = Suite(
    program="python -m bench.scale",
    package="bench.scale",
    parts=("actions", "overload", "growth", "cost"),
    results=Path(__file__).parents[1] / "results" / "scale.json",
    document=Path(__file__).parents[2] / "docs/internals/performance-postgresql.md",
    usual=Pace(rounds=5, seconds=1),
    # Off the server's core, and PostgreSQL with us.
    core=LOAD_CORE,
    plots=plots,
)

if __name__ == "__main__":
    sys.exit(main(SUITE, sys.argv[1:]))
