"""Interleaved time slices."""

import itertools
import os
import threading

import pytest
from bench.measurements import InvalidRun
from bench.raw_http import get_api_request
from bench.rounds import RunLength, Variant, measure
from bench.servers import Server
from bench.time_slices import UNSLICED, SliceSchedule, TimeSlice, parse_slices, sliced_rates
from bench.wrk import Workload, WrkProcess

from tests.bench.markers import needs_wrk
from tests.bench.stub_server import Respond, stub_server

BODY = b'{"code":200}'


def at_rate(rate: int) -> TimeSlice:
    return TimeSlice(rate // 20, 50_000)


def test_slices_are_parsed() -> None:
    assert parse_slices("8100:500:50012 8101:480:50100 ") == {
        8100: TimeSlice(500, 50_012),
        8101: TimeSlice(480, 50_100),
    }
    assert parse_slices("") == {}
    assert TimeSlice(500, 50_000).rate == 10_000


def test_a_run_lasts_for_all_slices_and_pauses() -> None:
    assert UNSLICED.total_seconds(3) == 3
    assert SliceSchedule(1, 4).total_seconds(1) == 5
    assert str(SliceSchedule(1, 4)) == "1 4 50000 5000"


def test_slow_cycles_are_ignored_for_all_variants() -> None:
    console = {1: at_rate(10_000), 2: at_rate(4_000), 3: at_rate(10_000), 4: at_rate(3_000)}
    bare = {1: at_rate(20_000), 2: at_rate(16_000), 3: at_rate(20_000), 4: at_rate(5_000)}
    assert sliced_rates([console, bare]) == [10_000, 20_000]


def test_fast_and_slow_variants_have_the_same_weight() -> None:
    console = {1: at_rate(10_000), 2: at_rate(2_000)}
    nginx = {1: at_rate(90_000), 2: at_rate(100_000)}
    assert sliced_rates([console, nginx]) == [10_000, 90_000]


def test_cycles_without_a_slice_of_every_variant_are_ignored() -> None:
    assert sliced_rates([{1: at_rate(10_000), 2: at_rate(20_000)}, {1: at_rate(40_000)}]) == [10_000, 40_000]


@pytest.mark.parametrize("other", [{}, {2: at_rate(10_000)}, {1: at_rate(0)}])
def test_a_run_without_a_common_cycle_is_invalid(other: dict[int, TimeSlice]) -> None:
    with pytest.raises(InvalidRun, match="no cycle"):
        sliced_rates([{1: at_rate(10_000)}, other])


@needs_wrk
def test_load_generators_alternate() -> None:
    order: list[str] = []
    lock = threading.Lock()

    def recording(name: str) -> Respond:
        def respond(_number: int) -> tuple[int, bytes]:
            with lock:
                order.append(name)
            return 200, BODY

        return respond

    with stub_server(recording("a")) as a, stub_server(recording("b")) as b:
        workload = Workload(get_api_request(), BODY)
        running = [
            WrkProcess(workload, port, seconds=1, core=None, schedule=SliceSchedule(index, 2))
            for index, port in enumerate((a, b))
        ]
        counted = [each.wait() for each in running]
    assert all(rate > 0 for rate in sliced_rates([counts.slices for counts in counted]))
    stretches = [len(list(same)) for _, same in itertools.groupby(order)]
    # Each stretch is a slice; concurrent load generators would alternate from request to request.
    assert sum(stretches) / len(stretches) > 10, stretches


@needs_wrk
def test_variants_can_be_measured_in_slices() -> None:
    with stub_server(lambda _: (200, BODY)) as port:
        a, b, c = (
            Variant(name, Server(name, port, os.getpid()), Workload(get_api_request(), BODY), core=None)
            for name in "abc"
        )
        measured = measure([(a, b), c], RunLength(1, 1))
    assert list(measured) == ["a", "b", "c"]
    for each in measured.values():
        assert len(each.rounds) == len(each.cpu_us) == 1
        assert min(each.rounds) > 0


@needs_wrk
def test_a_wrong_response_is_reported_with_its_variant() -> None:
    with stub_server(lambda _: (200, BODY)) as right, stub_server(lambda n: (200 if n < 100 else 401, BODY)) as wrong:
        a, b = (
            Variant(name, Server(name, port, os.getpid()), Workload(get_api_request(), BODY), core=None)
            for name, port in (("a", right), ("b", wrong))
        )
        with pytest.raises(InvalidRun, match=r"^b: .*wrong responses, the first: 401"):
            measure([(a, b)], RunLength(1, 1))
