"""A console that serves HTTPS itself: cookies, headers, limits, and reloading of renewed certificates."""

import os
import re
import signal
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copy

import pytest

from tests.e2e.processes import client_of, command, eventually, workers
from tests.e2e.raw_http import RawConnection, request
from tests.harness import CERTIFICATES, RunningServer, client_ssl_context, running_server

HOST = "console.example.com"


def install_certificate(folder: Path, name: str) -> None:
    copy(CERTIFICATES / f"{name}.pem", folder / "certificate.pem")
    copy(CERTIFICATES / f"{name}-key.pem", folder / "key.pem")


@contextmanager
def serving_https(folder: Path, *flags: str) -> Iterator[RunningServer]:
    install_certificate(folder, "rsa")
    files = ("--tls-certificate", str(folder / "certificate.pem"), "--tls-key", str(folder / "key.pem"))
    with running_server(folder, *files, *flags) as running:
        yield running


@pytest.fixture(scope="module")
def https_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    flags = ("--hosts", f"127.0.0.1,{HOST}", "--insecure-sample", "--request-timeout", "2")
    with serving_https(tmp_path_factory.mktemp("https_server"), *flags) as running:
        yield running


@contextmanager
def raw_tls(server: RunningServer) -> Iterator[RawConnection]:
    with client_ssl_context().wrap_socket(server.connect(), server_hostname="localhost") as connection:
        raw = RawConnection(connection)
        try:
            yield raw
        finally:
            raw.close()


def presented_certificate(server: RunningServer) -> str:
    with client_ssl_context().wrap_socket(server.connect(), server_hostname="localhost") as connection:
        certificate = ssl.DER_cert_to_PEM_cert(connection.getpeercert(binary_form=True) or b"")
    return next(name for name in ("rsa", "ec") if (CERTIFICATES / f"{name}.pem").read_text() == certificate)


def test_session_over_https_uses_secure_cookies(https_server: RunningServer) -> None:
    assert https_server.base.startswith("https://127.0.0.1:")
    with client_of(https_server.base) as client:
        opened = client.open()
        assert opened.data["regions"] == [f"{https_server.base}/v3"]
        assert all("; Secure" in cookie for cookie in opened.set_cookies.values())
        assert client.login().status == 200
        assert client.call("GetUsageLimits").status == 200
        assert client.logout().status == 200


def test_every_response_has_hsts(https_server: RunningServer) -> None:
    with raw_tls(https_server) as connection:
        connection.send(request("GET", "/api/"), request("GET", "/nowhere"), request("GET", "/", [("Host", "no")]))
        replies = [connection.answer() for _ in range(3)]
        connection.send(b"this is not HTTP\r\n\r\n")
        replies.append(connection.answer())
    assert [reply.status for reply in replies] == [200, 404, 400, 400]
    assert {reply.header("strict-transport-security") for reply in replies} == {"max-age=31536000"}


def test_missing_handshake_and_incomplete_request_time_out(https_server: RunningServer) -> None:
    with closing(RawConnection(https_server.connect())) as silent, raw_tls(https_server) as slow:
        slow.send(b"GET /api/ HTTP/1.1\r\n")
        assert silent.rest() == b""
        assert slow.answer().status == 408
        assert slow.rest() == b""


def test_client_sees_the_rejection_of_an_oversized_body(https_server: RunningServer) -> None:
    body = b"x" * 300_000
    with raw_tls(https_server) as connection:
        connection.send(request("POST", "/api/", [("Content-Length", str(len(body)))], body))
        assert connection.answer().status == 413


def test_client_that_never_reads_is_disconnected(https_server: RunningServer) -> None:
    with raw_tls(https_server) as connection, pytest.raises(OSError) as error:  # noqa: PT012
        while True:
            connection.socket.sendall(request("GET", "/api/") * 50)
    assert not isinstance(error.value, TimeoutError)


def test_broken_connections_and_plain_http_log_no_traceback(https_server: RunningServer) -> None:
    with raw_tls(https_server) as connection:
        connection.send(request("GET", "/api/"))
    for sent in (b"\x16\x03\x01\x00\x05hello", request("GET", "/api/")):
        with closing(RawConnection(https_server.connect())) as plain:
            plain.send(sent)
            assert b"HTTP" not in plain.rest()
    with client_of(https_server.base) as client:
        assert client.open().status == 200
    assert "Traceback" not in https_server.log()


def test_renewed_certificate_is_used_after_a_reload_and_by_restarted_workers(tmp_path: Path) -> None:
    with serving_https(tmp_path, "--workers", "2") as server:
        with client_of(server.base) as client:
            assert client.login().status == 200
            install_certificate(tmp_path, "ec")
            server.process.send_signal(signal.SIGHUP)
            eventually(lambda: server.log().count("SIGHUP: reloaded the certificate") == 2)
            assert {presented_certificate(server) for _ in range(10)} == {"ec"}
            assert client.call("GetNews").status == 200
        reloaded = workers(server)
        install_certificate(tmp_path, "rsa")
        for worker in sorted(reloaded):
            os.kill(worker, signal.SIGKILL)
        eventually(lambda: len(workers(server) - reloaded) == 2)
        # Connections wait in the backlog until a new worker accepts them.
        assert presented_certificate(server) == "rsa"
        assert server.stop() == 0


def test_invalid_certificate_is_rejected_at_startup(tmp_path: Path) -> None:
    files = ["--tls-certificate", str(CERTIFICATES / "rsa.pem"), "--tls-key", str(CERTIFICATES / "ec-key.pem")]
    done = command("serve", "--data", str(tmp_path / "data"), "--port", "0", *files)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"cloudconsole: tls_key: [^\n]+\n", done.stderr)
    assert not (tmp_path / "data").exists()
