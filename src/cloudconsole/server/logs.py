"""Logs on standard error; every line of a call carries its request id, and no line any secret."""

import logging
import sys
import time
from contextvars import ContextVar

current_request_id: ContextVar[str] = ContextVar("current_request_id", default="-")


class _LineFormat(logging.Formatter):
    converter = staticmethod(time.gmtime)

    def format(self, record: logging.LogRecord) -> str:
        record.request_id = current_request_id.get()
        return super().format(record)


def set_up_logs() -> None:
    handler = logging.StreamHandler(sys.stderr)
    line = "%(asctime)sZ %(levelname)s %(process)d %(request_id)s %(name)s: %(message)s"
    handler.setFormatter(_LineFormat(line, datefmt="%Y-%m-%dT%H:%M:%S"))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)
