"""Report files that keep their old content until a new report is written."""

import os
import stat
from pathlib import Path
from typing import TextIO

from cloudconsole.cli import conformance_messages as messages
from cloudconsole.cli.errors import UsageError, system_error
from cloudconsole.cli.i18n import translate


class ReportFile:
    """A file that keeps its old content until there is a new report."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_new = not path.exists()
        try:
            self._file: TextIO = path.open("a", encoding="utf-8")
        except OSError as problem:
            raise UsageError(translate(messages.CANNOT_WRITE, file=path, reason=system_error(problem))) from None

    def is_same_as(self, other: "ReportFile") -> bool:
        return os.path.samestat(os.fstat(self._file.fileno()), os.fstat(other._file.fileno()))

    def write(self, content: str) -> None:
        self._is_new = False
        try:
            with self._file:
                if stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
                    self._file.truncate(0)
                self._file.write(content)
        except OSError as problem:
            raise UsageError(translate(messages.CANNOT_WRITE, file=self._path, reason=system_error(problem))) from None

    def close(self) -> None:
        """Close the file; remove it if it is new and has no report."""
        self._file.close()
        if self._is_new:
            self._path.unlink(missing_ok=True)


class ReportFiles:
    """Context manager for the requested JSON and JUnit reports."""

    def __init__(self, json: Path | None, junit: Path | None) -> None:
        self.json = None if json is None else ReportFile(json)
        try:
            self.junit = None if junit is None else ReportFile(junit)
        except UsageError:
            self._close(self.json)
            raise
        if self.json and self.junit and self.json.is_same_as(self.junit):
            self._close(self.junit, self.json)
            raise UsageError(translate(messages.SAME_FILE, file=junit))

    def __enter__(self) -> "ReportFiles":
        return self

    def __exit__(self, *_: object) -> None:
        self._close(self.json, self.junit)

    @staticmethod
    def _close(*files: ReportFile | None) -> None:
        for file in files:
            if file is not None:
                file.close()
