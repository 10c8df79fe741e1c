"""Fixtures of the HTTP tests: the sample cloud with cheap password hashes, and additional consoles."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cloudconsole.server import writer
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http import login_queue, login_service
from tests.harness import FakeClock, InProcessTransport
from tests.stores import copy_store

StartConsole = Callable[..., InProcessTransport]


@pytest.fixture(autouse=True)
def _no_server_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let logins and writes take as long as they need on a busy machine."""
    monkeypatch.setattr(login_queue, "WAIT_SECONDS", 600)
    monkeypatch.setattr(login_service, "WRITE_SECONDS", 600)
    monkeypatch.setattr(writer, "BUSY_SECONDS", 600)


@pytest.fixture
def data(fast_hash_store: Path, tmp_path: Path) -> Path:
    """A fresh store with the sample cloud."""
    return copy_store(fast_hash_store, tmp_path / "data")


@pytest.fixture
def start_console(clock: FakeClock) -> Iterator[StartConsole]:
    """Start additional consoles: a second worker on the same data directory, or one with other settings."""
    started: list[InProcessTransport] = []

    def start(
        settings: Settings, base: str = "http://127.0.0.1:8000", *, share_loop_with: InProcessTransport | None = None
    ) -> InProcessTransport:
        started.append(InProcessTransport(Console(settings, clock), base, share_loop_with=share_loop_with))
        return started[-1]

    yield start
    for console in started:
        console.close()
