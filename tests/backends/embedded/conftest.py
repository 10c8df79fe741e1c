"""A small cloud without prices or resources, created once and copied."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cloudconsole.server.app import Console
from cloudconsole.store.passwords import hash_password
from cloudconsole.store.tables import accounts
from tests.backends.embedded.small_cloud import ACME, SmallCloud, at
from tests.harness import ApiClient, FakeClock, InProcessTransport
from tests.stores import copy_store, make_store, settings_for


@pytest.fixture(scope="session")
def bare_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a store with two tenants and two nodes; copy it, never modify it."""
    data_dir = tmp_path_factory.mktemp("bare") / "data"
    make_store(data_dir)
    cloud = SmallCloud(data_dir, FakeClock(0))
    cloud.add_tenants_and_nodes()
    cloud.close()
    return data_dir


@pytest.fixture
def cloud(bare_store: Path, tmp_path: Path) -> Iterator[SmallCloud]:
    """Return a modifiable copy of the small cloud, at 12:20."""
    cloud = SmallCloud(copy_store(bare_store, tmp_path / "small"), FakeClock(at("12:20")))
    yield cloud
    cloud.close()


@pytest.fixture
def served(cloud: SmallCloud) -> Iterator[tuple[SmallCloud, ApiClient]]:
    """Serve the small cloud through the real actions, with its tenant logged in."""
    account = {"username": "alice", "role": "tenant", "password_hash": hash_password("pw"), "disabled": False}
    cloud.insert(accounts, {"id": 1, "tenant_id": ACME.id, "version": 1, **account})
    transport = InProcessTransport(Console(settings_for(cloud.data_dir, session_idle=86_400), cloud.clock))
    client = ApiClient(transport)
    assert client.login("alice", "pw").status == 200
    yield cloud, client
    transport.close()
