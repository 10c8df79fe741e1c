"""Figures out of rounds."""

import pytest
from bench.figures import Ceiling, Measured, Refused, ratio, spread


def measured(*rounds: float) -> Measured:
    return Measured("some", "calls/s", list(rounds))


def test_the_middle_is_the_median_and_the_spread_reaches_from_least_to_greatest() -> None:
    figures = spread([5, 1, 100])
    assert (figures.middle, figures.least, figures.greatest) == (5, 1, 100)


def test_nothing_has_no_median() -> None:
    with pytest.raises(Refused, match="no round"):
        spread([])


def test_a_ratio_is_taken_within_each_round() -> None:
    # The machine was ten times as slow in the second round: of the medians the ratio would be 1.
    found = ratio("one / other", measured(50, 5, 60), measured(100, 10, 120))
    assert found.rounds == [0.5, 0.5, 0.5]


def test_variants_of_different_rounds_are_not_compared() -> None:
    with pytest.raises(Refused, match="same rounds"):
        ratio("one / other", measured(1, 2), measured(1))


def test_a_variant_that_answered_nothing_is_not_compared_with() -> None:
    with pytest.raises(Refused, match="answered nothing"):
        ratio("one / other", measured(1, 2), measured(1, 0))


@pytest.mark.parametrize(("goal", "met"), [(None, None), (0.5, True), (0.51, False)])
def test_a_goal_is_met_by_the_median(goal: float | None, met: bool | None) -> None:
    assert ratio("one / other", measured(1, 5, 9), measured(10, 10, 10), goal).met is met


@pytest.mark.parametrize(("goal", "limit", "met"), [(0.4, 0.6, True), (0.51, 0.6, False), (0.4, 0.49, False)])
def test_between_a_goal_and_a_limit_both_count(goal: float, limit: float, met: bool) -> None:
    assert ratio("one / other", measured(1, 5, 9), measured(10, 10, 10), goal, limit).met is met


@pytest.mark.parametrize(("value", "met"), [(119.9, True), (120.0, False)])
def test_a_ceiling_is_met_below_it(value: float, met: bool) -> None:
    assert Ceiling("memory", "MB", value, 120).met is met
