"""A single wrong response makes a run invalid."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import msgspec
import pytest
from bench.measurements import InvalidRun
from bench.openstack.lab_console import VerifiedRequest
from bench.raw_http import get_api_request, verify_responses
from bench.scale.constant_rate import Request, send
from bench.scale.overload import check
from bench.wrk import Workload, WrkCounts, check_counts, parse_counts
from cluster.load_generator import LoadResult, Response

from bench import wrk
from tests.backends.openstack.fake_cloud import FakeCloud, Reply

Respond = Callable[[int], tuple[int, bytes]]
"""Maps the number of a request to status and body."""


@contextmanager
def stub_server(respond: Respond) -> Iterator[int]:
    """Serve scripted responses on the returned port."""
    numbers = count(1)
    with FakeCloud() as server:
        server.respond("GET", "/api/", lambda _: Reply(*respond(next(numbers))))
        yield int(server.address.rpartition(":")[2])


BODY = b'{"code":200}'
COUNTS = WrkCounts(1000, 2_000_000, 12_000, 0, 0, 0, 0, 0, 0, {}, "")

needs_wrk = pytest.mark.skipif(
    shutil.which("wrk") is None and os.environ.get("CI") != "true", reason="wrk is not installed"
)


def wrong_status_once(number: int) -> tuple[int, bytes]:
    return (401, BODY) if number == 5 else (200, BODY)


def wrong_body_once(number: int) -> tuple[int, bytes]:
    return 200, b'{"code":201}' if number == 5 else BODY


BOTH = pytest.mark.parametrize("respond", [wrong_status_once, wrong_body_once])


def test_counts_are_parsed() -> None:
    assert parse_counts("1000\n2000000\n12000\n0\n0\n0\n0\n0\n0\n\n") == COUNTS
    assert COUNTS.rate == 500
    assert parse_counts("1\n2\n3\n4\n5\n0\n0\n0\n0\n8100:500:50012 \n500 a\nb").slices[8100].requests == 500


@pytest.mark.parametrize("count", ["wrong", "status", "connect", "read", "write", "timeout", "requests"])
def test_a_run_with_an_error_or_without_responses_is_invalid(count: str) -> None:
    check_counts(COUNTS)
    with pytest.raises(InvalidRun):
        check_counts(msgspec.structs.replace(COUNTS, **{count: 0 if count == "requests" else 1}))


@needs_wrk
@BOTH
def test_wrk_reports_one_wrong_response_among_many(respond: Respond) -> None:
    with stub_server(respond) as port, pytest.raises(InvalidRun, match=r"1 wrong responses, the first: [24]0"):
        wrk.run(Workload(get_api_request(), BODY), port, seconds=1, core=None)


@needs_wrk
def test_wrk_reports_a_response_of_another_tenant(tmp_path: Path) -> None:
    cookies = tmp_path / "cookies"
    cookies.write_text("".join(f"s{number} t{number} {number}\n" for number in range(1000, 2000)))
    mixed_up = Workload(get_api_request(), b'{"number":{number}}', cookies)
    with stub_server(lambda _: (200, b'{"number":1500}')) as port, pytest.raises(InvalidRun, match="wrong responses"):
        wrk.run(mixed_up, port, seconds=1, core=None)


@BOTH
def test_responses_between_rounds_and_of_single_requests_are_verified(respond: Respond) -> None:
    with stub_server(respond) as port, pytest.raises(InvalidRun, match="wrong response"):
        verify_responses(port, get_api_request(), BODY, times=9)
    with stub_server(respond) as port, closing(VerifiedRequest(port, get_api_request())) as request:
        for _ in range(3):
            request.send()
        with pytest.raises(InvalidRun, match=r"is 401|has changed"):
            request.send()


def test_one_wrong_response_makes_a_constant_rate_load_invalid() -> None:
    request = Request("one", get_api_request())
    with stub_server(lambda _: (200, BODY)) as port:
        assert send(port, [request] * 20, rate=1000)[0] == {"one": 20}
    with stub_server(wrong_status_once) as port, pytest.raises(InvalidRun, match=r"unexpected response .*401"):
        send(port, [request] * 20, rate=1000)


@pytest.mark.parametrize("case", [(200, 1, 0, 0), (200, 0, 1, 0), (500, 0, 0, 0), (429, 0, 0, 0), (503, 0, 0, 1)])
def test_an_overload_with_a_wrong_response_is_invalid(case: tuple[int, int, int, int]) -> None:
    check(LoadResult([Response(100, 0.001, 200), Response(100, 0.001, 503)], 0, 0, 0, 0))
    with pytest.raises(InvalidRun):
        check(LoadResult([Response(100, 0.001, case[0])], 0, *case[1:]))
