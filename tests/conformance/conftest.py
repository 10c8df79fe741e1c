"""A console that can be given faults."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import NamedTuple

import pytest

from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from tests.conformance.damaged import Damaged, Fault
from tests.conformance.listening import Seen, examine, listening, subject_at
from tests.conftest import NOON
from tests.harness import HeldClock, make_logins_quick


class Workshop(NamedTuple):
    damaged: Damaged
    clock: HeldClock
    base: str

    def have(self, fault: Fault) -> None:
        # Later each time: failed logins are counted.
        self.clock.moment += 3600
        self.damaged.have(fault)

    def examine(self, fault: Fault, profile: str, *only: str) -> Seen:
        self.have(fault)
        return examine(subject_at(self.base), profile, only=only)


@pytest.fixture(scope="session")
def workshop(sample_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    data = copytree(sample_store, tmp_path_factory.mktemp("workshop") / "data")
    make_logins_quick(data)
    clock = HeldClock(NOON)
    damaged = Damaged(lambda: Console(Settings(data=data), clock))
    with listening(damaged, lifespan="on") as base:
        yield Workshop(damaged, clock, base)
