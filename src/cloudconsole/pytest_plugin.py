"""Pytest plugin: a console for tests, and clients logged in to it.

Every pytest run loads it, so the fixtures import everything expensive.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from cloudconsole import AsyncConsole, Console
    from cloudconsole.testing import ConsoleServer

OPTIONS: Final = {
    "cloud": "cloud file to serve instead of the sample (in the ini file: relative to it)",
    "username": "account to log in with (sample: demo)",
    "password": "its password; use one made for tests only",
    "clock": "start time of the console's clock, such as 2026-11-15T12:00:00Z (default: now)",
    "seed": "seed that makes IDs and tokens reproducible",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cloudconsole", "Cloud Console test server")
    for name, help_text in OPTIONS.items():
        group.addoption(f"--cloudconsole-{name}", metavar=name.upper(), help=help_text)
        parser.addini(f"cloudconsole_{name}", help_text)
    parser.addini("cloudconsole_clock_fixed", "stop the console's clock", type="bool", default=False)
    parser.addini("cloudconsole_in_process", "run the console in the test process", type="bool", default=False)
    parser.addini("cloudconsole_flags", "additional flags of cloudconsole serve", type="args")


@pytest.fixture(scope="session")
def cloudconsole_session_server(pytestconfig: pytest.Config) -> Iterator[ConsoleServer]:
    """Run a console in test mode on this machine, one per session; nothing resets it."""
    from cloudconsole import testing

    start = testing.in_process_console if pytestconfig.getini("cloudconsole_in_process") else testing.running_console
    username, password = _option(pytestconfig, "username"), _option(pytestconfig, "password")
    try:
        with start(
            cloud=_cloud(pytestconfig),
            accounts={username: password} if username and password else None,
            clock=_option(pytestconfig, "clock"),
            clock_fixed=pytestconfig.getini("cloudconsole_clock_fixed"),
            seed=_option(pytestconfig, "seed"),
            flags=pytestconfig.getini("cloudconsole_flags"),
        ) as server:
            yield server
    except (testing.ServerNotStarted, ValueError, TypeError) as problem:
        pytest.fail(str(problem), pytrace=False)


@pytest.fixture
def cloudconsole_server(cloudconsole_session_server: ConsoleServer) -> ConsoleServer:
    """Return the session's console, reset for this test."""
    cloudconsole_session_server.reset()
    return cloudconsole_session_server


@pytest.fixture
def cloudconsole_client(cloudconsole_server: ConsoleServer) -> Iterator[Console]:
    """Return a logged-in client of the console."""
    _require_account(cloudconsole_server, "cloudconsole_client")
    with cloudconsole_server.client() as client:
        # Verify the login with a first call, so that later failures are the test's.
        client.urls()
        cloudconsole_server.clear_requests()
        yield client


@pytest.fixture
def cloudconsole_async_client(cloudconsole_server: ConsoleServer) -> AsyncConsole:
    """Return a logged-in asynchronous client of the console, for any event loop or plugin that runs async tests.

    It leaves no connection open, so the test need not close it.
    """
    _require_account(cloudconsole_server, "cloudconsole_async_client")
    with cloudconsole_server.client() as client:
        client.urls()
        session, about = client.session, client.about()
    cloudconsole_server.clear_requests()
    async_client = cloudconsole_server.async_client(session=session)
    # Known from the login of a client that has logged in itself.
    async_client._protocol.remember(about)
    return async_client


def _require_account(server: ConsoleServer, fixture: str) -> None:
    if not server.accounts:
        pytest.fail(f"{fixture}: set cloudconsole_username and cloudconsole_password, too", pytrace=False)


def _option(config: pytest.Config, name: str) -> str | None:
    """Return an option from the command line, else from the ini file."""
    return config.getoption(f"cloudconsole_{name}") or config.getini(f"cloudconsole_{name}") or None


def _cloud(config: pytest.Config) -> str | None:
    given: str | None = config.getoption("cloudconsole_cloud")
    if given:
        return str(config.invocation_params.dir / given)
    in_file: str = config.getini("cloudconsole_cloud")
    return str((config.inipath.parent if config.inipath else config.rootpath) / in_file) if in_file else None
