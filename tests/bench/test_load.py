"""A run with a single wrong answer is refused."""

from pathlib import Path

import msgspec
import pytest
from bench.client import ask, check, log_in, opening_request, right_body
from bench.figures import Refused
from bench.load import Counts, Load, check_counts, parse_counts

from bench import load
from tests.bench.needs import needs_wrk
from tests.bench.serving import Answer, answering

RIGHT = b'{"code":200}'
COUNTS = Counts(1000, 2_000_000, 12_000, 0, 0, 0, 0, 0, 0, {}, "")


def right(_number: int) -> tuple[int, bytes]:
    return 200, RIGHT


def refused_once(number: int) -> tuple[int, bytes]:
    return (401, RIGHT) if number == 50 else (200, RIGHT)


def wrong_once(number: int) -> tuple[int, bytes]:
    return 200, b'{"code":201}' if number == 50 else RIGHT


def test_what_wrk_counted_is_read_back() -> None:
    text = "1000\n2000000\n12000\n0\n0\n0\n0\n0\n0\n\n"
    assert parse_counts(text) == COUNTS
    assert COUNTS.rate == 500


def test_a_wrong_answer_with_line_breaks_is_read_back_whole() -> None:
    assert parse_counts("1\n2\n3\n4\n5\n0\n0\n0\n0\n\n500 a\nb").first_wrong == "500 a\nb"


def test_a_run_without_errors_is_taken() -> None:
    check_counts(COUNTS)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"wrong": 1, "first_wrong": "200 nonsense"}, "1 wrong answers, the first: 200 nonsense"),
        ({"status": 3}, "3 wrong answers"),
        ({"connect": 1}, "connect 1"),
        ({"read": 2}, "read 2"),
        ({"write": 1}, "write 1"),
        ({"timeout": 1}, "timeout 1"),
        ({"requests": 0}, "nothing was answered"),
    ],
)
def test_a_run_with_an_error_is_refused(change: dict[str, int], told: str) -> None:
    with pytest.raises(Refused, match=told):
        check_counts(msgspec.structs.replace(COUNTS, **change))


@needs_wrk
def test_right_answers_are_counted() -> None:
    with answering(right) as port:
        assert load.run(Load(opening_request(), RIGHT), port, seconds=1, core=None).requests > 0


@needs_wrk
@pytest.mark.parametrize(("answer", "told"), [(refused_once, "the first: 401"), (wrong_once, "the first: 200 ")])
def test_one_wrong_answer_among_many_refuses_the_run(answer: Answer, told: str) -> None:
    with answering(answer) as port, pytest.raises(Refused, match=f"1 wrong answers, {told}"):
        load.run(Load(opening_request(), RIGHT), port, seconds=1, core=None)


@needs_wrk
def test_nobody_listening_refuses_the_run() -> None:
    with answering(right) as port:
        pass
    with pytest.raises(Refused):
        load.run(Load(opening_request(), RIGHT), port, seconds=1, core=None)


@pytest.fixture
def callers(tmp_path: Path) -> Path:
    file = tmp_path / "callers"
    file.write_text("".join(f"s{number} t{number} {number}\n" for number in range(1000, 2000)))
    return file


@needs_wrk
def test_an_answer_that_is_no_waiting_callers_refuses_the_run(callers: Path) -> None:
    mixed_up = Load(opening_request(), b'{"number":{number}}', callers)
    with answering(lambda _: (200, b'{"number":1500}')) as port, pytest.raises(Refused, match="wrong answers"):
        load.run(mixed_up, port, seconds=1, core=None)


@pytest.mark.parametrize("answer", [refused_once, wrong_once])
def test_the_check_between_rounds_sees_a_wrong_answer(answer: Answer) -> None:
    with answering(answer) as port, pytest.raises(Refused, match="a wrong answer"):
        check(port, opening_request(), RIGHT, times=60)


def test_the_first_answer_must_be_right_for_there_to_be_a_reference() -> None:
    with answering(lambda _: (401, b"who are you?")) as port, pytest.raises(Refused, match=r"401.*who are you"):
        right_body(port, opening_request())


def test_an_answer_is_read_whole() -> None:
    large = b"x" * 200_000
    with answering(lambda _: (200, large)) as port:
        assert ask(port, opening_request()).body == large


def test_a_server_that_gives_no_cookies_is_refused() -> None:
    with answering(right) as port, pytest.raises(Refused, match="no cookie sessionid"):
        log_in(port, "demo", "secret")
