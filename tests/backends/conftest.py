"""A small cloud without prices or resources, created once and copied."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert

from cloudconsole.store.tables import nodes, tenants
from tests.backends.costs.billing_histories import Story
from tests.backends.small_cloud import ACME, NODE_NAMES, RIVAL, SmallCloud
from tests.stores import copy_store, make_store, open_reader, opened


@pytest.fixture(scope="session")
def bare_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a store with two tenants and two nodes; copy it, never modify it."""
    folder = make_store(tmp_path_factory.mktemp("bare") / "data")
    with opened(folder, "cloud") as engine, engine.begin() as connection:
        connection.execute(insert(tenants), [{"id": each.id, "name": each.username} for each in (ACME, RIVAL)])
        connection.execute(insert(nodes), [{"id": node_id, "name": name} for node_id, name in NODE_NAMES.items()])
    return folder


@pytest.fixture
def cloud(bare_store: Path, tmp_path: Path) -> Iterator[SmallCloud]:
    """Return a modifiable copy of the small cloud, at 12:20."""
    folder = copy_store(bare_store, tmp_path / "small")
    with opened(folder, "cloud") as engine, open_reader(folder) as reader:
        yield SmallCloud(folder, engine, reader)


@pytest.fixture
def story(cloud: SmallCloud) -> Story:
    return Story(cloud)
