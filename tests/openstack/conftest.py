"""The cloud that `tests/openstack/run` has started, and consoles before it."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC
from pathlib import Path

import pytest
from lab.cloud import Lab
from openstack.connection import Connection

from cloudconsole.operator.cloud_file import load
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.sqlite.store import prepare
from tests.harness import OverHttp, RunningServer, running_server
from tests.openstack.direct import PRICES
from tests.openstack.guests import Guest, point_at
from tests.openstack.residents import Registry, Resident

Serve = Callable[..., RunningServer]
"""Starts a console of one's own; takes settings by their names, and lines for the endpoint's table."""

Settle = Callable[..., Resident]
"""Brings somebody new; a console other than the usual one may be given."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run what takes longest, too")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "full: takes long, and runs only with --full")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        # The SDK warns of what it does itself.
        item.add_marker(pytest.mark.filterwarnings("ignore::openstack.warnings._RemovedInSDKWarning"))
    if not config.getoption("full"):
        long = [item for item in items if item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


@pytest.fixture(scope="session")
def lab() -> Lab:
    return Lab.open(Path(os.environ["LAB"]))


@pytest.fixture(scope="session")
def admin(lab: Lab) -> Iterator[Connection]:
    with lab.connect("admin") as connection:
        yield connection


@pytest.fixture(scope="session")
def registry(lab: Lab, admin: Connection) -> Iterator[Registry]:
    """Where projects and users of one's own are made."""
    with closing(Registry(lab, admin)) as made:
        yield made


@pytest.fixture(scope="session")
def priced_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with prices and nothing else; copy it, never change it."""
    folder = tmp_path_factory.mktemp("priced") / "data"
    prepare(folder)
    with opened(folder, "cloud") as engine:
        load(engine, PRICES, zone=UTC, now=1_800_000_000, actor="tests")
    return folder


@pytest.fixture(scope="module")
def serve(lab: Lab, priced_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    with ExitStack() as running:

        def start(endpoint: str = "", **settings: str | int) -> RunningServer:
            folder = tmp_path_factory.mktemp("console")
            flags = point_at(lab, folder, priced_store, endpoint, settings)
            return running.enter_context(running_server(folder, *flags, sample=False))

        yield start


@pytest.fixture(scope="module")
def console(serve: Serve) -> RunningServer:
    """A console that keeps no answers: every call shows the cloud as it is."""
    return serve(cloud_cache=0, flavor_cache=0)


@pytest.fixture
def visit(console: RunningServer, lab: Lab) -> Iterator[Callable[..., Guest]]:
    """Somebody before the console, not logged in yet; another console may be given."""
    wires: list[OverHttp] = []

    def arrive(at: RunningServer = console) -> Guest:
        wires.append(OverHttp(at.base))
        return Guest(wires[-1], lab)

    yield arrive
    for wire in wires:
        wire.close()


@pytest.fixture
def alice(visit: Callable[..., Guest]) -> Guest:
    return visit().enter("alice")


@pytest.fixture
def bob(visit: Callable[..., Guest]) -> Guest:
    return visit().enter("bob")


@pytest.fixture
def settle(registry: Registry, visit: Callable[..., Guest]) -> Iterator[Settle]:
    """Somebody new with a project of their own, logged in."""
    connections: list[Connection] = []

    def arrive(*console: RunningServer) -> Resident:
        project = registry.project()
        user = registry.user(project, default=project)
        connections.append(registry.connect(user, registry.lab.regions[0]))
        return Resident(user, connections[-1], visit(*console).enter(user))

    yield arrive
    for connection in connections:
        connection.close()
