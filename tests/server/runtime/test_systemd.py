"""Notifications to the service manager: each state once, pings in time, nothing without a socket."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from cloudconsole.server.runtime.systemd import Notifier


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    """The address of a service manager and the socket on which it receives."""
    address = f"@cloudconsole-{uuid4().hex}" if request.param == "abstract" else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(f"\0{address[1:]}" if request.param == "abstract" else address)
        receiver.setblocking(False)
        yield address, receiver


def received(receiver: socket.socket) -> list[str]:
    messages = []
    while True:
        try:
            messages.append(receiver.recv(4096).decode())
        except BlockingIOError:
            return messages


def test_every_change_of_state_is_sent_once(manager: tuple[str, socket.socket]) -> None:
    address, receiver = manager
    notifier = Notifier(address)
    notifier.reloading()
    for change in (notifier.ready, notifier.reloading, notifier.ready, notifier.stopping):
        change()
        change()
    notifier.ready()
    notifier.reloading()
    first, reloading, second, stopping = received(receiver)
    assert (first, second, stopping) == ("READY=1", "READY=1", "STOPPING=1")
    state, _, moment = reloading.partition("\nMONOTONIC_USEC=")
    assert (state, moment.isdigit()) == ("RELOADING=1", True)


def test_ping_is_sent_after_half_the_watchdog_interval(manager: tuple[str, socket.socket]) -> None:
    address, receiver = manager
    now = 100.0
    notifier = Notifier(address, 30, lambda: now)
    sent = []
    for now in (114.9, 115.0, 129.9, 130.0):  # noqa: B007 - the notifier reads it
        notifier.ping()
        sent.append(received(receiver))
    assert sent == [[], ["WATCHDOG=1"], [], ["WATCHDOG=1"]]


@pytest.mark.parametrize(("process", "pings"), [("", 1), ("ours", 1), ("1", 0)])
def test_environment_variables_are_read_and_removed(
    manager: tuple[str, socket.socket], process: str, pings: int
) -> None:
    address, receiver = manager
    environment = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "1", "HOME": "/"}
    if process:
        environment["WATCHDOG_PID"] = process.replace("ours", str(os.getpid()))
    notifier = Notifier.from_environment(environment)
    sent: list[str] = []
    while len(sent) < pings:
        notifier.ping()
        sent += received(receiver)
    notifier.ping()
    assert set(sent + received(receiver)) == ({"WATCHDOG=1"} if pings else set())
    assert environment == {"HOME": "/"}


def test_nothing_is_sent_without_a_service_manager(caplog: pytest.LogCaptureFixture) -> None:
    notifier = Notifier.from_environment({})
    notifier.ready()
    notifier.ping()
    assert not caplog.records


def test_unreachable_service_manager_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Notifier(str(tmp_path / "gone")).ready()
    assert ["cannot notify the service manager" in record.getMessage() for record in caplog.records] == [True]
