"""Sync and async clients, closed after the test, and scripted consoles."""

from collections.abc import Callable, Iterator
from typing import Any

import anyio
import pytest

from cloudconsole import Console
from cloudconsole.client import retry, sync
from tests.client.scripted_server import Script, ScriptedServer
from tests.client.sync_async import CONSOLES
from tests.harness import RunningServer

Connect = Callable[..., Any]
ACCOUNT: dict[str, Any] = {"region": "http://id/v3", "username": "guest", "password": "secret"}


class RetryClock:
    """The clock of deadlines: only the pauses between retries advance it, and they take no time."""

    def __init__(self) -> None:
        self._now = 0.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self._now += seconds

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)


@pytest.fixture
def retry_clock(monkeypatch: pytest.MonkeyPatch) -> RetryClock:
    clock = RetryClock()
    monkeypatch.setattr(retry, "time", clock)
    monkeypatch.setattr(sync, "time", clock)
    monkeypatch.setattr(anyio, "sleep", clock.sleep_async)
    return clock


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
    return connect(server.base, username="demo", password="console-demo", timeout=120, deadline=300)


@pytest.fixture
def scripted() -> Script:
    """A third-party console in this process, with scripted responses."""
    return Script()


@pytest.fixture
def client(scripted: Script, retry_clock: RetryClock) -> Iterator[Console]:
    """A client of the scripted console that logs in with its first action."""
    with Console("http://console", **ACCOUNT, deadline=5.0, transport=scripted.transport) as console:
        yield console


@pytest.fixture
def scripted_server(retry_clock: RetryClock) -> Iterator[ScriptedServer]:
    """A third-party console on a socket."""
    with ScriptedServer() as running:
        yield running
