"""Published numbers of an overload."""

import math

import pytest
from bench.measurements import UpperLimit
from bench.scale.overload import Round, p99, recovery_seconds, split_first_second, summarize
from cluster.load_generator import Response


def responses(*statuses: int, seconds: float = 0.001) -> list[Response]:
    """One every tenth of a second."""
    return [Response(100 + number / 10, seconds, status) for number, status in enumerate(statuses)]


def test_p99_ignores_the_slowest_of_a_hundred() -> None:
    assert p99([0.001] * 99 + [5]) == 0.001
    assert p99([0.001] * 98 + [5, 5]) == 5


@pytest.mark.parametrize(
    ("statuses", "seconds", "recovery"),
    [
        ([200] * 10, 0.003, 0),
        ([200] * 10, 0.0031, math.inf),
        ([503] * 5 + [200] * 10, 0.001, 0.5),
        ([200, 503, 200, 200, 200, 200], 0.001, 0.25),
        ([503] * 10, 0.001, math.inf),
    ],
)
def test_recovery_requires_that_all_requests_are_served_at_normal_latency(
    statuses: list[int], seconds: float, recovery: float
) -> None:
    assert recovery_seconds(responses(*statuses, seconds=seconds), 0.001) == recovery


def test_the_summary_has_ratios_per_round_and_the_slowest_recovery() -> None:
    first, later = split_first_second(responses(*[200] * 10, 503, 200, 200))
    assert (len(first), len(later)) == (10, 2)
    rounds = [
        Round(1000, 10, [0.001] * 100, [0.1] * 10, [0.002] * 40, 70, 0.25),
        Round(1000, 10, [0.001] * 100, [0.1] * 10, [0.004] * 40, 70, 1.5),
        Round(1000, 10, [0.002] * 100, [0.1] * 10, [0.005] * 40, 70, 0),
    ]
    part = summarize({"cache hit": rounds}, [UpperLimit("worker memory", "MB", 100, 120)])
    whole, after_a_second, sent = part.ratios
    assert whole.rounds == pytest.approx([100, 100, 50])
    assert after_a_second.rounds == pytest.approx([2, 4, 2.5])
    assert (whole.met, after_a_second.met) == (False, True)
    assert sent.rounds == pytest.approx([0.012] * 3)
    assert [limit.value for limit in part.limits] == [1500, 100]
