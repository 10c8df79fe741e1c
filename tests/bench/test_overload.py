"""Results of an overload."""

import math
from collections import deque

import pytest
from bench.measurements import InvalidRun, UpperLimit
from bench.scale.overload import Round, check, p99, recovery_seconds, send, split_first_second, summarize
from cluster.load_generator import LoadGenerator, LoadResult, Response

from tests.scale.test_load_generator import OK, REQUEST, serving

MEMORY = UpperLimit("worker memory", "MB", 100, 120)


def responses(*statuses: int, seconds: float = 0.001) -> list[Response]:
    """One every tenth of a second."""
    return [Response(100 + number / 10, seconds, status) for number, status in enumerate(statuses)]


def outcome(*statuses: int, lost: int = 0, missing: int = 0, without_retry_after: int = 0) -> LoadResult:
    return LoadResult(responses(*statuses), 0, lost, missing, without_retry_after)


def test_p99_ignores_the_slowest_of_a_hundred() -> None:
    assert p99([0.001] * 99 + [5]) == 0.001
    assert p99([0.001] * 98 + [5, 5]) == 5


def test_p99_needs_a_served_request() -> None:
    with pytest.raises(InvalidRun, match="no request was served"):
        p99([])


@pytest.mark.parametrize(
    ("statuses", "recovery"),
    [
        ([200] * 10, 0),
        ([503] * 5 + [200] * 10, 0.5),
        ([200, 503, 200, 200, 200, 200], 0.25),
        ([503] * 10, math.inf),
        ([], math.inf),
    ],
)
def test_recovery_requires_that_all_requests_are_served(statuses: list[int], recovery: float) -> None:
    assert recovery_seconds(responses(*statuses), 0.001) == recovery


def test_recovery_requires_normal_latency() -> None:
    slow = responses(*[200] * 10, seconds=0.0031)
    assert recovery_seconds(slow, 0.001) == math.inf
    assert recovery_seconds(slow, 0.002) == 0


def test_the_first_second_is_separate_and_rejected_requests_are_ignored() -> None:
    first, later = split_first_second(responses(*[200] * 10, 503, 200, 200))
    assert (len(first), len(later)) == (10, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        outcome(200, 500),
        outcome(200, 429),
        outcome(lost=1),
        outcome(missing=1),
        outcome(503, without_retry_after=1),
    ],
)
def test_a_run_with_a_wrong_response_is_invalid(wrong: LoadResult) -> None:
    with pytest.raises(InvalidRun):
        check(wrong)


def test_each_run_starts_where_the_previous_one_ended() -> None:
    requests = deque(REQUEST.replace(b"/", b"/%d" % number, 1) for number in range(1000))
    with serving(OK) as port, LoadGenerator(port, 4) as connections:
        sent = send(connections, requests, 100, 0.2)
    assert len(sent.responses) > 0
    assert requests[0].startswith(b"GET /%d " % (len(sent.responses) + sent.unsent))
    assert len(requests) == 1000


def test_the_summary_has_ratios_per_round_and_the_slowest_recovery() -> None:
    rounds = [
        Round(1000, 10, [0.001] * 100, [0.1] * 10, [0.002] * 40, 70, 0.25),
        Round(1000, 10, [0.001] * 100, [0.1] * 10, [0.004] * 40, 70, 1.5),
        Round(1000, 10, [0.002] * 100, [0.1] * 10, [0.005] * 40, 70, 0),
    ]
    part = summarize({"cache hit": rounds}, [MEMORY])
    whole, after_a_second, sent = part.ratios
    assert whole.rounds == pytest.approx([100, 100, 50])
    assert not whole.met
    assert after_a_second.rounds == pytest.approx([2, 4, 2.5])
    assert after_a_second.met
    assert sent.rounds == pytest.approx([0.012] * 3)
    assert [limit.value for limit in part.limits] == [1500, 100]
    assert {each.name: each.spread.median for each in part.measurements}["served, cache hit"] == 5
