"""A small cloud to ask, and whoever asks it."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest

from cloudconsole.core.ports import ClientInfo
from tests.backends.openstack.fake_cloud import CloudDouble
from tests.backends.openstack.recordings import HOUR
from tests.backends.openstack.small_openstack import SmallOpenStack
from tests.harness import HeldClock


@pytest.fixture
def cloud() -> Iterator[CloudDouble]:
    with CloudDouble() as double:
        yield double


@pytest.fixture
def caller() -> ClientInfo:
    return ClientInfo("203.0.113.7", "0123456789abcdef")


@pytest.fixture
def openstack(cloud: CloudDouble, empty_store: Path, tmp_path: Path) -> SmallOpenStack:
    """A cloud of one region, north, at 20:20 in the hour of the recordings."""
    small = SmallOpenStack(cloud, copytree(empty_store, tmp_path / "data"), HeldClock(HOUR + 1200))
    small.add_region("north")
    return small
