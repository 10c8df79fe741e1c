"""Log formats, JSON that always parses and pretty lines that cannot be forged; the journal; rate limits."""

import io
import json
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudconsole.server.config.settings import Settings
from cloudconsole.server.logging import (
    RATE_LIMIT_SECONDS,
    JournalFormat,
    JsonFormat,
    PrettyFormat,
    RateLimiter,
    RateLimitFilter,
    configure_logging,
    current_request_id,
    is_journal,
)
from tests.harness import FakeClock

ODD = 'a\nb\rc\x00\x1b[31m\x7f\x85\x9b\u2028\u2029\u202e\udc80é云\t"'

SPACES = str.maketrans(dict.fromkeys("\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B))), " "))


def is_visible(line: str) -> bool:
    """Whether a line has no hidden characters; spaces of any width are allowed."""
    return line.translate(SPACES).isprintable()


def record(text: str, *args: Any, error: bool = False, level: int = logging.INFO, **fields: Any) -> logging.LogRecord:
    exc_info = None
    if error:
        try:
            raise RuntimeError(text)
        except RuntimeError:
            exc_info = sys.exc_info()
    log_record = logging.LogRecord("cloudconsole.tests", level, __file__, 1, text, args, exc_info)
    if fields:
        log_record.fields = fields
    return log_record


def as_json(log_record: logging.LogRecord) -> dict[str, Any]:
    line = JsonFormat().format(log_record)
    assert line.splitlines() == [line]
    assert is_visible(line)
    parsed = json.loads(line)
    assert isinstance(parsed, dict)
    return parsed


def test_json_line_has_every_field() -> None:
    fields: dict[str, Any] = {"user": "demo", "status": 200, "duration_ms": 0.25, "nothing": None}
    token = current_request_id.set("request-7")
    try:
        line = as_json(record("a %s", "message", **fields, odd=b"x"))
    finally:
        current_request_id.reset(token)
    moment = line.pop("time")
    assert moment.endswith("Z")
    assert len(moment) == len("2026-01-01T00:00:00.000Z")
    assert datetime.fromisoformat(moment).tzinfo is not None
    assert line == {
        "level": "info",
        "logger": "cloudconsole.tests",
        "message": "a message",
        "request_id": "request-7",
        "process": os.getpid(),
        **fields,
        "odd": "b'x'",
    }


def test_an_exception_is_one_field() -> None:
    line = as_json(record("it broke", error=True))
    assert line["exception"].startswith("Traceback (most recent call last):\n")
    assert line["exception"].endswith("RuntimeError: it broke")


@given(st.one_of(st.text(), st.just(ODD)))
def test_any_text_makes_one_json_line_and_is_preserved(text: str) -> None:
    line = as_json(record("%s", text, path=text))
    assert line["message"] == line["path"] == text.replace("\udc80", "\\udc80")


@pytest.mark.parametrize("coloured", [True, False])
@given(text=st.one_of(st.text(), st.just(ODD)))
def test_any_text_stays_on_one_pretty_line(coloured: bool, text: str) -> None:
    line = PrettyFormat(coloured=coloured).format(record("%s", text))
    assert line.splitlines() == [line]
    message = line.partition("cloudconsole.tests:")[2].removeprefix("\x1b[0m")
    assert is_visible(message)


def test_exception_text_cannot_forge_a_log_line() -> None:
    forged = "2026-01-01T00:00:00.000Z INFO 1 - cloudconsole.audit: login of admin"
    lines = PrettyFormat(coloured=False).format(record(f"x\n{forged}\x1b[1A", error=True)).splitlines()
    assert not any(line.startswith("2026-01-01") for line in lines)
    assert all(line.startswith("    ") for line in lines[1:])
    assert all(line.isprintable() for line in lines)


def test_a_pretty_line_is_plain_without_colours() -> None:
    line = PrettyFormat(coloured=False).format(record("hello"))
    assert line.endswith(f"Z INFO {os.getpid()} - cloudconsole.tests: hello")
    assert "\x1b[32mINFO\x1b[0m" in PrettyFormat(coloured=True).format(record("hello"))


@pytest.mark.parametrize(
    ("log_format", "on_terminal", "no_color", "is_json", "is_coloured"),
    [
        ("auto", True, "", False, True),
        ("auto", True, "1", False, False),
        ("auto", False, "", True, False),
        ("pretty", False, "", False, False),
        ("json", True, "", True, False),
    ],
)
def test_log_format_depends_on_setting_and_terminal(
    monkeypatch: pytest.MonkeyPatch, log_format: str, on_terminal: bool, no_color: str, is_json: bool, is_coloured: bool
) -> None:
    root, written = logging.getLogger(), io.BytesIO()
    for name in ("handlers", "level"):
        monkeypatch.setattr(root, name, getattr(root, name))
    stream = io.TextIOWrapper(written, encoding="ascii")
    monkeypatch.setattr(stream, "isatty", lambda: on_terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("NO_COLOR", no_color)
    configure_logging(Settings(log_format=log_format))
    logging.getLogger("cloudconsole.tests").info("云")
    stream.flush()
    line = written.getvalue().decode()
    # JSON is UTF-8 regardless of the locale.
    assert json.loads(line)["message"] == "云" if is_json else r"\u4e91" in line
    assert ("\x1b[" in line) == is_coloured


def stream_id(descriptor: int) -> str:
    status = os.fstat(descriptor)
    return f"{status.st_dev}:{status.st_ino}"


def test_only_the_stream_named_by_systemd_is_the_journal(tmp_path: Path) -> None:
    journal, ours = socket.socketpair()
    with journal, ours, ours.makefile("w") as stream, (tmp_path / "file").open("w") as redirected:
        environment = {"JOURNAL_STREAM": stream_id(ours.fileno())}
        assert is_journal(stream, environment)
        assert not is_journal(redirected, environment)
        assert not is_journal(stream, {})
    assert not is_journal(stream, environment)


@pytest.mark.parametrize(
    ("level", "priority"),
    [(logging.DEBUG, 7), (logging.INFO, 6), (logging.WARNING, 4), (logging.ERROR, 3), (logging.CRITICAL, 2)],
)
def test_each_line_begins_with_its_priority(level: int, priority: int) -> None:
    failure = record("<0>failed\n<0>twice", error=True, level=level)
    lines = JournalFormat(PrettyFormat(coloured=False)).format(failure).split("\n")
    assert len(lines) > 2
    assert {line.partition(">")[0] for line in lines} == {f"<{priority}"}


@pytest.fixture
def seconds() -> FakeClock:
    return FakeClock(100.5)


@pytest.fixture
def limiter(seconds: FakeClock) -> RateLimiter[str]:
    """Allows two records of each kind in ten seconds."""
    return RateLimiter(2, 10, seconds.now)


def test_each_kind_is_limited_separately(limiter: RateLimiter[str]) -> None:
    assert [limiter.allows(kind) for kind in "aaabbab"] == [True, True, False, True, True, False, False]


def test_suppressed_records_are_reported_when_the_period_ends(limiter: RateLimiter[str], seconds: FakeClock) -> None:
    for _ in range(5):
        limiter.allows("a")
    seconds.moment += 9.9
    assert list(limiter.suppressed()) == []
    seconds.moment += 0.1
    assert list(limiter.suppressed()) == [("a", 3)]
    assert list(limiter.suppressed()) == []
    assert limiter.allows("a")


def test_each_kind_has_its_own_period(limiter: RateLimiter[str], seconds: FakeClock) -> None:
    for kind in "aaabbb":
        limiter.allows(kind)
        seconds.moment += 1
    seconds.moment += 5
    assert list(limiter.suppressed()) == [("a", 1)]
    seconds.moment += 3
    assert list(limiter.suppressed()) == [("b", 1)]


def test_kinds_are_forgotten_after_their_period(limiter: RateLimiter[str], seconds: FakeClock) -> None:
    for number in range(1000):
        list(limiter.suppressed())
        limiter.allows(str(number))
        seconds.moment += 1
    assert len(limiter._used) == len(limiter._ends_at) == 10


class CollectingHandler(logging.Handler):
    """Collect the lines that pass a rate limit."""

    def __init__(self, rate_limit: RateLimitFilter) -> None:
        super().__init__()
        self.addFilter(rate_limit)
        self.lines: list[tuple[str, str]] = []
        self.fields: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append((current_request_id.get(), record.getMessage()))
        self.fields.append(getattr(record, "fields", {}))

    @property
    def messages(self) -> list[str]:
        return [message for _, message in self.lines]


log = logging.getLogger("tests.rate_limit")


@pytest.fixture
def rate_limit(seconds: FakeClock) -> RateLimitFilter:
    return RateLimitFilter(seconds.now)


@pytest.fixture
def written(rate_limit: RateLimitFilter) -> Iterator[CollectingHandler]:
    handler = CollectingHandler(rate_limit)
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    token = current_request_id.set("call-1")
    yield handler
    current_request_id.reset(token)
    log.removeHandler(handler)
    log.setLevel(logging.NOTSET)


def fail(error: Exception) -> None:
    log.warning("unavailable: %s", error)


def test_repeated_failure_is_logged_once_and_then_counted(
    written: CollectingHandler, rate_limit: RateLimitFilter, seconds: FakeClock
) -> None:
    for number in range(1000):
        fail(OSError(f"disk {number}"))
    assert written.messages == ["unavailable: disk 0"]
    rate_limit.log_suppressed()
    assert len(written.lines) == 1
    seconds.moment += RATE_LIMIT_SECONDS
    rate_limit.log_suppressed()
    assert written.lines[1:] == [("-", "suppressed 999 more like: unavailable: disk 0")]
    assert written.fields[1] == {"event": "suppressed", "of": "unavailable: disk 0", "number": 999}
    fail(OSError("disk again"))
    assert written.messages[2:] == ["unavailable: disk again"]


def test_suppressed_count_precedes_the_next_line_or_the_end(
    written: CollectingHandler, rate_limit: RateLimitFilter, seconds: FakeClock
) -> None:
    for text in ("first", "second"):
        fail(OSError(text))
    seconds.moment += RATE_LIMIT_SECONDS
    for text in ("third", "fourth"):
        fail(OSError(text))
    rate_limit.log_suppressed(until_now=True)
    assert written.lines == [
        ("call-1", "unavailable: first"),
        ("-", "suppressed 1 more like: unavailable: first"),
        ("call-1", "unavailable: third"),
        ("-", "suppressed 1 more like: unavailable: third"),
    ]


def test_different_failures_do_not_suppress_each_other(written: CollectingHandler) -> None:
    for error in (OSError("a"), OSError("b"), ValueError("c"), OSError("d")):
        fail(error)
    for service in ("nova", "cinder", "nova"):
        log.warning("%s failed", service, extra={"service": service})
    assert written.messages == ["unavailable: a", "unavailable: c", "nova failed", "cinder failed"]


def test_exceptions_are_distinguished_by_type_and_origin(written: CollectingHandler) -> None:
    calls: list[Callable[[], object]] = [
        lambda: dict[str, str]()["x"],
        lambda: dict[str, str]()["x"],
        lambda: int("x"),
    ]
    for number in range(6):
        try:
            calls[number % 3]()
        except (KeyError, ValueError):
            log.exception("call %d failed", number)
    assert written.messages == ["call 0 failed", "call 1 failed", "call 2 failed"]


def test_info_lines_and_lines_outside_requests_are_never_suppressed(written: CollectingHandler) -> None:
    for _ in range(3):
        log.info("a call")
    token = current_request_id.set("-")
    for _ in range(3):
        log.error("a worker ended")
    current_request_id.reset(token)
    assert written.messages == ["a call"] * 3 + ["a worker ended"] * 3
