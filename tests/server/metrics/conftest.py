"""A console with readable metrics."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cloudconsole.core.clock import SystemClock
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.metrics.exposition import MetricsExposition, StoreGauges
from cloudconsole.server.metrics.shared_memory import SharedMetrics
from tests.harness import FakeClock, InProcessTransport
from tests.server.metrics.metrics_page import MetricsPage
from tests.stores import copy_store

Scrape = Callable[[], MetricsPage]


@pytest.fixture
def data(fast_hash_store: Path, tmp_path: Path) -> Path:
    return copy_store(fast_hash_store, tmp_path / "data")


@pytest.fixture
def shared_metrics() -> SharedMetrics:
    return SharedMetrics(2)


@pytest.fixture
def transport(settings: Settings, clock: FakeClock, shared_metrics: SharedMetrics) -> Iterator[InProcessTransport]:
    """An in-process console that counts as the first of two workers."""
    metrics = shared_metrics.worker(0)
    metrics.begin()
    console = InProcessTransport(Console(settings, clock, metrics))
    yield console
    console.close()


@pytest.fixture
def scrape(settings: Settings, shared_metrics: SharedMetrics) -> Scrape:
    """Render and parse the metrics page."""
    return lambda: MetricsPage(page_text(shared_metrics, settings))


def page_text(shared_metrics: SharedMetrics, settings: Settings) -> str:
    return MetricsExposition(shared_metrics, StoreGauges(settings, SystemClock())).text()
