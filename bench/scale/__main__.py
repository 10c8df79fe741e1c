"""`python -m bench.scale`: the console on PostgreSQL, with a million tenants, and compared with other products."""

import sys
from pathlib import Path
from typing import Final

from bench.cli import Suite, main
from bench.rounds import RunLength
from bench.scale.charts import charts
from bench.servers import LOAD_CORE

SUITE: Final = Suite(
    program="python -m bench.scale",
    package="bench.scale",
    parts=("actions", "overload", "growth", "cost"),
    results=Path(__file__).parents[1] / "results" / "scale.json",
    page=Path(__file__).parents[2] / "docs" / "internals" / "performance-postgresql.md",
    length=RunLength(rounds=5, seconds=1),
    # Not on the server's core; PostgreSQL inherits this.
    core=LOAD_CORE,
    charts=charts,
)

if __name__ == "__main__":
    sys.exit(main(SUITE, sys.argv[1:]))
