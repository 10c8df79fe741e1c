"""The pytest plugin, installed with the package: a console of one's own, and a client logged in to it.

It is loaded in every run of pytest, so all that costs anything is imported by the fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from cloudconsole import Console
    from cloudconsole.testing import ConsoleServer

OPTIONS: Final = {
    "cloud": "cloud file to serve instead of the sample (in the ini file: from its folder)",
    "username": "account to log in with; of the sample it is demo",
    "password": "its password: one of a cloud made for tests, and of nothing else",
    "clock": "time at which the console's clock begins, such as 2026-01-01T00:59:30Z",
    "seed": "text that makes ids and tokens the same in every run",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cloudconsole", "a Cloud Console to test against")
    for name, meaning in OPTIONS.items():
        group.addoption(f"--cloudconsole-{name}", metavar=name.upper(), help=meaning)
        parser.addini(f"cloudconsole_{name}", meaning)
    parser.addini("cloudconsole_clock_fixed", "let the console's clock stand", type="bool", default=False)
    parser.addini("cloudconsole_flags", "further flags of cloudconsole serve", type="args")


@pytest.fixture(scope="session")
def cloudconsole_server(pytestconfig: pytest.Config) -> Iterator[ConsoleServer]:
    """A console that serves in test mode on this machine, one for the whole session."""
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
    """A client logged in to the console, which is as at its start, before the test and after it."""
    from httpx2 import HTTPTransport

    from cloudconsole import Console

    server = cloudconsole_server
    if not server.accounts:
        pytest.fail("cloudconsole_client: give cloudconsole_username and cloudconsole_password, too", pytrace=False)
    server.reset()
    with Console(
        server.address,
        region=server.region,
        username=server.username,
        password=server.password,
        # One of its own, because no proxy in the environment knows the way to it.
        transport=HTTPTransport(),
    ) as client:
        # A first call proves the login: what fails from here on, the test made fail.
        client.urls()
        yield client
    server.reset()


def _option(config: pytest.Config, name: str) -> str | None:
    """What the command line says, else the ini file."""
    return config.getoption(f"cloudconsole_{name}") or config.getini(f"cloudconsole_{name}") or None


def _cloud(config: pytest.Config) -> str | None:
    given: str | None = config.getoption("cloudconsole_cloud")
    if given:
        return str(config.invocation_params.dir / given)
    in_file: str = config.getini("cloudconsole_cloud")
    return str((config.inipath.parent if config.inipath else config.rootpath) / in_file) if in_file else None
