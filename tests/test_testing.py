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
    with pytest.raises(ServerNotStarted, match=f"the console at {server.address} does not respond"):
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


def test_what_lies_in_the_folder_of_the_tests_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "calendar.py").write_text("raise SystemExit('not the calendar')\n")
    monkeypatch.chdir(tmp_path)
    with running_console() as server:
        server.reset()


def test_it_is_steered_where_it_listens_whatever_clients_call_it() -> None:
    with running_console(flags=["--public-origin", "http://localhost:1"]) as server:
        assert server.address == "http://localhost:1"
        server.reset()


def test_it_speaks_plain_http() -> None:
    tls = ["--tls-certificate", str(CERTIFICATES / "ec.pem"), "--tls-key", str(CERTIFICATES / "ec-key.pem")]
    with pytest.raises(ServerNotStarted, match="do not support TLS"), running_console(flags=tls):
        pass


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\n\r\nhello", b"HTTP/1.1 200 OK\r\n\r\n[1]", b""]
)
def test_what_is_no_console_is_told_in_a_line(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, ThreadPoolExecutor(1) as thread:

        def answer_once() -> None:
            connection, _ = other.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread.submit(answer_once)
        address = f"http://127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(ServerNotStarted, match=f"the console at {address} does not respond"):
            ConsoleServer(address, "", Path(), {}).reset()


def test_one_that_cannot_start_says_why() -> None:
    with pytest.raises(ServerNotStarted) as refused, running_console(cloud="no/such.yaml"):
        pass
    assert str(refused.value) == "cloudconsole: no/such.yaml cannot be read: No such file or directory"


def test_without_accounts_there_is_no_username() -> None:
    with pytest.raises(ServerNotStarted, match="no account: pass a username"):
        assert ConsoleServer("http://127.0.0.1:9", "", Path(), {}).username
