"""A real benchmark run, as short as possible."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench.__main__ import SUITE

from bench import report
from tests.bench.markers import needs_wrk
from tests.harness import clean_environment

pytestmark = pytest.mark.slow

needs_two_cores = pytest.mark.skipif(
    not {0, 1} <= os.sched_getaffinity(0) and os.environ.get("CI") != "true", reason="needs two cores"
)


@needs_wrk
@needs_two_cores
def test_a_part_is_measured_saved_and_printed(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench", "--only", "workers", "--rounds", "1", "--seconds", "1"),
            *("--results", str(file)),
        ],
        cwd=SUITE.page.parents[2],
        env=clean_environment(BENCH_DATA=str(tmp_path / "datasets")),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = report.load(file)
    (part,) = results.parts
    assert [len(measured.rounds) for measured in part.measurements] == [1, 1]
    assert all(measured.spread.minimum > 0 for measured in part.measurements)
    assert done.stdout == report.format_for_terminal(results)
