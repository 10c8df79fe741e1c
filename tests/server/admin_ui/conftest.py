"""An operator who is signed in at the pages, and a tenant who sees what comes of it."""

from pathlib import Path

import pytest

from tests.harness import Caller, InProcess
from tests.server.admin_ui.pages import Operator
from tests.stores import copy_store


@pytest.fixture
def data(quick_store: Path, tmp_path: Path) -> Path:
    return copy_store(quick_store, tmp_path / "data")


@pytest.fixture
def stranger(wire: InProcess) -> Operator:
    """Someone at the pages who is not signed in."""
    return Operator(wire)


@pytest.fixture
def operator(wire: InProcess) -> Operator:
    signed_in = Operator(wire)
    assert signed_in.sign_in().status == 200
    return signed_in


@pytest.fixture
def tenant(wire: InProcess) -> Caller:
    caller = Caller(wire)
    assert caller.login().status == 200
    return caller
