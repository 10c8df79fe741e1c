"""Whatever a console that keeps its lease does is let pass, and one that does not is found out."""

import pytest
from history.checker import check
from hypothesis import given, settings
from hypothesis.strategies import integers

from tests.history.simulated import SETTLE, Simulation


@settings(max_examples=30)
@given(integers(0, 10**6))
def test_a_console_that_keeps_its_lease_is_never_found_fault_with(seed: int) -> None:
    assert list(map(str, check(Simulation(seed, lease=SETTLE - 0.1).recording()).findings)) == []


@pytest.mark.parametrize("seed", range(5))
def test_a_console_that_answers_from_older_states_is_found_out(seed: int) -> None:
    problems = [finding.problem for finding in check(Simulation(seed, lease=3).recording()).findings]
    assert any(": stale: " in problem for problem in problems)
    assert any(problem.startswith("accepted ") for problem in problems)
