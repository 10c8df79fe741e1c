"""Fixtures that all suites share."""

import gc
import os
import signal
from collections import Counter
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings

from cloudconsole.backends.embedded import identity
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.base import Reader
from cloudconsole.store.passwords import needs_rehash
from tests import stores
from tests.harness import (
    Caller,
    HeldClock,
    InProcess,
    OverHttp,
    RunningServer,
    make_logins_quick,
    make_sample_store,
    running_server,
)
from tests.sql_cache import share_what_is_compiled

# A machine may stall for a moment at any time: no example is held to a time.
hypothesis_settings.register_profile("patient", deadline=None)
hypothesis_settings.load_profile("patient")

# Whoever starts the tests in the background may have them ignore it, and with them every program that they interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

NOON = datetime(2026, 11, 15, 12, 20, tzinfo=UTC).timestamp()


def pytest_addoption(parser: pytest.Parser) -> None:
    kinds = ("embedded", "postgresql")
    parser.addoption("--store", choices=kinds, default=kinds[0], help="the kind of store that the tests make")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "embedded_only: about the files of the embedded store")
    config.addinivalue_line("markers", "before_nginx: what a proxy in front answers by itself")
    config.addinivalue_line("markers", "long: takes or waits so long that its module begins before the others")
    # Commands reject files that others can write, as a umask of 002 makes them.
    os.umask(0o022)
    stores.use(config.getoption("store"))
    share_what_is_compiled()
    gc.disable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("store") != "embedded":
        left_out = [item for item in items if item.get_closest_marker("embedded_only")]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
    _put_longest_first(items)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Workers begin at different modules, so that none compiles what another does at the same time."""
    report = yield
    if isinstance(collector, pytest.Directory) and hasattr(collector.config, "workerinput"):
        place = int(collector.config.workerinput["workerid"].removeprefix("gw"))
        begin = len(report.result) * place // collector.config.workerinput["workercount"]
        report.result = report.result[begin:] + report.result[:begin]
    return report


def pytest_collection_finish() -> None:
    """What was loaded and collected stays to the end: none of it is looked at whenever garbage is searched for."""
    gc.freeze()
    gc.enable()


def _put_longest_first(items: list[pytest.Item]) -> None:
    """So that no worker is left with a long module when the others have ended; a module's tests stay together.

    The order is the same for all workers, wherever they began to collect."""
    sizes = Counter(item.path for item in items)
    long = {item.path for item in items if item.get_closest_marker("long")}
    items.sort(key=lambda item: (item.path not in long, -sizes[item.path], item.path))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """The databases of a test's own stores are there for others after it."""
    own: Path | None = getattr(item, "funcargs", {}).get("tmp_path")
    yield
    if own is not None:
        stores.give_back_databases(own)


@pytest.fixture(scope="session", autouse=True)
def _quick_hashes_stay() -> Iterator[None]:
    """Consoles in this process leave the cheap hashes of the tests as they are; see `rehashing`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity, "needs_rehash", lambda _password_hash: False)
        yield


@pytest.fixture
def rehashing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Consoles in this process replace hashes at login, as all others do."""
    monkeypatch.setattr(identity, "needs_rehash", needs_rehash)


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with nothing in it; copy it, never change it."""
    return stores.make_store(tmp_path_factory.mktemp("empty") / "data")


@pytest.fixture(scope="session")
def sample_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the sample cloud; copy it, never change it."""
    return make_sample_store(tmp_path_factory.mktemp("sample") / "data", NOON)


@pytest.fixture(scope="session")
def quick_store(sample_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample cloud whose passwords cost next to nothing to check; copy it, never change it."""
    folder = stores.copy_store(sample_store, tmp_path_factory.mktemp("quick") / "data")
    make_logins_quick(folder)
    return folder


@pytest.fixture
def data(sample_store: Path, tmp_path: Path) -> Path:
    """A store of one's own with the sample cloud."""
    return stores.copy_store(sample_store, tmp_path / "data")


@pytest.fixture
def folder(empty_store: Path, tmp_path: Path) -> Path:
    """A store of one's own with nothing in it."""
    return stores.copy_store(empty_store, tmp_path / "data")


@pytest.fixture
def reader(folder: Path) -> Iterator[Reader]:
    """For the hot reads of that store."""
    with stores.reading(folder) as reader:
        yield reader


@pytest.fixture
def clock() -> HeldClock:
    return HeldClock(NOON)


@pytest.fixture
def settings(data: Path) -> Settings:
    return stores.settings_over(data)


@pytest.fixture
def wire(settings: Settings, clock: HeldClock) -> Iterator[InProcess]:
    """A console in process, over its own store, with a clock that is held."""
    console = InProcess(Console(settings, clock))
    yield console
    console.close()


@pytest.fixture
def visitor(wire: InProcess) -> Caller:
    """Someone who has not logged in."""
    return Caller(wire)


@pytest.fixture
def demo(wire: InProcess) -> Caller:
    """The sample's tenant, logged in."""
    caller = Caller(wire)
    assert caller.login().status == 200
    return caller


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A listening server that a whole session shares; its store is changed by no test but through the interface."""
    with running_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def remote(server: RunningServer) -> Iterator[OverHttp]:
    connection = OverHttp(server.base)
    yield connection
    connection.close()
