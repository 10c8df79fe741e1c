"""A console with fault injection."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from tests import stores
from tests.conformance.faulty_console import Fault, FaultyConsole
from tests.conformance.kit_harness import RunResult, run_kit, target_at
from tests.conftest import SAMPLE_TIME
from tests.harness import FakeClock


class FaultyServer(NamedTuple):
    console: FaultyConsole
    clock: FakeClock
    runner: asyncio.Runner

    def run_kit(self, fault: Fault, profile: str, *only: str, **changes: Any) -> RunResult:
        """Run checks on the console with a fault; `changes` are those of the target."""
        # Advance the clock so that failed logins are not throttled.
        self.clock.moment += 3600
        self.console.inject(fault)
        return run_kit(target_at(**changes), profile, only=only, application=self.console, runner=self.runner)


@pytest.fixture(scope="session")
def faulty_server(fast_hash_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    data = stores.copy_store(fast_hash_store, tmp_path_factory.mktemp("faulty") / "data")
    clock = FakeClock(SAMPLE_TIME)
    console = Console(Settings(data=data), clock)
    with asyncio.Runner() as runner:
        yield FaultyServer(FaultyConsole(console), clock, runner)
        runner.run(console.leave())
        console.close()
