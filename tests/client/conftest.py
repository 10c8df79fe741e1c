"""Sync and async clients behind one blocking interface, closed after the test, and scripted consoles."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import anyio
import anyio.from_thread
import pytest

from cloudconsole import AsyncConsole, Console
from cloudconsole.client import retry, sync
from tests.client.scripted_server import Script, ScriptedServer
from tests.harness import RunningServer

T = TypeVar("T")
Connect = Callable[..., Any]
ACCOUNT: dict[str, Any] = {"region": "http://id/v3", "username": "guest", "password": "secret phrase"}


class BlockingAsyncConsole:
    """An `AsyncConsole` whose event loop runs in a thread; calls from several threads become tasks."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._portals = anyio.from_thread.start_blocking_portal()
        self._portal = self._portals.__enter__()
        try:
            self._console = AsyncConsole(*arguments, **options)
        except BaseException:
            self._portals.__exit__(None, None, None)
            raise

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._console, name)
        if not callable(attribute):
            return attribute

        async def awaited(arguments: tuple[Any, ...], fields: dict[str, Any]) -> Any:
            return await attribute(*arguments, **fields)

        return lambda *arguments, **fields: self._portal.call(awaited, arguments, fields)

    def with_options(self, **options: Any) -> "BlockingAsyncConsole":
        other = BlockingAsyncConsole.__new__(BlockingAsyncConsole)
        other._portal, other._console = self._portal, self._console.with_options(**options)
        return other

    def __repr__(self) -> str:
        return repr(self._console)

    def close(self) -> None:
        self._portal.call(self._console.aclose)
        self._portals.__exit__(None, None, None)


CONSOLES: dict[str, Callable[..., Any]] = {"sync": Console, "async": BlockingAsyncConsole}


def run_concurrently(number: int, call: Callable[[], T]) -> list[T | Exception]:
    """Run a number of calls concurrently; return the result or exception of each."""

    def one(_: int) -> T | Exception:
        try:
            return call()
        except Exception as error:  # noqa: BLE001
            return error

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(one, range(number)))


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
