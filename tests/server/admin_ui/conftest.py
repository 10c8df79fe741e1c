"""A signed-in operator, an anonymous client of the admin UI, and a tenant that sees the changes."""

from pathlib import Path

import pytest

from tests.harness import ApiClient, InProcessTransport
from tests.server.admin_ui.pages import Operator
from tests.stores import copy_store


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
def tenant(transport: InProcessTransport) -> ApiClient:
    client = ApiClient(transport)
    assert client.login().status == 200
    return client
