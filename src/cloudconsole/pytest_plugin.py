"""Pytest plugin: a console for tests, and a client logged in to it.

Every pytest run loads it, so the fixtures import everything expensive.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from cloudconsole import Console
    from cloudconsole.testing import ConsoleServer

OPTIONS: Final = {
    "cloud": "cloud file to serve instead of the sample (in the ini file: relative to it)",
    "username": "account to log in with (sample: demo)",
    "password": "its password; use one made for tests only",
    "clock": "start time of the console's clock, such as 2026-01-01T00:59:30Z",
    "seed": "seed that makes IDs and tokens reproducible",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cloudconsole", "Cloud Console test server")
    for name, help_text in OPTIONS.items():
        group.addoption(f"--cloudconsole-{name}", metavar=name.upper(), help=help_text)
        parser.addini(f"cloudconsole_{name}", help_text)
    parser.addini("cloudconsole_clock_fixed", "stop the console's clock", type="bool", default=False)
    parser.addini("cloudconsole_flags", "additional flags of cloudconsole serve", type="args")


@pytest.fixture(scope="session")
def cloudconsole_server(pytestconfig: pytest.Config) -> Iterator[ConsoleServer]:
    """Run a console in test mode on this machine, one per session."""
    from cloudconsole.testing import ServerNotStarted, running_console

    username, password = _option(pytestconfig, "username"), _option(pytestconfig, "password")
    try:
        with running_console(
            cloud=_cloud(pytestconfig),
            accounts={username: password} if username and password else None,
            clock=_option(pytestconfig, "clock"),
            clock_fixed=pytestconfig.getini("cloudconsole_clock_fixed"),
            seed=_option(pytestconfig, "seed"),
            flags=pytestconfig.getini("cloudconsole_flags"),
        ) as server:
            yield server
    except ServerNotStarted as problem:
        pytest.fail(str(problem), pytrace=False)


@pytest.fixture
def cloudconsole_client(cloudconsole_server: ConsoleServer) -> Iterator[Console]:
    """Return a logged-in client; the console is reset before and after the test."""
    from httpx2 import HTTPTransport

    from cloudconsole import Console

    server = cloudconsole_server
    if not server.accounts:
        pytest.fail("cloudconsole_client: set cloudconsole_username and cloudconsole_password, too", pytrace=False)
    server.reset()
    with Console(
        server.address,
        region=server.region,
        username=server.username,
        password=server.password,
        # Explicit, to ignore proxy variables in the environment.
        transport=HTTPTransport(),
    ) as client:
        # Verify the login with a first call, so that later failures are the test's.
        client.urls()
        yield client
    server.reset()


def _option(config: pytest.Config, name: str) -> str | None:
    """Return an option from the command line, else from the ini file."""
    return config.getoption(f"cloudconsole_{name}") or config.getini(f"cloudconsole_{name}") or None


def _cloud(config: pytest.Config) -> str | None:
    given: str | None = config.getoption("cloudconsole_cloud")
    if given:
        return str(config.invocation_params.dir / given)
    in_file: str = config.getini("cloudconsole_cloud")
    return str((config.inipath.parent if config.inipath else config.rootpath) / in_file) if in_file else None
