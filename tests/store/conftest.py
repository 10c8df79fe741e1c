"""What happens, written into an empty store of one's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from cloudconsole.store.activity import Activity
from tests.stores import open_engine


@pytest.fixture
def engine(folder: Path) -> Iterator[Engine]:
    engine = open_engine(folder, "activity")
    yield engine
    engine.dispose()


@pytest.fixture
def activity(engine: Engine) -> Activity:
    return Activity(engine)
