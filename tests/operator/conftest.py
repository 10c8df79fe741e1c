"""A store of one's own for each test: an empty one, or one with the cloud of a file in it."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from sqlalchemy import Engine

from tests.operator.clouds import load_text
from tests.stores import copy_store, open_engine, opened

Stored = Callable[[str], Path]
"""A store with what is in a cloud file of this text; copy it, never change it."""


@pytest.fixture(scope="session")
def stored(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """Each made once: to load a file takes many times as long as to copy what came of it."""

    @cache
    def make(text: str) -> Path:
        folder = tmp_path_factory.mktemp("loaded")
        with opened(copy_store(empty_store, folder / "data"), "cloud") as engine:
            load_text(engine, folder, text)
        return folder / "data"

    return make


@pytest.fixture
def engine(empty_store: Path, tmp_path: Path) -> Iterator[Engine]:
    opened = open_engine(copy_store(empty_store, tmp_path / "data"), "cloud")
    yield opened
    opened.dispose()


@pytest.fixture
def engine_with(stored: Stored, tmp_path: Path) -> Iterator[Callable[[str], Engine]]:
    """Opens the test's own store, which has the cloud of a file of this text in it."""
    opened: list[Engine] = []

    def open_with(text: str) -> Engine:
        opened.append(open_engine(copy_store(stored(text), tmp_path / "data"), "cloud"))
        return opened[-1]

    yield open_with
    for engine in opened:
        engine.dispose()
