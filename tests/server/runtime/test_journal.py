"""The journal as the reader of standard streams: when it is one, and which priority a line has there."""

import logging
import os
import socket
import sys
from pathlib import Path

import pytest

from cloudconsole.server.logging import JournalFormat, PrettyFormat, is_journal


def name_of(descriptor: int) -> str:
    status = os.fstat(descriptor)
    return f"{status.st_dev}:{status.st_ino}"


def test_a_stream_is_the_journals_only_if_it_is_the_one_that_systemd_names(tmp_path: Path) -> None:
    journal, ours = socket.socketpair()
    with journal, ours, ours.makefile("w") as stream, (tmp_path / "file").open("w") as redirected:
        environment = {"JOURNAL_STREAM": name_of(ours.fileno())}
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
