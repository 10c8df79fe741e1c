"""`python -m bench.openstack`: the console before the OpenStack whose lab is in the folder that LAB names."""

import sys
from pathlib import Path
from typing import Final

from bench.command import Suite, main
from bench.rounds import Pace

SUITE: Final = Suite(
    program="python -m bench.openstack",
    package="bench.openstack",
    parts=("waiting", "answers", "rate"),
    results=Path(__file__).parents[1] / "results" / "openstack.json",
    document=Path(__file__).parents[2] / "docs/internals/performance-openstack.md",
    usual=Pace(rounds=10, seconds=3),
)

if __name__ == "__main__":
    sys.exit(main(SUITE, sys.argv[1:]))
