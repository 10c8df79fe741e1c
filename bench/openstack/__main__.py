"""`python -m bench.openstack`: the console with an OpenStack backend, the lab in the directory that LAB names."""

import sys
from pathlib import Path
from typing import Final

from bench.cli import Suite, main
from bench.rounds import RunLength

SUITE: Final = Suite(
    program="python -m bench.openstack",
    package="bench.openstack",
    parts=("overhead", "response_times", "throughput"),
    results=Path(__file__).parents[1] / "results" / "openstack.json",
    page=Path(__file__).parents[2] / "docs" / "internals" / "performance-openstack.md",
    length=RunLength(rounds=10, seconds=3),
)

if __name__ == "__main__":
    sys.exit(main(SUITE, sys.argv[1:]))
