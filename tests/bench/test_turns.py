"""Loads that have the machine in turns."""

import itertools
import os
import threading

import pytest
from bench.client import opening_request
from bench.figures import Refused
from bench.load import Load, Running
from bench.rounds import Pace, Variant, measure
from bench.servers import Server
from bench.turns import ALONE, Turn, Turns, parse_turns, rates_of

from tests.bench.needs import needs_wrk
from tests.bench.serving import Answer, answering

RIGHT = b'{"code":200}'


def turn(rate: int) -> Turn:
    return Turn(rate // 20, 50_000)


def test_what_the_load_wrote_of_its_turns_is_read_back() -> None:
    assert parse_turns("8100:500:50012 8101:480:50100 ") == {8100: Turn(500, 50_012), 8101: Turn(480, 50_100)}
    assert parse_turns("") == {}
    assert Turn(500, 50_000).rate == 10_000


def test_a_run_is_as_long_as_all_turns_and_pauses_of_it() -> None:
    assert ALONE.whole(3) == 3
    assert Turns(1, 4).whole(1) == 5
    assert str(Turns(1, 4)) == "1 4 50000 5000"


def test_cycles_in_which_the_machine_was_slow_count_for_nobody() -> None:
    console = {1: turn(10_000), 2: turn(4_000), 3: turn(10_000), 4: turn(3_000)}
    bare = {1: turn(20_000), 2: turn(16_000), 3: turn(20_000), 4: turn(5_000)}
    assert rates_of([console, bare]) == [10_000, 20_000]


def test_whoever_is_fast_has_no_more_say_in_which_cycles_count() -> None:
    console = {1: turn(10_000), 2: turn(2_000)}
    nginx = {1: turn(90_000), 2: turn(100_000)}
    assert rates_of([console, nginx]) == [10_000, 90_000]


def test_only_cycles_count_that_all_had_a_turn_in() -> None:
    assert rates_of([{1: turn(10_000), 2: turn(20_000)}, {1: turn(40_000)}]) == [10_000, 40_000]


@pytest.mark.parametrize("other", [{}, {2: turn(10_000)}, {1: turn(0)}])
def test_without_a_cycle_in_which_all_were_answered_there_is_no_figure(other: dict[int, Turn]) -> None:
    with pytest.raises(Refused, match="no cycle"):
        rates_of([{1: turn(10_000)}, other])


@needs_wrk
def test_one_load_rests_while_another_has_its_turn() -> None:
    order: list[str] = []
    lock = threading.Lock()

    def noting(name: str) -> Answer:
        def answer(_number: int) -> tuple[int, bytes]:
            with lock:
                order.append(name)
            return 200, RIGHT

        return answer

    with answering(noting("a")) as a, answering(noting("b")) as b:
        load = Load(opening_request(), RIGHT)
        running = [Running(load, port, seconds=1, core=None, turns=Turns(at, 2)) for at, port in enumerate((a, b))]
        counted = [each.counts() for each in running]
    assert all(rate > 0 for rate in rates_of([counts.turns for counts in counted]))
    stretches = [len(list(same)) for _, same in itertools.groupby(order)]
    # Each stretch is a turn; at the same time they would alternate from call to call.
    assert sum(stretches) / len(stretches) > 10, stretches


@needs_wrk
def test_variants_may_be_measured_together() -> None:
    with answering(lambda _: (200, RIGHT)) as port:
        a, b, c = (
            Variant(name, Server(name, port, os.getpid()), Load(opening_request(), RIGHT), core=None) for name in "abc"
        )
        measured = measure([(a, b), c], Pace(1, 1))
    assert list(measured) == ["a", "b", "c"]
    for each in measured.values():
        assert len(each.rounds) == len(each.cpu) == 1
        assert min(each.rounds) > 0


@needs_wrk
def test_a_wrong_answer_is_told_with_its_variant() -> None:
    with answering(lambda _: (200, RIGHT)) as right, answering(lambda n: (200 if n < 100 else 401, RIGHT)) as wrong:
        a, b = (
            Variant(name, Server(name, port, os.getpid()), Load(opening_request(), RIGHT), core=None)
            for name, port in (("a", right), ("b", wrong))
        )
        with pytest.raises(Refused, match=r"^b: .*wrong answers, the first: 401"):
            measure([(a, b)], Pace(1, 1))
