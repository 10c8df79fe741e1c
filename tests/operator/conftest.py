"""A separate store for each test: empty, or with the contents of a cloud file."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from sqlalchemy import Engine

from tests.operator.clouds import SMALL, load_text
from tests.stores import copy_store, open_engine, opened

StoreWith = Callable[[str], Path]
"""Function that returns a store with the contents of a cloud file, to be copied and never changed."""


@pytest.fixture(scope="session")
def store_with(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> StoreWith:
    """Load each cloud file once: copying a loaded store is many times faster."""

    @cache
    def make(text: str) -> Path:
        directory = tmp_path_factory.mktemp("loaded")
        with opened(copy_store(empty_store, directory / "data"), "cloud") as engine:
            load_text(engine, directory, text)
        return directory / "data"

    return make


@pytest.fixture
def engine(empty_store: Path, tmp_path: Path) -> Iterator[Engine]:
    opened = open_engine(copy_store(empty_store, tmp_path / "data"), "cloud")
    yield opened
    opened.dispose()


@pytest.fixture
def engine_with(store_with: StoreWith, tmp_path: Path) -> Iterator[Callable[[str], Engine]]:
    """Open a store of this test with the contents of a cloud file."""
    opened: list[Engine] = []

    def open_with(text: str) -> Engine:
        opened.append(open_engine(copy_store(store_with(text), tmp_path / "data"), "cloud"))
        return opened[-1]

    yield open_with
    for engine in opened:
        engine.dispose()


@pytest.fixture
def small(engine_with: Callable[[str], Engine]) -> Engine:
    """Tenant demo has an instance, a volume of 100 GB (quotas: 10 volumes, 1000 GB) and a key pair; other has none."""
    return engine_with(SMALL)
