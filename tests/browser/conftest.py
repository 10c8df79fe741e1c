"""Fixtures: Chromium, a console in test mode, and a client for comparison."""

import os
import shutil
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, sync_playwright

from cloudconsole import Console
from cloudconsole.testing import ConsoleServer, running_console
from tests.browser.helpers import ConsoleBrowser

PASSWORDS = {"demo": "console-demo", "other": "console-other", "operator": "console-operator"}
SAMPLE_TIME = "2026-11-15T12:20:00Z"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    # The headless shell needs half the CPU of the full browser.
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    assert program, "chromium is missing: apt-get install -y chromium-headless-shell"
    # Chromium's sandbox does not work as root, nor in many containers.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server() -> Iterator[ConsoleServer]:
    with running_console(accounts=PASSWORDS, clock=SAMPLE_TIME) as running:
        yield running


@pytest.fixture
def console(server: ConsoleServer) -> ConsoleServer:
    """The server, reset to the sample cloud at noon."""
    server.reset()
    return server


@pytest.fixture
def browser(chromium: Browser, console: ConsoleServer) -> Iterator[ConsoleBrowser]:
    """A browser for the console; errors in its developer console fail the test."""
    with closing(ConsoleBrowser(chromium, console)) as opened:
        yield opened


@pytest.fixture
def client(console: ConsoleServer) -> Iterator[Console]:
    """An API client of the sample tenant, for expected values."""
    with Console(console.address, username="demo", password=PASSWORDS["demo"]) as opened:
        yield opened
