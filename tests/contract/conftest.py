"""Run the suite in process and against a listening server; on PostgreSQL, against two replicas behind nginx."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fuzz.response_validator import Request, ResponseValidator

from cloudconsole.server.app import Console
from cloudconsole.server.openapi.document import build_document
from tests.conftest import SAMPLE_TIME
from tests.harness import (
    ApiClient,
    FakeClock,
    HeaderPairs,
    HttpTransport,
    InProcessTransport,
    Reply,
    RunningServer,
    Transport,
    make_sample_store,
    use_fast_hashes,
)
from tests.stores import copy_store, settings_for

HERE = Path(__file__).parent
VALIDATOR = ResponseValidator(build_document())

StartConsole = Callable[..., ApiClient]
Jars = dict[tuple[str, str], dict[str, str]]


@pytest.fixture(scope="session")
def in_process(fast_hash_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessTransport]:
    data = copy_store(fast_hash_store, tmp_path_factory.mktemp("contract") / "data")
    console = InProcessTransport(Console(settings_for(data), FakeClock(SAMPLE_TIME)))
    yield console
    console.close()


@pytest.fixture
def data(fast_hash_store: Path, tmp_path: Path) -> Path:
    """The store of a console that only one test uses."""
    return copy_store(fast_hash_store, tmp_path / "data")


@pytest.fixture
def start_console(data: Path, clock: FakeClock) -> Iterator[StartConsole]:
    """Start a console in this process that only one test uses."""
    started: list[InProcessTransport] = []

    def start(**settings: Any) -> ApiClient:
        started.append(InProcessTransport(Console(settings_for(data, **settings), clock)))
        return ApiClient(started[-1])

    yield start
    for console in started:
        console.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "transport" in metafunc.fixturenames:
        listening = "behind nginx" if metafunc.config.getoption("store") == "postgresql" else "listening"
        metafunc.parametrize("transport", ["in process", listening], indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run each test once on PostgreSQL: behind nginx, or in process if nginx itself would respond."""
    if config.getoption("store") == "postgresql":
        deselected = [item for item in items if isinstance(item, pytest.Function) and _uses_another_wire(item)]
        items[:] = [item for item in items if item not in deselected]
        config.hook.pytest_deselected(items=deselected)


def _uses_another_wire(item: pytest.Function) -> bool:
    expected = "in process" if item.get_closest_marker("not_behind_nginx") else "behind nginx"
    return (
        "transport" in item.fixturenames
        and item.path.parent == HERE
        and item.callspec.params.get("transport") != expected
    )


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of an nginx in front of two replicas that share one database."""
    from tests.scale.sites import two_replica_site

    data = make_sample_store(tmp_path_factory.mktemp("site") / "data", time.time())
    use_fast_hashes(data)
    with two_replica_site(data) as running:
        yield running.nginx.base


@pytest.fixture
def transport(request: pytest.FixtureRequest) -> Iterator[Transport]:
    """The transport to the console; each test runs once over each."""
    if request.param == "in process":
        yield request.getfixturevalue("in_process")
        return
    base: str
    if request.param == "behind nginx":
        base = request.getfixturevalue("site")
    else:
        server: RunningServer = request.getfixturevalue("server")
        base = server.base
    connection = HttpTransport(base)
    yield connection
    connection.close()


@pytest.fixture(autouse=True)
def responses_match_openapi(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validate every response of the suite against the OpenAPI document."""
    for kind in (InProcessTransport, HttpTransport):
        monkeypatch.setattr(kind, "send", _validated(kind.send))


def _validated(send: Callable[..., Reply]) -> Callable[..., Reply]:
    def send_and_validate(
        transport: Transport, method: str, path: str, headers: HeaderPairs, body: bytes = b""
    ) -> Reply:
        reply = send(transport, method, path, headers, body)
        VALIDATOR.check(Request(method, path, headers, body), reply)
        return reply

    return send_and_validate


@pytest.fixture(scope="session")
def jars() -> Jars:
    """Cookies by wire and user; the whole suite shares one login each."""
    return {}


def _logged_in(transport: Transport, jars: Jars, username: str) -> ApiClient:
    key = (type(transport).__name__, username)
    if key not in jars:
        client = ApiClient(transport)
        assert client.login(username, f"console-{username}").status == 200
        jars[key] = dict(client.cookies)
    return ApiClient(transport, dict(jars[key]))


@pytest.fixture
def client(transport: Transport) -> ApiClient:
    """A client that is not logged in."""
    return ApiClient(transport)


@pytest.fixture
def demo(transport: Transport, jars: Jars) -> ApiClient:
    """A client logged in as the sample's first tenant."""
    return _logged_in(transport, jars, "demo")


@pytest.fixture
def other(transport: Transport, jars: Jars) -> ApiClient:
    """A client logged in as the sample's second tenant."""
    return _logged_in(transport, jars, "other")


@pytest.fixture(params=["demo", "other"])
def tenant(request: pytest.FixtureRequest, transport: Transport, jars: Jars) -> tuple[str, ApiClient]:
    """The name of each tenant, with a client logged in as that tenant."""
    return request.param, _logged_in(transport, jars, request.param)
