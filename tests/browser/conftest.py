"""A real browser, and a console of one's own in test mode that it looks at."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from cloudconsole import Console
from cloudconsole.testing import ConsoleServer, running_console
from tests.browser.looking import Eyes

PASSWORDS = {"demo": "console-demo", "other": "console-other", "operator": "console-operator"}
NOON = "2026-11-15T12:20:00Z"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    # Debian's Chromium without windows, which nobody would see: half the work of the whole one.
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    assert program, "chromium is missing: apt-get install -y chromium-headless-shell"
    # Chromium's own sandbox does not run as root, nor in many containers.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def served() -> Iterator[ConsoleServer]:
    with running_console(accounts=PASSWORDS, clock=NOON) as server:
        yield server


@pytest.fixture
def console(served: ConsoleServer) -> ConsoleServer:
    """The sample's cloud at noon, as if nobody had been there before."""
    served.reset()
    return served


@pytest.fixture
def eyes(chromium: Browser, console: ConsoleServer) -> Iterator[Eyes]:
    """Somebody who looks at the console; whatever a page complains of fails the test."""
    looking = Eyes(chromium, console)
    yield looking
    looking.close()


@pytest.fixture
def interface(console: ConsoleServer) -> Iterator[Console]:
    """The same console as the sample's tenant sees it without a browser."""
    with Console(console.address, username="demo", password=PASSWORDS["demo"]) as caller:
        yield caller
