"""The checker accepts a console that honours its lease and detects one that does not."""

import pytest
from consistency.checker import check
from hypothesis import given, settings
from hypothesis.strategies import integers

from tests.consistency.simulator import REPLICATION_WAIT, Simulation


@settings(max_examples=30)
@given(integers(0, 10**6))
def test_a_console_that_honours_its_lease_has_no_anomalies(seed: int) -> None:
    assert list(map(str, check(Simulation(seed, lease=REPLICATION_WAIT - 0.1).history()).anomalies)) == []


@pytest.mark.parametrize("seed", range(5))
def test_a_console_that_serves_old_states_is_detected(seed: int) -> None:
    problems = [anomaly.problem for anomaly in check(Simulation(seed, lease=3).history()).anomalies]
    assert any(": stale read: " in problem for problem in problems)
    assert any(problem.startswith("session accepted ") for problem in problems)
