"""A signed-in operator and an anonymous client of the admin UI."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cloudconsole.server.app import Console
from tests.harness import FakeClock, InProcessTransport
from tests.server.admin_ui.pages import Operator
from tests.stores import copy_store, settings_for


@pytest.fixture
def data(fast_hash_store: Path, tmp_path: Path) -> Path:
    return copy_store(fast_hash_store, tmp_path / "data")


@pytest.fixture
def anonymous(transport: InProcessTransport) -> Operator:
    """A client that is not signed in."""
    return Operator(transport)


@pytest.fixture
def operator(transport: InProcessTransport) -> Operator:
    signed_in = Operator(transport)
    assert signed_in.sign_in().status == 200
    return signed_in


@pytest.fixture
def operator_in_shanghai(data: Path, clock: FakeClock) -> Iterator[Operator]:
    """An operator of a console with another time zone and currency."""
    settings = settings_for(data, time_zone="Asia/Shanghai", currency="EUR")
    transport = InProcessTransport(Console(settings, clock))
    signed_in = Operator(transport)
    assert signed_in.sign_in().status == 200
    yield signed_in
    transport.close()
