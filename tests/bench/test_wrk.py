"""The load generator: a single wrong response makes a run invalid."""

from pathlib import Path

import msgspec
import pytest
from bench.measurements import InvalidRun
from bench.raw_http import expected_body, fetch, get_api_request, login, verify_responses
from bench.wrk import Workload, WrkCounts, check_counts, parse_counts

from bench import wrk
from tests.bench.markers import needs_wrk
from tests.bench.stub_server import Respond, stub_server

BODY = b'{"code":200}'
COUNTS = WrkCounts(1000, 2_000_000, 12_000, 0, 0, 0, 0, 0, 0, {}, "")


def right(_number: int) -> tuple[int, bytes]:
    return 200, BODY


def wrong_status_once(number: int) -> tuple[int, bytes]:
    return (401, BODY) if number == 50 else (200, BODY)


def wrong_body_once(number: int) -> tuple[int, bytes]:
    return 200, b'{"code":201}' if number == 50 else BODY


def test_counts_are_parsed() -> None:
    text = "1000\n2000000\n12000\n0\n0\n0\n0\n0\n0\n\n"
    assert parse_counts(text) == COUNTS
    assert COUNTS.rate == 500


def test_a_wrong_response_with_line_breaks_is_parsed_completely() -> None:
    assert parse_counts("1\n2\n3\n4\n5\n0\n0\n0\n0\n\n500 a\nb").first_wrong == "500 a\nb"


def test_a_run_without_errors_is_valid() -> None:
    check_counts(COUNTS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"wrong": 1, "first_wrong": "200 nonsense"}, "1 wrong responses, the first: 200 nonsense"),
        ({"status": 3}, "3 wrong responses"),
        ({"connect": 1}, "connect 1"),
        ({"read": 2}, "read 2"),
        ({"write": 1}, "write 1"),
        ({"timeout": 1}, "timeout 1"),
        ({"requests": 0}, "no responses were received"),
    ],
)
def test_a_run_with_an_error_is_invalid(change: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidRun, match=message):
        check_counts(msgspec.structs.replace(COUNTS, **change))


@needs_wrk
def test_right_responses_are_counted() -> None:
    with stub_server(right) as port:
        assert wrk.run(Workload(get_api_request(), BODY), port, seconds=1, core=None).requests > 0


@needs_wrk
@pytest.mark.parametrize(
    ("respond", "message"), [(wrong_status_once, "the first: 401"), (wrong_body_once, "the first: 200 ")]
)
def test_one_wrong_response_among_many_makes_the_run_invalid(respond: Respond, message: str) -> None:
    with stub_server(respond) as port, pytest.raises(InvalidRun, match=f"1 wrong responses, {message}"):
        wrk.run(Workload(get_api_request(), BODY), port, seconds=1, core=None)


@needs_wrk
def test_a_closed_port_makes_the_run_invalid() -> None:
    with stub_server(right) as port:
        pass
    with pytest.raises(InvalidRun):
        wrk.run(Workload(get_api_request(), BODY), port, seconds=1, core=None)


@pytest.fixture
def cookies_file(tmp_path: Path) -> Path:
    file = tmp_path / "cookies"
    file.write_text("".join(f"s{number} t{number} {number}\n" for number in range(1000, 2000)))
    return file


@needs_wrk
def test_a_response_of_another_tenant_makes_the_run_invalid(cookies_file: Path) -> None:
    mixed_up = Workload(get_api_request(), b'{"number":{number}}', cookies_file)
    with stub_server(lambda _: (200, b'{"number":1500}')) as port, pytest.raises(InvalidRun, match="wrong responses"):
        wrk.run(mixed_up, port, seconds=1, core=None)


@pytest.mark.parametrize("respond", [wrong_status_once, wrong_body_once])
def test_the_verification_between_rounds_detects_a_wrong_response(respond: Respond) -> None:
    with stub_server(respond) as port, pytest.raises(InvalidRun, match="wrong response"):
        verify_responses(port, get_api_request(), BODY, times=60)


def test_the_expected_body_is_from_a_200_response() -> None:
    with stub_server(lambda _: (401, b"who are you?")) as port, pytest.raises(InvalidRun, match=r"401.*who are you"):
        expected_body(port, get_api_request())


def test_a_large_response_is_read_completely() -> None:
    large = b"x" * 200_000
    with stub_server(lambda _: (200, large)) as port:
        assert fetch(port, get_api_request()).body == large


def test_a_login_without_cookies_is_invalid() -> None:
    with stub_server(right) as port, pytest.raises(InvalidRun, match="no cookie sessionid"):
        login(port, "demo", "secret")
