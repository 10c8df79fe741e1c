"""Fixtures that all suites share."""

import gc
import os
import signal
from collections import Counter
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from cloudconsole.backends.embedded import identity
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.base import Reader
from cloudconsole.store.passwords import needs_rehash
from tests import stores
from tests.harness import (
    ApiClient,
    FakeClock,
    HttpTransport,
    InProcessTransport,
    RunningServer,
    make_sample_store,
    running_server,
    use_fast_hashes,
)
from tests.sql_cache import share_compiled_sql

# Examples have no deadline, and generating them may be slow: any machine may stall for a moment.
hypothesis_settings.register_profile("no-deadline", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("no-deadline")

# A shell that runs the tests in the background makes them, and every process they start, ignore SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)

SLOW_SUITES = {Path(__file__).parent / name for name in ("bench", "cluster", "consistency", "docs", "fuzz", "lab")}
"""Tests of the documentation and of the tools around the product; left to `make test-all`."""

OTHER_COMMANDS = """\
Left to other commands:
  make test-all         slow tests, and tests of the documentation and of tools
  make test-browser     web UIs in Chromium
  make test-interop     clients and a fuzzer of others
  make test-openstack   in front of a real OpenStack
  make test-postgresql  on PostgreSQL
  make test-scale       several replicas on PostgreSQL
  make test-versions    other Pythons, lowest versions of dependencies
"""

SAMPLE_TIME = datetime(2026, 11, 15, 12, 20, tzinfo=UTC).timestamp()


def pytest_addoption(parser: pytest.Parser) -> None:
    kinds = ("embedded", "postgresql")
    parser.addoption("--store", choices=kinds, default=kinds[0], help="kind of store that the tests use")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "embedded_only: depends on the files of the embedded store")
    config.addinivalue_line("markers", "not_behind_nginx: nginx in front of the console responds by itself")
    config.addinivalue_line("markers", "slow: left to `make test-all`, where its module starts before the others")
    # Commands reject files that other users can write, which a umask of 002 would create.
    os.umask(0o022)
    stores.select_store_kind(config.getoption("store"))
    share_compiled_sql()
    gc.disable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    # None leaves the decision to others.
    return True if _leaves_slow_tests(config) and collection_path in SLOW_SUITES else None


@pytest.hookimpl(tryfirst=True)  # before pytest selects by markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if not SLOW_SUITES.isdisjoint(item.path.parents):
            item.add_marker("slow")
    if config.getoption("store") != "embedded":
        deselected = [item for item in items if item.get_closest_marker("embedded_only")]
        items[:] = [item for item in items if item not in deselected]
        config.hook.pytest_deselected(items=deselected)
    _put_longest_first(items)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let each worker start collecting at a different module, so that no two compile the same one at a time."""
    report = yield
    if isinstance(collector, pytest.Directory) and hasattr(collector.config, "workerinput"):
        worker = int(collector.config.workerinput["workerid"].removeprefix("gw"))
        start = len(report.result) * worker // collector.config.workerinput["workercount"]
        report.result = report.result[start:] + report.result[:start]
    return report


def pytest_collection_finish() -> None:
    """Exclude everything loaded and collected so far, which stays until the end, from garbage collection."""
    gc.freeze()
    gc.enable()


# Quoted: pytest 8.3 does not export this type.
def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter", config: pytest.Config) -> None:
    if _leaves_slow_tests(config):
        terminalreporter.write(OTHER_COMMANDS)


def _leaves_slow_tests(config: pytest.Config) -> bool:
    return bool(config.option.markexpr == "not slow")


def _put_longest_first(items: list[pytest.Item]) -> None:
    """Sort modules by length, so that no worker is left with a long one at the end; a module's tests stay together.

    The order is the same for all workers, wherever they started collecting.
    """
    sizes = Counter(item.path for item in items)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, -sizes[item.path], item.path))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Return the databases of a test's stores to the pool."""
    store_directory: Path | None = getattr(item, "funcargs", {}).get("tmp_path")
    yield
    if store_directory is not None:
        stores.release_databases(store_directory)


@pytest.fixture(scope="session", autouse=True)
def _keep_fast_hashes() -> Iterator[None]:
    """Keep consoles in this process from replacing the cheap password hashes of the tests; see `rehashing`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity, "needs_rehash", lambda _password_hash: False)
        yield


@pytest.fixture
def rehashing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let consoles in this process replace outdated hashes at login, as in production."""
    monkeypatch.setattr(identity, "needs_rehash", needs_rehash)


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty store; copy it, never change it."""
    return stores.make_store(tmp_path_factory.mktemp("empty") / "data")


@pytest.fixture(scope="session")
def sample_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the sample cloud; copy it, never change it."""
    return make_sample_store(tmp_path_factory.mktemp("sample") / "data", SAMPLE_TIME)


@pytest.fixture(scope="session")
def fast_hash_store(sample_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the sample cloud and cheap password hashes; copy it, never change it."""
    folder = stores.copy_store(sample_store, tmp_path_factory.mktemp("quick") / "data")
    use_fast_hashes(folder)
    return folder


@pytest.fixture
def data(sample_store: Path, tmp_path: Path) -> Path:
    """The test's own store with the sample cloud."""
    return stores.copy_store(sample_store, tmp_path / "data")


@pytest.fixture
def folder(empty_store: Path, tmp_path: Path) -> Path:
    """The test's own empty store."""
    return stores.copy_store(empty_store, tmp_path / "data")


@pytest.fixture
def reader(folder: Path) -> Iterator[Reader]:
    """A reader of the empty store (`folder`)."""
    with stores.open_reader(folder) as reader:
        yield reader


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(SAMPLE_TIME)


@pytest.fixture
def settings(data: Path) -> Settings:
    return stores.settings_for(data)


@pytest.fixture
def transport(settings: Settings, clock: FakeClock) -> Iterator[InProcessTransport]:
    """A console in this process, with the test's own store and a fixed clock."""
    console = InProcessTransport(Console(settings, clock))
    yield console
    console.close()


@pytest.fixture
def anonymous_client(transport: InProcessTransport) -> ApiClient:
    """A client that has not logged in."""
    return ApiClient(transport)


@pytest.fixture
def demo(transport: InProcessTransport) -> ApiClient:
    """A client logged in as the sample's tenant."""
    client = ApiClient(transport)
    assert client.login().status == 200
    return client


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A listening server shared by the whole run; tests change its store only through the API."""
    with running_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def remote(server: RunningServer) -> Iterator[HttpTransport]:
    connection = HttpTransport(server.base)
    yield connection
    connection.close()
