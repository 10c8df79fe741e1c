"""Consoles of both kinds, closed at the end; and other servers than ours."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.client.scripted_server import ScriptedServer
from tests.client.sync_async import FACES
from tests.harness import RunningServer

Connect = Callable[..., Any]


@pytest.fixture(params=FACES)
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Makes a console of one kind, for any address."""
    made = []

    def make(*arguments: Any, **options: Any) -> Any:
        made.append(FACES[request.param](*arguments, **options))
        return made[-1]

    yield make
    for console in made:
        console.close()


@pytest.fixture
def demo(connect: Connect, server: RunningServer) -> Any:
    """The sample's tenant at a real server."""
    return connect(server.base, username="demo", password="console-demo")


@pytest.fixture
def other() -> Iterator[ScriptedServer]:
    """A console that is not ours, and does as it is told."""
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def guest(connect: Connect, other: ScriptedServer) -> Any:
    """Someone at that other console, logged in at its first call."""
    return connect(other.base, region="http://id/v3", username="guest", password="secret", timeout=2.0, deadline=5.0)
