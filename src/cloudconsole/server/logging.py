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
from cloudconsole.spec.text import escape, escape_json

Kind = TypeVar("Kind", bound=Hashable)


class RateLimiter(Generic[Kind]):
    """So many lines of each kind within a stretch of time, which begins with its first; what is beyond is counted."""

    def __init__(self, lines: int, stretch: float, seconds: Callable[[], float] = time.monotonic) -> None:
        self._lines = lines
        self._stretch = stretch
        self._seconds = seconds
        self._used: dict[Kind, int] = {}
        self._over_at: dict[Kind, float] = {}

    def allows(self, kind: Kind) -> bool:
        """Whether a line of this kind may be written; to be asked once for each, after telling what was left out."""
        used = self._used.get(kind, 0)
        if not used:
            self._over_at[kind] = self._seconds() + self._stretch
        self._used[kind] = used + 1
        return used < self._lines

    def suppressed(self, *, until_now: bool = False) -> Iterator[tuple[Kind, int]]:
        """End the stretches that are over, or all, and give how many lines each was short of."""
        # Of equal length, they are over in the order in which they began.
        while self._over_at:
            kind, over_at = next(iter(self._over_at.items()))
            if not until_now and over_at > self._seconds():
                return
            del self._over_at[kind]
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
    """Tell whether a stream goes to the journal, and was not redirected since."""
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

_BOUNDED_ELSEWHERE: Final = ("cloudconsole.audit", "cloudconsole.server.http.proxy")
_QUIET: Final = ("uvicorn", "alembic")
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
    """One line for people; what follows of an exception is set in, so that nothing in it looks like a line of ours."""

    def __init__(self, *, coloured: bool) -> None:
        super().__init__()
        self._coloured = coloured

    def format(self, record: logging.LogRecord) -> str:
        level, place = record.levelname, f"{record.name}:"
        if self._coloured:
            level = f"\x1b[{_COLOURS.get(level, '0')}m{level}\x1b[0m"
            place = f"\x1b[2m{place}\x1b[0m"
        request_id, message = current_request_id.get(), escape(record.getMessage())
        lines = [f"{_moment(record)} {level} {record.process} {request_id} {place} {message}"]
        if record.exc_info:
            told = self.formatException(record.exc_info).splitlines()
            lines += ["    " + escape(line) for line in told]
        return "\n".join(lines)


class RateLimitFilter(logging.Filter):
    """While something fails call after call: one line of it at once, and every ten seconds how many more there were.

    A kind is where in the code the line comes from and what was raised there, and which service behind the console it
    is about, so that one failure hides no other.
    """

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._allowance: RateLimiter[Hashable] = RateLimiter(1, RATE_LIMIT_SECONDS, seconds)
        self._written: dict[Hashable, tuple[str, int, str]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        is_spared = record.levelno < logging.WARNING or record.name in _BOUNDED_ELSEWHERE
        if is_spared or current_request_id.get() == NO_REQUEST:
            return True
        self.log_suppressed()
        kind = _kind(record)
        is_first = self._allowance.allows(kind)
        if is_first:
            self._written[kind] = record.name, record.levelno, record.getMessage()
        return is_first

    def log_suppressed(self, *, until_now: bool = False) -> None:
        """Say how many lines were left out in the times that are over, or altogether."""
        for kind, number in self._allowance.suppressed(until_now=until_now):
            name, level, text = self._written[kind]
            fields = {"event": "suppressed", "of": text, "number": number}
            this_call = current_request_id.set(NO_REQUEST)
            logging.getLogger(name).log(level, "left out %d more like: %s", number, text, extra={"fields": fields})
            current_request_id.reset(this_call)


rate_limit_filter: Final = RateLimitFilter()
"""The one of this process."""


def configure_logging(settings: Settings) -> None:
    on_terminal = sys.stderr.isatty()
    pretty = settings.log_format == "pretty" or (settings.log_format == "auto" and on_terminal)
    if isinstance(sys.stderr, io.TextIOWrapper):
        # JSON is UTF-8 wherever it is read; what a terminal cannot show must not end the line.
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
    """Of which there are only as many as places in the code, for each service."""
    told = tuple(type(each) for each in record.args or () if isinstance(each, BaseException))
    raised, _, trace = record.exc_info or (None, None, None)
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = None if trace is None else (trace.tb_frame.f_code, trace.tb_lineno)
    return record.pathname, record.lineno, told, raised, place, getattr(record, "service", None)


def _moment(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _plain(value: Any) -> Any:
    """What JSON has a form for; anything else as text. Text that UTF-8 cannot hold is escaped."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value).encode("utf-8", "backslashreplace").decode()
