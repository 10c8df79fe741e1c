"""One console in test mode for the whole suite, with its own clock, reset before every test."""

from collections.abc import Callable, Iterator

import pytest

from cloudconsole.testing import ConsoleServer, running_console
from tests.harness import JSON, ApiClient, HttpTransport, Reply

START = "2026-01-01T00:59:30Z"


@pytest.fixture(scope="session")
def running() -> Iterator[ConsoleServer]:
    with running_console(clock=START, clock_fixed=True, seed="tests") as server:
        yield server


@pytest.fixture
def console(running: ConsoleServer) -> ConsoleServer:
    """The console, reset to its initial state."""
    running.reset()
    return running


@pytest.fixture
def remote(console: ConsoleServer) -> Iterator[HttpTransport]:
    connection = HttpTransport(console.address)
    yield connection
    connection.close()


@pytest.fixture
def client(remote: HttpTransport) -> ApiClient:
    return ApiClient(remote)


@pytest.fixture
def demo(remote: HttpTransport) -> ApiClient:
    """A client that is logged in as the sample's tenant."""
    client = ApiClient(remote)
    assert client.login().status == 200
    return client


Control = Callable[..., Reply]


@pytest.fixture
def control(remote: HttpTransport) -> Control:
    """Send `POST /_test/<name>` with any headers and body."""

    def post(name: str, body: bytes = b"{}", **headers: str) -> Reply:
        sent = [(key.replace("_", "-"), value) for key, value in {"Content_Type": JSON, **headers}.items()]
        return remote.send("POST", f"/_test/{name}", sent, body)

    return post
