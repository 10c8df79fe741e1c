"""A server with fault injection."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import NamedTuple

import pytest

from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from tests.conformance.faulty_console import Fault, FaultyConsole
from tests.conformance.kit_harness import RunResult, run_kit, serving, target_at
from tests.conftest import SAMPLE_TIME
from tests.harness import FakeClock, use_fast_hashes


class FaultyServer(NamedTuple):
    console: FaultyConsole
    clock: FakeClock
    base: str

    def inject(self, fault: Fault) -> None:
        # Advance the clock so that failed logins are not throttled.
        self.clock.moment += 3600
        self.console.inject(fault)

    def run_kit(self, fault: Fault, profile: str, *only: str) -> RunResult:
        self.inject(fault)
        return run_kit(target_at(self.base), profile, only=only)


@pytest.fixture(scope="session")
def faulty_server(sample_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    data = copytree(sample_store, tmp_path_factory.mktemp("workshop") / "data")
    use_fast_hashes(data)
    clock = FakeClock(SAMPLE_TIME)
    console = FaultyConsole(lambda: Console(Settings(data=data), clock))
    with serving(console, lifespan="on") as base:
        yield FaultyServer(console, clock, base)
