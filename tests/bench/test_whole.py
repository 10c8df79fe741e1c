"""The benchmark run for real, as short as it can be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench.__main__ import SUITE

from bench import report
from tests.bench.needs import needs_wrk
from tests.harness import clean_environment

pytestmark = pytest.mark.long

needs_two_cores = pytest.mark.skipif(
    not {0, 1} <= os.sched_getaffinity(0) and os.environ.get("CI") != "true", reason="there are no two cores"
)


@needs_wrk
@needs_two_cores
def test_a_part_is_measured_and_its_results_are_kept_and_shown(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench", "--only", "workers", "--rounds", "1", "--seconds", "1"),
            *("--results", str(file)),
        ],
        cwd=SUITE.document.parents[1],
        env=clean_environment(BENCH_DATA=str(tmp_path / "stores")),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = report.read(file)
    (part,) = results.parts
    assert [len(measured.rounds) for measured in part.measured] == [1, 1]
    assert all(measured.spread.least > 0 for measured in part.measured)
    assert done.stdout == report.for_terminal(results)
