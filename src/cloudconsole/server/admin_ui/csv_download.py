"""Downloads of lists as CSV."""

import re
import shlex
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.messages import Message
from cloudconsole.operator.rows_and_records import Record, json_text
from cloudconsole.server.admin_ui.database import DatabaseExecutor
from cloudconsole.server.http.response import Response
from cloudconsole.spec.csv_lines import csv_line

MAX_CSV_ROWS: Final = 10_000
"""Rows in a download: one response is built in memory, and other operators wait for it."""
_CSV: Final = b"text/csv; charset=utf-8"
_MAX_NAME: Final = 100
_TOO_MANY: Final = (
    "more than {rows} rows match: narrow the search, or run {command} on the server",
    "符合条件的记录超过 {rows} 条：请缩小搜索范围，或在服务器上执行 {command}",
)


def csv_body(columns: Sequence[str], records: Iterable[Record], command: Sequence[str]) -> bytes:
    """Return the records with the columns' names as heading; reject too many, and name the command that prints them."""
    lines = [csv_line(columns)]
    for record in records:
        if len(lines) > MAX_CSV_ROWS:
            rejected = Message(*_TOO_MANY, rows=f"{MAX_CSV_ROWS:,}", command=shlex.join(command))
            raise OperatorError(rejected)
        lines.append(csv_line([_text(record.get(name)) for name in columns]))
    # With a byte-order mark, without which spreadsheets take UTF-8 for another encoding.
    return "".join(lines).encode("utf-8-sig")


def csv_response(body: bytes, words: Iterable[str], executor: DatabaseExecutor) -> Response:
    """Return a download named by what it contains and the day, such as `resources-demo-instance-2026-11-19.csv`."""
    name = re.sub(r"[^A-Za-z0-9_.]+", "-", "-".join(words)).strip("-.")[:_MAX_NAME]
    day = datetime.fromtimestamp(executor.now(), executor.zone)
    disposition = f'attachment; filename="{name}-{day:%Y-%m-%d}.csv"'
    return Response(200, body, [(b"content-disposition", disposition.encode())], _CSV)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return json_text(value) if isinstance(value, bool) else str(value)
