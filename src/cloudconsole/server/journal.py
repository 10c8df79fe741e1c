"""Standard streams that the journal of systemd reads: detection, and the priority of each line, as in sd-daemon(3)."""

import logging
import os
from collections.abc import Mapping
from typing import IO, Final

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
