"""Measurements and ratios."""

import pytest
from bench.measurements import InvalidRun, Measurement, UpperLimit, ratio, spread


def measured(*rounds: float) -> Measurement:
    return Measurement("some", "requests/s", list(rounds))


def test_a_spread_has_median_minimum_and_maximum() -> None:
    values = spread([5, 1, 100])
    assert (values.median, values.minimum, values.maximum) == (5, 1, 100)


def test_no_rounds_have_no_spread() -> None:
    with pytest.raises(InvalidRun, match="no rounds"):
        spread([])


def test_a_ratio_is_computed_within_each_round() -> None:
    # The machine was ten times slower in the second round; the ratio of the medians would be different.
    found = ratio("one / other", measured(50, 5, 60), measured(100, 10, 120))
    assert found.rounds == [0.5, 0.5, 0.5]


def test_variants_of_different_rounds_are_not_compared() -> None:
    with pytest.raises(InvalidRun, match="same rounds"):
        ratio("one / other", measured(1, 2), measured(1))


def test_a_zero_is_not_compared_with() -> None:
    with pytest.raises(InvalidRun, match="is zero in some round"):
        ratio("one / other", measured(1, 2), measured(1, 0))


@pytest.mark.parametrize(("at_least", "met"), [(None, None), (0.5, True), (0.51, False)])
def test_the_median_decides_whether_a_target_is_met(at_least: float | None, met: bool | None) -> None:
    assert ratio("one / other", measured(1, 5, 9), measured(10, 10, 10), at_least).met is met


@pytest.mark.parametrize(("at_least", "at_most", "met"), [(0.4, 0.6, True), (0.51, 0.6, False), (0.4, 0.49, False)])
def test_a_target_can_have_both_bounds(at_least: float, at_most: float, met: bool) -> None:
    assert ratio("one / other", measured(1, 5, 9), measured(10, 10, 10), at_least, at_most).met is met


@pytest.mark.parametrize(("value", "met"), [(119.9, True), (120.0, False)])
def test_a_limit_is_met_below_it(value: float, met: bool) -> None:
    assert UpperLimit("memory", "MB", value, 120).met is met
