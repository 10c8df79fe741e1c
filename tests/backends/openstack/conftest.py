"""A fake cloud, and a small OpenStack on it."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest

from tests.backends.openstack.fake_cloud import FakeCloud
from tests.backends.openstack.small_openstack import HOUR, SmallOpenStack
from tests.harness import FakeClock


@pytest.fixture
def cloud() -> Iterator[FakeCloud]:
    with FakeCloud() as fake:
        yield fake


@pytest.fixture
def openstack(cloud: FakeCloud, empty_store: Path, tmp_path: Path) -> SmallOpenStack:
    """Return a cloud of one region, north, at 20:20 in the hour of the recordings."""
    small = SmallOpenStack(cloud, copytree(empty_store, tmp_path / "data"), FakeClock(HOUR + 1200))
    small.add_region("north")
    return small
