"""The figures of an overload, from what a crowd saw."""

import math
from collections import deque

import pytest
from bench.figures import Ceiling, Refused
from bench.scale.overload import (
    Round,
    at_first,
    check,
    go_on,
    p99,
    recovery_of,
    report,
)
from cluster.load_generator import LoadGenerator, LoadResult, Response

from tests.scale.test_load_generator import OK, REQUEST, serving

HELD = Ceiling("memory of a worker", "MB", 100, 120)


def answers(*statuses: int, seconds: float = 0.001) -> list[Response]:
    """One every tenth of a second."""
    return [Response(100 + number / 10, seconds, status) for number, status in enumerate(statuses)]


def outcome(*statuses: int, lost: int = 0, unanswered: int = 0, silent: int = 0) -> LoadResult:
    return LoadResult(answers(*statuses), 0, lost, unanswered, silent)


def test_of_a_hundred_calls_one_may_take_longer() -> None:
    assert p99([0.001] * 99 + [5]) == 0.001
    assert p99([0.001] * 98 + [5, 5]) == 5


def test_where_nobody_is_served_there_is_no_figure() -> None:
    with pytest.raises(Refused, match="nobody"):
        p99([])


@pytest.mark.parametrize(
    ("seen", "recovery"),
    [
        ([200] * 10, 0),
        ([503] * 5 + [200] * 10, 0.5),
        ([200, 503, 200, 200, 200, 200], 0.25),
        ([503] * 10, math.inf),
        ([], math.inf),
    ],
)
def test_all_is_as_before_once_everybody_is_served(seen: list[int], recovery: float) -> None:
    assert recovery_of(answers(*seen), 0.001) == recovery


def test_all_is_as_before_once_calls_are_answered_soon() -> None:
    slow = answers(*[200] * 10, seconds=0.0031)
    assert recovery_of(slow, 0.001) == math.inf
    assert recovery_of(slow, 0.002) == 0


def test_the_first_second_is_told_apart_and_refusals_are_left_out() -> None:
    first, later = at_first(answers(*[200] * 10, 503, 200, 200))
    assert (len(first), len(later)) == (10, 2)


@pytest.mark.parametrize(
    "wrong",
    [outcome(200, 500), outcome(200, 429), outcome(lost=1), outcome(unanswered=1), outcome(503, silent=1)],
)
def test_a_run_with_a_wrong_answer_is_worth_nothing(wrong: LoadResult) -> None:
    with pytest.raises(Refused):
        check(wrong)


def test_each_run_goes_on_where_the_one_before_has_ended() -> None:
    requests = deque(REQUEST.replace(b"/", b"/%d" % number, 1) for number in range(1000))
    with serving(OK) as port, LoadGenerator(port, 4) as crowd:
        sent = go_on(crowd, requests, 100, 0.2)
    assert len(sent.responses) > 0
    assert requests[0].startswith(b"GET /%d " % (len(sent.responses) + sent.unsent))
    assert len(requests) == 1000


def test_a_report_has_the_ratio_of_each_round_and_the_slowest_recovery() -> None:
    rounds = [
        Round(1000, 10, [0.001] * 100, [0.1] * 10, [0.002] * 40, 70, 0.25),
        Round(1000, 10, [0.001] * 100, [0.1] * 10, [0.004] * 40, 70, 1.5),
        Round(1000, 10, [0.002] * 100, [0.1] * 10, [0.005] * 40, 70, 0),
    ]
    part = report({"warm": rounds}, [HELD])
    whole, after_a_second, sent = part.ratios
    assert whole.rounds == pytest.approx([100, 100, 50])
    assert not whole.met
    assert after_a_second.rounds == pytest.approx([2, 4, 2.5])
    assert after_a_second.met
    assert sent.rounds == pytest.approx([0.012] * 3)
    assert [ceiling.value for ceiling in part.ceilings] == [1500, 100]
    assert {each.name: each.spread.middle for each in part.measured}["served, warm"] == 5
