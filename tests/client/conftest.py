"""Sync and async clients, closed after the test, and a scripted server."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.client.scripted_server import ScriptedServer
from tests.client.sync_async import CONSOLES
from tests.harness import RunningServer

Connect = Callable[..., Any]


@pytest.fixture(params=CONSOLES)
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Create a sync or async console for any URL."""
    made = []

    def make(*arguments: Any, **options: Any) -> Any:
        made.append(CONSOLES[request.param](*arguments, **options))
        return made[-1]

    yield make
    for console in made:
        console.close()


@pytest.fixture
def demo(connect: Connect, server: RunningServer) -> Any:
    """A console of the sample's tenant at a real server."""
    return connect(server.base, username="demo", password="console-demo")


@pytest.fixture
def scripted() -> Iterator[ScriptedServer]:
    """A third-party console with scripted responses."""
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def client(connect: Connect, scripted: ScriptedServer) -> Any:
    """A client of the scripted server that logs in with its first action."""
    return connect(scripted.base, region="http://id/v3", username="guest", password="secret", timeout=2.0, deadline=5.0)
