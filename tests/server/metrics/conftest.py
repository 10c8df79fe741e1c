"""A console whose figures can be read."""

from collections.abc import Callable, Iterator

import pytest

from cloudconsole.core.clock import SystemClock
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.metrics.exposition import MetricsExposition, StoreGauges
from cloudconsole.server.metrics.shared_memory import SharedMetrics
from tests.harness import HeldClock, InProcess
from tests.server.metrics.pages import Scraped

Scrape = Callable[[], Scraped]


@pytest.fixture
def board() -> SharedMetrics:
    return SharedMetrics(2)


@pytest.fixture
def wire(settings: Settings, clock: HeldClock, board: SharedMetrics) -> Iterator[InProcess]:
    """A console in process that counts as the first of two workers."""
    meter = board.worker(0)
    meter.begin()
    console = InProcess(Console(settings, clock, meter))
    yield console
    console.close()


@pytest.fixture
def scrape(settings: Settings, board: SharedMetrics) -> Scrape:
    """Reads the metrics page, a new one each time."""
    return lambda: Scraped(page_text(board, settings))


def page_text(board: SharedMetrics, settings: Settings) -> str:
    return MetricsExposition(board, StoreGauges(settings, SystemClock())).text()
