"""A console as a systemd service: notifications of its main process, and streams connected to the journal."""

import json
import os
import re
import signal
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.processes import eventually
from tests.fork_server import MAX_WAIT_SECONDS, ForkedProcess
from tests.harness import clean_environment

CREDENTIALS = struct.Struct("3i")
WATCHDOG = "WATCHDOG=1"


class Manager:
    """A fake service manager: receives notifications."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.settimeout(MAX_WAIT_SECONDS)
        self._socket.bind(str(path))
        self.senders: set[int] = set()

    def next_state(self) -> str:
        """Return the first line of the next notification that is not a watchdog ping."""
        while (state := self.next()) == WATCHDOG:
            pass
        return state

    def next(self) -> str:
        content, ancillary, _, _ = self._socket.recvmsg(4096, socket.CMSG_SPACE(CREDENTIALS.size))
        ((_, _, credentials),) = ancillary
        self.senders.add(CREDENTIALS.unpack(credentials)[0])
        return content.decode().partition("\n")[0]

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    manager = Manager(tmp_path / "notify")
    yield manager
    manager.close()


@pytest.mark.parametrize("flags", [(), ("--workers", "2", "--metrics", "127.0.0.1:0")], ids=["alone", "parent"])
def test_main_process_notifies_of_ready_reload_and_stop(
    manager: Manager, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    with (tmp_path / "log").open("w") as log:
        process = ForkedProcess(
            ["serve", "--port", "0", "--data", str(tmp_path / "data"), *flags],
            clean_environment(NOTIFY_SOCKET=str(manager.path), WATCHDOG_USEC="500000"),
            stderr=log.fileno(),
        )
    try:
        assert manager.next_state() == "READY=1"
        while manager.next() != WATCHDOG:
            pass
        process.send_signal(signal.SIGHUP)
        assert [manager.next_state(), manager.next_state()] == ["RELOADING=1", "READY=1"]
        process.terminate()
        assert manager.next_state() == "STOPPING=1"
        assert process.wait(MAX_WAIT_SECONDS) == 0
        assert manager.senders == {process.pid}
    finally:
        process.kill()


def run_under_journal(journal: Path, *arguments: str) -> ForkedProcess:
    """Start a command with both streams on one file, which replaces the journal's socket."""
    with journal.open("w") as stream:
        status = os.fstat(stream.fileno())
        environment = clean_environment(JOURNAL_STREAM=f"{status.st_dev}:{status.st_ino}")
        return ForkedProcess(arguments, environment, stdout=stream.fileno(), stderr=stream.fileno())


def test_every_journal_line_is_a_priority_and_json(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    process = run_under_journal(journal, "serve", "--port", "0", "--data", str(tmp_path / "data"), "--workers", "2")
    try:
        eventually(lambda: '"event":"start"' in journal.read_text())
        process.terminate()
        assert process.wait(MAX_WAIT_SECONDS) == 0
    finally:
        process.kill()
    lines = journal.read_text().splitlines()
    assert [json.loads(line.removeprefix("<6>"))["event"] for line in lines] == ["start", "stop"]
    assert all(line.startswith("<6>") for line in lines)


def test_startup_error_has_priority_error(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    process = run_under_journal(journal, "serve", "--port", "70000", "--data", str(tmp_path / "data"))
    assert process.wait(MAX_WAIT_SECONDS) == 1
    assert re.fullmatch(r"<3>cloudconsole: --port: [^\n]+\n", journal.read_text())
