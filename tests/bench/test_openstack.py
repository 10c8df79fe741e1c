"""Latency of single requests, and OpenStack request times from the log of the console."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from bench.measurements import InvalidRun, Latencies
from bench.openstack.lab_console import VerifiedRequest, open_lab
from bench.openstack.latency import TimedCall, measure_alternately, measure_in_blocks
from bench.openstack.overhead import slowest_of_each
from bench.openstack.upstream_timings import LOGGER, slowest_upstream_requests
from bench.raw_http import get_api_request, service_request
from bench.rounds import RunLength

from tests.bench.stub_server import stub_server

LENGTH = RunLength(rounds=3, seconds=0)

Measure = Callable[[list[TimedCall], RunLength], dict[str, Latencies]]


def test_in_blocks_every_variant_is_prepared_and_called_in_every_round() -> None:
    done: list[str] = []
    variants = [
        TimedCall(name, lambda name=name: done.append(name), lambda name=name: done.append(f"prepare {name}"))  # type: ignore[misc]
        for name in ("a", "b")
    ]
    latencies = measure_in_blocks(variants, LENGTH)
    assert [len(each) for each in latencies["a"].rounds] == [1, 1, 1]
    assert sorted(done) == ["a"] * 4 + ["b"] * 4 + ["prepare a"] * 4 + ["prepare b"] * 4


def test_alternating_calls_each_variant_once_per_cycle() -> None:
    done: list[str] = []
    variants = [TimedCall(name, lambda name=name: done.append(name)) for name in ("a", "b", "c")]  # type: ignore[misc]
    latencies = measure_alternately(variants, LENGTH)
    cycles = [done[start : start + 3] for start in range(0, len(done), 3)]
    assert all(sorted(cycle) == ["a", "b", "c"] for cycle in cycles)
    assert [len(each) for each in latencies["b"].rounds] == [1, 1, 1]


@pytest.mark.parametrize("measure", [measure_in_blocks, measure_alternately])
def test_a_wrong_response_aborts_the_run_and_names_the_variant(measure: Measure) -> None:
    def wrong() -> None:
        raise InvalidRun("no")

    with pytest.raises(InvalidRun, match="some: no"):
        measure([TimedCall("some", wrong)], LENGTH)


def test_a_changed_response_is_invalid() -> None:
    with stub_server(lambda number: (200, b"other" if number == 3 else b"same")) as port:
        request = VerifiedRequest(port, get_api_request())
        assert request.send().body == b"same"
        with pytest.raises(InvalidRun, match="has changed"):
            request.send()
        request.close()


def test_a_closed_connection_is_opened_again() -> None:
    with stub_server(lambda _: (200, b"same")) as port, closing(VerifiedRequest(port, get_api_request())) as request:
        request.close()
        request.reconnect()
        assert request.send().body == b"same"


@pytest.mark.parametrize("failing", [1, 2])
def test_an_error_response_is_invalid(failing: int) -> None:
    def respond(number: int) -> tuple[int, bytes]:
        return (502, b"the cloud is away") if number == failing else (200, b"")

    with (
        stub_server(respond) as port,
        pytest.raises(InvalidRun, match=r"502.*away"),
        closing(VerifiedRequest(port, service_request("/limits", "secret"))) as request,
    ):
        request.send()


@pytest.mark.parametrize(("percent", "value"), [(50, 2), (99, 4), (1, 1)])
def test_a_percentile_is_a_measured_value(percent: int, value: float) -> None:
    assert Latencies("some", [[4, 1], [3, 2]]).percentile(percent) == value


def test_no_values_have_no_percentile() -> None:
    with pytest.raises(InvalidRun, match="no requests"):
        Latencies("some", [[]]).percentile(50)


def test_latencies_are_compared_by_the_median_of_each_round() -> None:
    assert Latencies("some", [[1, 2, 9], [4]]).medians.rounds == [2, 4]


def test_the_slowest_openstack_request_is_read_from_the_log() -> None:
    upstream = f'{{"logger":"{LOGGER}"'
    log = f"""Serving at http://127.0.0.1
{upstream},"request_id":"one","message":"sent","ms":3.5}}
{upstream},"request_id":"two","message":"sent","ms":9}}
{upstream},"request_id":"one","message":"sent","ms":7.25}}
{upstream},"request_id":"two","message":"a service failed"}}
{{"logger":"cloudconsole.other","request_id":"one","message":"other","ms":100}}
"""
    assert slowest_upstream_requests(log.encode()) == {"one": 7.25, "two": 9}


def test_the_slowest_openstack_request_is_assigned_to_its_console_request() -> None:
    total = Latencies("total", [[10, 20], [30]])
    assert slowest_of_each(total, ["a", "b", "c"], {"c": 3, "b": 2, "a": 1}).rounds == [[1, 2], [3]]


def test_a_console_request_without_log_lines_is_invalid() -> None:
    with pytest.raises(InvalidRun, match="for 1 console requests"):
        slowest_of_each(Latencies("total", [[10, 20]]), ["a", "b"], {"a": 1})


def test_a_lab_is_required(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LAB", raising=False)
    with pytest.raises(InvalidRun, match="make bench-openstack"):
        open_lab()
    monkeypatch.setenv("LAB", str(tmp_path))
    with pytest.raises(InvalidRun, match="no lab is running"):
        open_lab()
