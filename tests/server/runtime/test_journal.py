"""Logging to the systemd journal: how it is detected, and the priority of each line."""

import logging
import os
import socket
import sys
from pathlib import Path

import pytest

from cloudconsole.server.logging import JournalFormat, PrettyFormat, is_journal


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
    try:
        raise RuntimeError("failed\n<0>twice")
    except RuntimeError:
        record = logging.LogRecord("cloudconsole", level, __file__, 1, "<0>message", (), sys.exc_info())
    lines = JournalFormat(PrettyFormat(coloured=False)).format(record).split("\n")
    assert len(lines) > 2
    assert {line.partition(">")[0] for line in lines} == {f"<{priority}"}
