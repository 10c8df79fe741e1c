"""Published numbers: ratios, percentiles, overload, and whether targets are met."""

import math

import pytest
from bench.measurements import InvalidRun, Latencies, Measurement, UpperLimit, ratio, spread
from bench.openstack.overhead import slowest_of_each
from bench.openstack.upstream_timings import LOGGER, slowest_upstream_requests
from bench.scale.actions import MIN_RATIO_TO_BARE, MIN_RATIO_TO_PEERS, POSTGRES, SQLITE, compare
from bench.scale.overload import Round, p99, recovery_seconds, split_first_second, summarize
from bench.scale.workloads import HIT, MISS, REQUESTS
from bench.time_slices import TimeSlice, sliced_rates
from cluster.load_generator import Response


def measured(*rounds: float) -> Measurement:
    return Measurement("some", "requests/s", list(rounds))


def test_a_ratio_is_computed_within_each_round() -> None:
    # The machine was ten times slower in the second round; the ratio of the medians would be different.
    found = ratio("one / other", measured(50, 5, 60), measured(100, 10, 120))
    assert found.rounds == [0.5, 0.5, 0.5]
    assert spread([5, 1, 100]).median == 5


@pytest.mark.parametrize("other", [(1,), (1, 0)])
def test_different_rounds_and_zeros_are_not_compared(other: tuple[float, ...]) -> None:
    with pytest.raises(InvalidRun, match=r"same rounds|is zero"):
        ratio("one / other", measured(1, 2), measured(*other))


@pytest.mark.parametrize(
    ("at_least", "at_most", "met"),
    [(None, None, None), (0.5, None, True), (0.51, None, False), (0.4, 0.5, True), (0.4, 0.49, False)],
)
def test_the_median_decides_whether_a_target_is_met(
    at_least: float | None, at_most: float | None, met: bool | None
) -> None:
    assert ratio("one / other", measured(1, 5, 9), measured(10, 10, 10), at_least, at_most).met is met


def test_a_percentile_is_a_measured_value() -> None:
    latencies = Latencies("some", [[4, 1, 5], [3, 2]])
    assert [latencies.percentile(percent) for percent in (1, 50, 99)] == [1, 3, 5]
    assert latencies.medians.rounds == [4, 2.5]


def at_rate(rate: int) -> TimeSlice:
    return TimeSlice(rate // 20, 50_000)


def test_slow_cycles_are_ignored_for_all_variants_with_equal_weight() -> None:
    console = {1: at_rate(10_000), 2: at_rate(4_000), 3: at_rate(10_000), 4: at_rate(3_000), 5: at_rate(90_000)}
    bare = {1: at_rate(20_000), 2: at_rate(16_000), 3: at_rate(20_000), 4: at_rate(5_000)}
    assert sliced_rates([console, bare]) == [10_000, 20_000]
    slow, fast = {1: at_rate(10_000), 2: at_rate(2_000)}, {1: at_rate(90_000), 2: at_rate(100_000)}
    assert sliced_rates([slow, fast]) == [10_000, 90_000]
    with pytest.raises(InvalidRun, match="no cycle"):
        sliced_rates([slow, {1: at_rate(0), 3: at_rate(1000)}])


def test_every_request_is_compared_with_its_own_bare_server() -> None:
    rates = {"bare server": 100.0, "nginx": 400.0, f"{POSTGRES}, {HIT}": 60.0, f"{POSTGRES}, {MISS}": 20.0}
    rates |= {f"{SQLITE}, {HIT}": 62.0, f"{SQLITE}, {MISS}": 30.0}
    of_console = {f"{name}, {variant}": rate for variant, rate in rates.items() for name in REQUESTS}
    of_others = {f"{other}: {name}": rates[other] for other in ("bare server", "nginx") for name in REQUESTS}
    measurements = {
        name: Measurement(name, "requests/s", [rate], [900 / rate])
        for name, rate in {**of_console, **of_others, "Django": 5.0}.items()
    }
    ratios = {each.name: each for each in compare(measurements, list(REQUESTS), ["Django"])}
    for name in REQUESTS:
        hit = ratios[f"{name}, {POSTGRES}, {HIT} / bare server"]
        assert (hit.rounds, hit.at_least) == ([0.6], MIN_RATIO_TO_BARE)
        assert ratios[f"{name}, {POSTGRES}, {MISS} / bare server"].rounds == [0.2]
        assert ratios[f"{name}, {POSTGRES}, {HIT} / nginx"].rounds == [0.15]
        peer = ratios[f"{name}, {POSTGRES}, {HIT} / Django"]
        assert (peer.rounds, peer.at_least) == ([12], MIN_RATIO_TO_PEERS)
    assert ratios[f"GetUsageLimits, {POSTGRES}, {HIT} / Django, by CPU time"].rounds == [12]


def test_the_slowest_openstack_request_is_assigned_to_its_console_request() -> None:
    line = f'{{"logger":"{LOGGER}","request_id":"%s","message":"sent","ms":%s}}'
    log = "\n".join(
        ["Serving", line % ("a", 3), line % ("b", 2), line % ("a", 7), line.replace("sent", "x") % ("c", 1)]
    )
    log += '\n{"logger":"cloudconsole.other","request_id":"a","message":"other","ms":100}\n'
    slowest = slowest_upstream_requests(log.encode())
    assert slowest == {"a": 7, "b": 2, "c": 1}
    assert slowest_of_each(Latencies("total", [[10, 20], [30]]), ["b", "a", "c"], slowest).rounds == [[2, 7], [1]]
    with pytest.raises(InvalidRun, match="for 1 console requests"):
        slowest_of_each(Latencies("total", [[10, 20]]), ["a", "d"], slowest)


# Overload


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
