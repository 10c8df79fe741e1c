"""Logs on standard error, as JSON or for people; every line of a call carries its request id, and no line any secret.

A record may bring `fields` along (`extra={"fields": {...}}`): they become members of its JSON object.
"""

import io
import json
import logging
import os
import sys
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from cloudconsole.server.settings import Settings

current_request_id: ContextVar[str] = ContextVar("current_request_id", default="-")

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
        # Besides what JSON escapes anyway: what a terminal, or a reader that knows more line ends, would act upon.
        return _visible(text, lambda unseen: json.dumps(unseen)[1:-1])


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
        request_id, message = current_request_id.get(), _visible(record.getMessage(), _python_escape)
        lines = [f"{_moment(record)} {level} {record.process} {request_id} {place} {message}"]
        if record.exc_info:
            told = self.formatException(record.exc_info).splitlines()
            lines += ["    " + _visible(line, _python_escape) for line in told]
        return "\n".join(lines)


def set_up_logs(settings: Settings) -> None:
    on_terminal = sys.stderr.isatty()
    pretty = settings.log_format == "pretty" or (settings.log_format == "auto" and on_terminal)
    if isinstance(sys.stderr, io.TextIOWrapper):
        # JSON is UTF-8 wherever it is read; what a terminal cannot show must not end the line.
        sys.stderr.reconfigure(encoding=None if pretty else "utf-8", errors="backslashreplace")
    handler = logging.StreamHandler(sys.stderr)
    coloured = on_terminal and not os.environ.get("NO_COLOR")
    handler.setFormatter(PrettyFormat(coloured=coloured) if pretty else JsonFormat())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def _moment(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _plain(value: Any) -> Any:
    """What JSON has a form for; anything else as text. Text that UTF-8 cannot hold is escaped."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value).encode("utf-8", "backslashreplace").decode()


def _visible(text: str, escape: Callable[[str], str]) -> str:
    """The text on one line: whatever is not seen, or moves what is, is written as an escape."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else escape(each) for each in text)


def _python_escape(unseen: str) -> str:
    return unseen.encode("unicode_escape").decode()
