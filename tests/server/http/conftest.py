"""Fixtures of the HTTP suites: the sample cloud with passwords that are quick to check, and further consoles."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from tests.harness import HeldClock, InProcess
from tests.stores import copy_store

StartConsole = Callable[..., InProcess]


@pytest.fixture
def data(quick_store: Path, tmp_path: Path) -> Path:
    """A store of one's own with the sample cloud."""
    return copy_store(quick_store, tmp_path / "data")


@pytest.fixture
def start_console(clock: HeldClock) -> Iterator[StartConsole]:
    """Starts further consoles: a second worker over the same folder, or one with other settings."""
    started: list[InProcess] = []

    def start(settings: Settings, base: str = "http://127.0.0.1:8000", *, beside: InProcess | None = None) -> InProcess:
        started.append(InProcess(Console(settings, clock), base, beside=beside))
        return started[-1]

    yield start
    for console in started:
        console.close()
