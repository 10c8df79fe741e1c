"""An empty store of one's own for each test."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from sqlalchemy import Engine

from cloudconsole.store.engine import open_engine
from cloudconsole.store.preparing import prepare


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with nothing in it; copy it, never change it."""
    folder = tmp_path_factory.mktemp("empty") / "data"
    prepare(folder)
    return folder


@pytest.fixture
def engine(empty_store: Path, tmp_path: Path) -> Iterator[Engine]:
    opened = open_engine(copytree(empty_store, tmp_path / "data"), "cloud")
    yield opened
    opened.dispose()
