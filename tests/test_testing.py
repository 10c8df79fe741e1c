"""A console as a context manager, for any test framework."""

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cloudconsole import Console
from cloudconsole.testing import ConsoleServer, NoConsole, running_console
from tests.e2e.processes import eventually
from tests.harness import clean_environment


def is_listening(address: str) -> bool:
    host, port = address.removeprefix("http://").split(":")
    with socket.socket() as connection:
        return connection.connect_ex((host, int(port))) == 0


def logged_in(server: ConsoleServer) -> Console:
    return Console(server.address, region=server.region, username=server.username, password=server.password)


def test_it_serves_the_sample_and_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with running_console() as server:
        with logged_in(server) as console:
            assert console.usage_limits().instances.used == 4
        assert (server.username, server.password) == ("demo", "console-demo")
        assert list(server.accounts) == ["demo", "other", "operator"]
        assert (server.data / "cloud.db").exists()
    assert list(tmp_path.iterdir()) == []
    assert not is_listening(server.address)
    with pytest.raises(NoConsole, match=f"the console on {server.address} does not answer"):
        server.reset()


def test_it_ends_with_tests_that_are_killed(tmp_path: Path) -> None:
    script = """
import time
from cloudconsole.testing import running_console
with running_console() as server:
    print(server.address, flush=True)
    time.sleep(600)
"""
    environment = clean_environment(TMPDIR=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment) as tests:
        assert tests.stdout is not None
        address = tests.stdout.readline().strip()
        assert is_listening(address)
        tests.kill()
    eventually(lambda: not is_listening(address))
    eventually(lambda: not list(tmp_path.iterdir()))


def test_settings_in_the_environment_are_for_other_consoles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "CLOUDCONSOLE_PORT", "nonsense")
    monkeypatch.setitem(os.environ, "http_proxy", "http://127.0.0.1:9")
    with running_console() as server:
        server.reset()


def test_one_that_cannot_start_says_why() -> None:
    with pytest.raises(NoConsole) as refused, running_console(cloud="no/such.yaml"):
        pass
    assert str(refused.value) == "cloudconsole: no/such.yaml cannot be read: No such file or directory"


def test_without_accounts_there_is_no_username() -> None:
    with pytest.raises(NoConsole, match="no account is known"):
        assert ConsoleServer("http://127.0.0.1:9", "", Path(), {}).username
