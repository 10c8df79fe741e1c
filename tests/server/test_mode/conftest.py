"""One console in test mode for the whole suite, on its own clock, as at its start before every test."""

from collections.abc import Iterator
from typing import Any

import pytest

from cloudconsole.testing import ConsoleServer, running_console
from tests.harness import JSON, Caller, OverHttp, Reply

START = "2026-01-01T00:59:30Z"


@pytest.fixture(scope="session")
def running() -> Iterator[ConsoleServer]:
    with running_console(clock=START, clock_fixed=True, seed="tests") as server:
        yield server


@pytest.fixture
def desk(running: ConsoleServer) -> ConsoleServer:
    """The console as at its start."""
    running.reset()
    return running


@pytest.fixture
def remote(desk: ConsoleServer) -> Iterator[OverHttp]:
    connection = OverHttp(desk.address)
    yield connection
    connection.close()


@pytest.fixture
def visitor(remote: OverHttp) -> Caller:
    return Caller(remote)


@pytest.fixture
def demo(remote: OverHttp) -> Caller:
    """The sample's tenant, logged in."""
    caller = Caller(remote)
    assert caller.login().status == 200
    return caller


class Control:
    """`POST /_test/<name>` with any headers and body."""

    def __init__(self, wire: OverHttp) -> None:
        self._wire = wire

    def __call__(self, name: str, body: bytes = b"{}", **headers: str) -> Reply:
        sent = {"Content_Type": JSON, **headers}
        pairs = [(key.replace("_", "-"), value) for key, value in sent.items()]
        return self._wire.send("POST", f"/_test/{name}", pairs, body)


@pytest.fixture
def control(remote: OverHttp) -> Control:
    return Control(remote)


def costs(caller: Caller) -> Any:
    return caller.call("GetConsumptionsEstimated").data
