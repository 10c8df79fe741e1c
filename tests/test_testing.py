"""A console as a context manager, for any test framework."""

import os
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cloudconsole import Console
from cloudconsole.testing import ConsoleServer, ServerNotStarted, running_console
from tests.e2e.processes import eventually
from tests.harness import CERTIFICATES, clean_environment
from tests.test_pytest_plugin import forked_consoles

__all__ = ["forked_consoles"]


def is_listening(address: str) -> bool:
    host, port = address.removeprefix("http://").split(":")
    with socket.socket() as connection:
        return connection.connect_ex((host, int(port))) == 0


def logged_in(server: ConsoleServer) -> Console:
    return Console(server.address, region=server.region, username=server.username, password=server.password)


def test_sample_is_served_and_everything_is_removed_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    with pytest.raises(ServerNotStarted, match=f"the console at {server.address} does not respond"):
        server.reset()


def test_console_stops_when_the_tests_are_killed(tmp_path: Path) -> None:
    script = """
import time
from cloudconsole.testing import running_console
with running_console() as server:
    print(server.address, flush=True)
    # Until it is killed.
    time.sleep(3600)
"""
    environment = clean_environment(TMPDIR=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment) as tests:
        assert tests.stdout is not None
        address = tests.stdout.readline().strip()
        assert is_listening(address)
        tests.kill()
    eventually(lambda: not is_listening(address))
    eventually(lambda: not list(tmp_path.iterdir()))


def test_environment_and_modules_in_the_working_directory_are_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "CLOUDCONSOLE_PORT", "nonsense")
    monkeypatch.setitem(os.environ, "http_proxy", "http://127.0.0.1:9")
    (tmp_path / "calendar.py").write_text("raise SystemExit('not the calendar')\n")
    monkeypatch.chdir(tmp_path)
    with running_console() as server:
        server.reset()


@pytest.mark.usefixtures("forked_consoles")
def test_controls_use_the_listening_address() -> None:
    with running_console(flags=["--public-origin", "http://localhost:1"]) as server:
        assert server.address == "http://localhost:1"
        server.reset()


@pytest.mark.usefixtures("forked_consoles")
def test_tls_is_rejected() -> None:
    tls = ["--tls-certificate", str(CERTIFICATES / "ec.pem"), "--tls-key", str(CERTIFICATES / "ec-key.pem")]
    with pytest.raises(ServerNotStarted, match="do not support TLS"), running_console(flags=tls):
        pass


@pytest.mark.parametrize(
    "response", [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\n\r\nhello", b"HTTP/1.1 200 OK\r\n\r\n[1]", b""]
)
def test_other_server_is_reported_as_not_responding(response: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, ThreadPoolExecutor(1) as thread:

        def respond_once() -> None:
            connection, _ = other.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(response)

        thread.submit(respond_once)
        address = f"http://127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(ServerNotStarted, match=f"the console at {address} does not respond"):
            ConsoleServer(address, "", Path(), {}).reset()


@pytest.mark.usefixtures("forked_consoles")
def test_startup_error_is_raised() -> None:
    with pytest.raises(ServerNotStarted) as error, running_console(cloud="no/such.yaml"):
        pass
    assert str(error.value) == "cloudconsole: no/such.yaml cannot be read: No such file or directory"


def test_username_needs_an_account() -> None:
    with pytest.raises(ServerNotStarted, match="no account: pass a username"):
        assert ConsoleServer("http://127.0.0.1:9", "", Path(), {}).username
