"""A small cloud without prices and resources, made once and copied."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest

from cloudconsole.store.preparing import prepare
from tests.backends.embedded.small_cloud import SmallCloud, at
from tests.harness import HeldClock


@pytest.fixture(scope="session")
def bare_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two tenants and two nodes; copy it, never change it."""
    folder = tmp_path_factory.mktemp("bare") / "data"
    prepare(folder)
    cloud = SmallCloud(folder, HeldClock(0))
    cloud.add_places()
    cloud.close()
    return folder


@pytest.fixture
def cloud(bare_store: Path, tmp_path: Path) -> Iterator[SmallCloud]:
    """A cloud to change, at 12:20."""
    cloud = SmallCloud(copytree(bare_store, tmp_path / "small"), HeldClock(at("12:20")))
    yield cloud
    cloud.close()
