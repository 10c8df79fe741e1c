"""A small cloud without prices or resources, created once and copied."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backends.embedded.small_cloud import SmallCloud, at
from tests.harness import FakeClock
from tests.stores import copy_store, make_store


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
