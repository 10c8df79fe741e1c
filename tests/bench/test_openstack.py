"""Single calls timed, and what a console before a cloud tells of its own."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from bench.client import opening_request, upstream_request
from bench.figures import Refused, Times
from bench.openstack.guests import Asker, open_lab
from bench.openstack.timing import Timed, by_turns, in_blocks
from bench.openstack.told import slowest_calls
from bench.openstack.waiting import within
from bench.rounds import Pace

from tests.bench.serving import answering

PACE = Pace(rounds=3, seconds=0)

Measure = Callable[[list[Timed], Pace], dict[str, Times]]


def test_in_blocks_every_variant_is_prepared_and_called_in_every_round() -> None:
    done: list[str] = []
    variants = [
        Timed(name, lambda name=name: done.append(name), lambda name=name: done.append(f"before {name}"))  # type: ignore[misc]
        for name in ("a", "b")
    ]
    times = in_blocks(variants, PACE)
    assert [len(each) for each in times["a"].rounds] == [1, 1, 1]
    assert sorted(done) == ["a"] * 4 + ["b"] * 4 + ["before a"] * 4 + ["before b"] * 4


def test_by_turns_no_variant_is_called_twice_in_a_row_within_a_turn() -> None:
    done: list[str] = []
    variants = [Timed(name, lambda name=name: done.append(name)) for name in ("a", "b", "c")]  # type: ignore[misc]
    times = by_turns(variants, PACE)
    turns = [done[start : start + 3] for start in range(0, len(done), 3)]
    assert all(sorted(turn) == ["a", "b", "c"] for turn in turns)
    assert [len(each) for each in times["b"].rounds] == [1, 1, 1]


@pytest.mark.parametrize("measure", [in_blocks, by_turns])
def test_a_wrong_answer_ends_the_run_and_is_told_by_its_variant(measure: Measure) -> None:
    def wrong() -> None:
        raise Refused("no")

    with pytest.raises(Refused, match="some: no"):
        measure([Timed("some", wrong)], PACE)


def test_an_answer_unlike_the_first_is_refused() -> None:
    with answering(lambda number: (200, b"other" if number == 3 else b"same")) as port:
        asker = Asker(port, opening_request())
        assert asker.ask().body == b"same"
        with pytest.raises(Refused, match="another answer"):
            asker.ask()
        asker.close()


def test_a_connection_that_was_closed_meanwhile_is_opened_again_at_the_beginning() -> None:
    with answering(lambda _: (200, b"same")) as port, closing(Asker(port, opening_request())) as asker:
        asker.close()
        asker.begin()
        assert asker.ask().body == b"same"


@pytest.mark.parametrize("failing", [1, 2])
def test_an_answer_that_is_no_success_is_refused(failing: int) -> None:
    def answer(number: int) -> tuple[int, bytes]:
        return (502, b"the cloud is away") if number == failing else (200, b"")

    with (
        answering(answer) as port,
        pytest.raises(Refused, match=r"502.*away"),
        closing(Asker(port, upstream_request("/limits", "secret"))) as asker,
    ):
        asker.ask()


@pytest.mark.parametrize(("percent", "value"), [(50, 2), (99, 4), (1, 1)])
def test_a_percentile_is_one_of_the_calls(percent: int, value: float) -> None:
    assert Times("some", [[4, 1], [3, 2]]).percentile(percent) == value


def test_of_no_call_there_is_no_percentile() -> None:
    with pytest.raises(Refused, match="no call"):
        Times("some", [[]]).percentile(50)


def test_times_are_compared_by_the_median_of_each_round() -> None:
    assert Times("some", [[1, 2, 9], [4]]).middles.rounds == [2, 4]


def test_the_slowest_call_of_each_request_is_found_in_the_log() -> None:
    log = b"""Serving at http://127.0.0.1
{"logger":"cloudconsole.backends.openstack.client","request_id":"one","message":"asked","ms":3.5}
{"logger":"cloudconsole.backends.openstack.client","request_id":"two","message":"asked","ms":9}
{"logger":"cloudconsole.backends.openstack.client","request_id":"one","message":"asked","ms":7.25}
{"logger":"cloudconsole.backends.openstack.client","request_id":"two","message":"a service failed"}
{"logger":"cloudconsole.other","request_id":"one","message":"other","ms":100}
"""
    assert slowest_calls(log) == {"one": 7.25, "two": 9}


def test_what_a_request_waited_for_stands_where_its_whole_time_does() -> None:
    whole = Times("whole", [[10, 20], [30]])
    assert within(whole, ["a", "b", "c"], {"c": 3, "b": 2, "a": 1}).rounds == [[1, 2], [3]]


def test_a_request_that_the_console_tells_nothing_of_is_refused() -> None:
    with pytest.raises(Refused, match="for 1 requests"):
        within(Times("whole", [[10, 20]]), ["a", "b"], {"a": 1})


def test_without_a_lab_nothing_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LAB", raising=False)
    with pytest.raises(Refused, match="make bench-openstack"):
        open_lab()
    monkeypatch.setenv("LAB", str(tmp_path))
    with pytest.raises(Refused, match="no lab is ready"):
        open_lab()
