"""Log formats, request ids, rate limits per kind of message, and priorities for the systemd journal."""

import io
import logging
import os
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import IO, Any, Final, Generic, TypeVar

import msgspec

from cloudconsole.server.config.settings import Settings
from cloudconsole.spec.text_escaping import escape, escape_json

Kind = TypeVar("Kind", bound=Hashable)


class RateLimiter(Generic[Kind]):
    """Limits the lines of each kind per interval, which begins with the first; counts the suppressed ones."""

    def __init__(self, lines: int, interval: float, seconds: Callable[[], float] = time.monotonic) -> None:
        self._lines = lines
        self._interval = interval
        self._seconds = seconds
        self._used: dict[Kind, int] = {}
        self._ends_at: dict[Kind, float] = {}

    def allows(self, kind: Kind) -> bool:
        """Count a line and return whether it may be written; call `suppressed` first."""
        used = self._used.get(kind, 0)
        if not used:
            self._ends_at[kind] = self._seconds() + self._interval
        self._used[kind] = used + 1
        return used < self._lines

    def suppressed(self, *, until_now: bool = False) -> Iterator[tuple[Kind, int]]:
        """End the elapsed intervals, or all, and yield the number of suppressed lines of each kind."""
        # They have equal lengths, so they end in the order in which they began.
        while self._ends_at:
            kind, ends_at = next(iter(self._ends_at.items()))
            if not until_now and ends_at > self._seconds():
                return
            del self._ends_at[kind]
            number = self._used.pop(kind) - self._lines
            if number > 0:
                yield kind, number


ERROR_PREFIX: Final = "<3>"

_PREFIXES: Final = (
    (logging.CRITICAL, "<2>"),
    (logging.ERROR, ERROR_PREFIX),
    (logging.WARNING, "<4>"),
    (logging.INFO, "<6>"),
)
_DEBUG_PREFIX: Final = "<7>"


def is_journal(stream: IO[str], environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether a stream is connected to the journal and was not redirected."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environment.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


class JournalFormat(logging.Formatter):
    """Puts the priority before each line of another format."""

    def __init__(self, form: logging.Formatter) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        prefix = next((prefix for level, prefix in _PREFIXES if record.levelno >= level), _DEBUG_PREFIX)
        return "\n".join(prefix + line for line in self._form.format(record).split("\n"))


NO_REQUEST: Final = "-"
current_request_id: ContextVar[str] = ContextVar("current_request_id", default=NO_REQUEST)

RATE_LIMIT_SECONDS: Final = 10

_LIMITED_ELSEWHERE: Final = ("cloudconsole.audit", "cloudconsole.server.http.proxy")
_QUIET: Final = ("alembic",)
_COLOURS: Final = {"DEBUG": "2", "INFO": "32", "WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}


class JsonFormat(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": current_request_id.get(),
            "process": record.process,
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        text = msgspec.json.encode({name: _plain(value) for name, value in line.items()}).decode()
        return escape_json(text)


class PrettyFormat(logging.Formatter):
    """Human-readable lines; tracebacks are indented, so that no part of them can pass for a log line."""

    def __init__(self, *, coloured: bool) -> None:
        super().__init__()
        self._coloured = coloured

    def format(self, record: logging.LogRecord) -> str:
        level, name = record.levelname, f"{record.name}:"
        if self._coloured:
            level = f"\x1b[{_COLOURS.get(level, '0')}m{level}\x1b[0m"
            name = f"\x1b[2m{name}\x1b[0m"
        request_id, message = current_request_id.get(), escape(record.getMessage())
        lines = [f"{_moment(record)} {level} {record.process} {request_id} {name} {message}"]
        if record.exc_info:
            traceback = self.formatException(record.exc_info).splitlines()
            lines += ["    " + escape(line) for line in traceback]
        return "\n".join(lines)


class RateLimitFilter(logging.Filter):
    """Limits repeated warnings of requests: logs the first at once, and the number of others every ten seconds.

    The kind of a line is its place in the code, the exception and the upstream service, so one failure hides no other.
    """

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._rate_limiter: RateLimiter[Hashable] = RateLimiter(1, RATE_LIMIT_SECONDS, seconds)
        self._written: dict[Hashable, tuple[str, int, str]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        is_exempt = record.levelno < logging.WARNING or record.name in _LIMITED_ELSEWHERE
        if is_exempt or current_request_id.get() == NO_REQUEST:
            return True
        self.log_suppressed()
        kind = _kind(record)
        is_first = self._rate_limiter.allows(kind)
        if is_first:
            self._written[kind] = record.name, record.levelno, record.getMessage()
        return is_first

    def log_suppressed(self, *, until_now: bool = False) -> None:
        """Log how many lines were suppressed in the elapsed intervals, or in all."""
        for kind, number in self._rate_limiter.suppressed(until_now=until_now):
            name, level, text = self._written[kind]
            fields = {"event": "suppressed", "of": text, "number": number}
            token = current_request_id.set(NO_REQUEST)
            logging.getLogger(name).log(level, "suppressed %d more like: %s", number, text, extra={"fields": fields})
            current_request_id.reset(token)


rate_limit_filter: Final = RateLimitFilter()
"""Shared by all handlers of this process."""


def configure_logging(settings: Settings) -> None:
    on_terminal = sys.stderr.isatty()
    pretty = settings.log_format == "pretty" or (settings.log_format == "auto" and on_terminal)
    if isinstance(sys.stderr, io.TextIOWrapper):
        # JSON is always UTF-8; characters that a terminal cannot encode must not raise.
        sys.stderr.reconfigure(encoding=None if pretty else "utf-8", errors="backslashreplace")
    handler = logging.StreamHandler(sys.stderr)
    coloured = on_terminal and not os.environ.get("NO_COLOR")
    handler.addFilter(rate_limit_filter)
    form = PrettyFormat(coloured=coloured) if pretty else JsonFormat()
    handler.setFormatter(JournalFormat(form) if is_journal(sys.stderr) else form)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def _kind(record: logging.LogRecord) -> Hashable:
    """Return the kind of a line; the number of kinds is bounded by the code locations and services."""
    exceptions = tuple(type(each) for each in record.args or () if isinstance(each, BaseException))
    raised, _, trace = record.exc_info or (None, None, None)
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    location = None if trace is None else (trace.tb_frame.f_code, trace.tb_lineno)
    return record.pathname, record.lineno, exceptions, raised, location, getattr(record, "service", None)


def _moment(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _plain(value: Any) -> Any:
    """Convert values without a JSON type to text; escape what UTF-8 cannot encode."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value).encode("utf-8", "backslashreplace").decode()


EXIT_FAILED: Final = 1


def exit_with_error(problem: str) -> int:
    """Print the problem to standard error, one prefix per line, and return the exit code."""
    prefix = ERROR_PREFIX if is_journal(sys.stderr) else ""
    sys.stderr.writelines(f"{prefix}cloudconsole: {escape(line)}\n" for line in problem.splitlines())
    return EXIT_FAILED
