"""An empty store of one's own for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from tests.stores import copy_store, open_engine


@pytest.fixture
def engine(empty_store: Path, tmp_path: Path) -> Iterator[Engine]:
    opened = open_engine(copy_store(empty_store, tmp_path / "data"), "cloud")
    yield opened
    opened.dispose()
