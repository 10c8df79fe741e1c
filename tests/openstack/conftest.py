"""The cloud that `tests/openstack/run` has started, and consoles that use it."""

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
from tests.harness import HttpTransport, RunningServer, running_server
from tests.openstack.reference import PRICES
from tests.openstack.tenants import FederatedClient, Tenant, TenantFactory, prepare_console

Serve = Callable[..., RunningServer]
"""Starts a console; takes lines for the endpoint's TOML table, and settings by name."""

PATIENT = {"cloud_call_timeout": 300, "cloud_timeout": 300}
"""No test fails because services are slow on a busy machine."""

NewClient = Callable[..., FederatedClient]
"""Creates clients of the default console or of a given one, not logged in yet."""

NewTenant = Callable[[], Tenant]
"""Creates a tenant, logged in to the console."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the longest tests, too")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "full: takes long and runs only with --full")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        # The SDK warns about its own code.
        item.add_marker(pytest.mark.filterwarnings("ignore::openstack.warnings._RemovedInSDKWarning"))
    if not config.getoption("full"):
        deselected = [item for item in items if item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=deselected)
        items[:] = [item for item in items if item not in deselected]


@pytest.fixture(scope="session")
def lab() -> Lab:
    return Lab.open(Path(os.environ["LAB"]))


@pytest.fixture(scope="session")
def admin(lab: Lab) -> Iterator[Connection]:
    with lab.connect("admin") as connection:
        yield connection


@pytest.fixture(scope="session")
def factory(lab: Lab, admin: Connection) -> Iterator[TenantFactory]:
    """Create projects and users for single tests."""
    with closing(TenantFactory(lab, admin)) as factory:
        yield factory


@pytest.fixture(scope="session")
def priced_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a store that has only prices; copy it, never modify it."""
    directory = tmp_path_factory.mktemp("priced") / "data"
    prepare(directory)
    with opened(directory, "cloud") as engine:
        load(engine, PRICES, zone=UTC, now=1_800_000_000, actor="tests")
    return directory


@pytest.fixture(scope="module")
def serve(lab: Lab, priced_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    with ExitStack() as running:

        def start(endpoint: str = "", **settings: str | int) -> RunningServer:
            directory = tmp_path_factory.mktemp("console")
            flags = prepare_console(lab, directory, priced_store, endpoint, PATIENT | settings)
            return running.enter_context(running_server(directory, *flags, sample=False))

        yield start


@pytest.fixture(scope="module")
def console(serve: Serve) -> RunningServer:
    """Start a console without caches: every response shows the current state of the cloud."""
    return serve(cloud_cache=0, flavor_cache=0)


@pytest.fixture
def new_client(console: RunningServer, lab: Lab) -> Iterator[NewClient]:
    with ExitStack() as transports:

        def create(at: RunningServer = console) -> FederatedClient:
            return FederatedClient(transports.enter_context(closing(HttpTransport(at.base))), lab)

        yield create


@pytest.fixture
def new_tenant(factory: TenantFactory, new_client: NewClient) -> Iterator[NewTenant]:
    """Create users with their own project, logged in."""
    with ExitStack() as connections:

        def create() -> Tenant:
            project = factory.project()
            user = factory.user(project, default=project)
            connection = connections.enter_context(closing(factory.connect(user, factory.lab.regions[0])))
            return Tenant(user, connection, new_client().log_in_as(user))

        yield create
