"""A console that can be given faults."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import NamedTuple

import pytest
from argon2 import PasswordHasher
from sqlalchemy import update

from cloudconsole.server.app import Console
from cloudconsole.server.settings import Settings
from cloudconsole.store.engine import opened
from cloudconsole.store.tables import accounts
from tests.conformance.damaged import Damaged, Fault
from tests.conformance.listening import DEMO, OTHER, Seen, examine, listening, subject_at
from tests.conftest import NOON
from tests.harness import HeldClock


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
    make_logins_cheap(data)
    clock = HeldClock(NOON)
    damaged = Damaged(lambda: Console(Settings(data=data), clock))
    with listening(damaged, lifespan="on") as base:
        yield Workshop(damaged, clock, base)


def make_logins_cheap(data: Path) -> None:
    """By the same passwords with the lightest hash: the kit logs in over and over, for each of many faults."""
    hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    with opened(data, "cloud") as engine, engine.begin() as connection:
        for username, password in (DEMO, OTHER):
            of_account = accounts.c.username == username
            connection.execute(update(accounts).where(of_account).values(password_hash=hasher.hash(password)))
