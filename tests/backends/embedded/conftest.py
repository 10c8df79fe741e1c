"""A small cloud without prices and resources, made once and copied."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cloudconsole.server.app import Console
from cloudconsole.store.passwords import hash_password
from cloudconsole.store.tables import accounts
from tests.backends.embedded.small_cloud import ACME, SmallCloud, at
from tests.harness import Caller, HeldClock, InProcess
from tests.stores import copy_store, make_store, settings_over


@pytest.fixture(scope="session")
def bare_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two tenants and two nodes; copy it, never change it."""
    folder = tmp_path_factory.mktemp("bare") / "data"
    make_store(folder)
    cloud = SmallCloud(folder, HeldClock(0))
    cloud.add_places()
    cloud.close()
    return folder


@pytest.fixture
def cloud(bare_store: Path, tmp_path: Path) -> Iterator[SmallCloud]:
    """A cloud to change, at 12:20."""
    cloud = SmallCloud(copy_store(bare_store, tmp_path / "small"), HeldClock(at("12:20")))
    yield cloud
    cloud.close()


@pytest.fixture
def served(cloud: SmallCloud) -> Iterator[tuple[SmallCloud, Caller]]:
    """The small cloud behind the real actions, and its tenant logged in."""
    account = {"username": "alice", "role": "tenant", "password_hash": hash_password("pw"), "disabled": False}
    cloud.insert(accounts, {"id": 1, "tenant_id": ACME.id, "version": 1, **account})
    wire = InProcess(Console(settings_over(cloud.folder, session_idle=86_400), cloud.clock))
    caller = Caller(wire)
    assert caller.login("alice", "pw").status == 200
    yield cloud, caller
    wire.close()
