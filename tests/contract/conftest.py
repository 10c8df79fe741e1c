"""The same suite over two wires: a console in this process, and one that listens; on PostgreSQL, two behind nginx."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fuzz.response_validator import Request, ResponseValidator

from cloudconsole.server.app import Console
from cloudconsole.server.openapi.document import build_document
from tests.conftest import NOON
from tests.harness import (
    Caller,
    HeaderPairs,
    HeldClock,
    InProcess,
    OverHttp,
    Reply,
    RunningServer,
    Wire,
    make_logins_quick,
    make_sample_store,
)
from tests.stores import copy_store, settings_over

HERE = Path(__file__).parent
VALIDATOR = ResponseValidator(build_document())

Jars = dict[tuple[str, str], dict[str, str]]


@pytest.fixture(scope="session")
def in_process(sample_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    data = copy_store(sample_store, tmp_path_factory.mktemp("contract") / "data")
    console = InProcess(Console(settings_over(data), HeldClock(NOON)))
    yield console
    console.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "wire" in metafunc.fixturenames:
        listening = "behind nginx" if metafunc.config.getoption("store") == "postgresql" else "listening"
        metafunc.parametrize("wire", ["in process", listening], indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On PostgreSQL each over one wire: behind nginx, but for what nginx itself answers."""
    if config.getoption("store") == "postgresql":
        left_out = [item for item in items if isinstance(item, pytest.Function) and _is_over_another_wire(item)]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


def _is_over_another_wire(item: pytest.Function) -> bool:
    own = "in process" if item.get_closest_marker("before_nginx") else "behind nginx"
    return "wire" in item.fixturenames and item.path.parent == HERE and item.callspec.params.get("wire") != own


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two replicas over one database, behind nginx; its address."""
    from tests.scale.sites import site_of_two

    folder = make_sample_store(tmp_path_factory.mktemp("site") / "data", time.time())
    make_logins_quick(folder)
    with site_of_two(folder) as running:
        yield running.nginx.base


@pytest.fixture
def wire(request: pytest.FixtureRequest) -> Iterator[Wire]:
    """Each test runs once over each of the two."""
    if request.param == "in process":
        yield request.getfixturevalue("in_process")
        return
    base: str
    if request.param == "behind nginx":
        base = request.getfixturevalue("site")
    else:
        server: RunningServer = request.getfixturevalue("server")
        base = server.base
    connection = OverHttp(base)
    yield connection
    connection.close()


@pytest.fixture(autouse=True)
def documented(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer that the suite sees must be one that the OpenAPI document promises."""
    for kind in (InProcess, OverHttp):
        monkeypatch.setattr(kind, "send", _validated(kind.send))


def _validated(send: Callable[..., Reply]) -> Callable[..., Reply]:
    def send_and_validate(wire: Wire, method: str, path: str, headers: HeaderPairs, body: bytes = b"") -> Reply:
        reply = send(wire, method, path, headers, body)
        VALIDATOR.check(Request(method, path, headers, body), reply)
        return reply

    return send_and_validate


@pytest.fixture(scope="session")
def jars() -> Jars:
    """Cookies of those logged in, by wire and user: one login each serves the whole suite."""
    return {}


def _logged_in(wire: Wire, jars: Jars, username: str) -> Caller:
    key = (type(wire).__name__, username)
    if key not in jars:
        caller = Caller(wire)
        assert caller.login(username, f"console-{username}").status == 200
        jars[key] = dict(caller.cookies)
    return Caller(wire, dict(jars[key]))


@pytest.fixture
def visitor(wire: Wire) -> Caller:
    """Someone who has not logged in."""
    return Caller(wire)


@pytest.fixture
def demo(wire: Wire, jars: Jars) -> Caller:
    """The sample's first tenant."""
    return _logged_in(wire, jars, "demo")


@pytest.fixture
def other(wire: Wire, jars: Jars) -> Caller:
    """The sample's second tenant."""
    return _logged_in(wire, jars, "other")


@pytest.fixture(params=["demo", "other"])
def tenant(request: pytest.FixtureRequest, wire: Wire, jars: Jars) -> tuple[str, Caller]:
    """Each of the two tenants: its name, and someone of it logged in."""
    return request.param, _logged_in(wire, jars, request.param)
