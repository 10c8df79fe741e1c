"""A console that speaks https itself: cookies, headers, limits, and a certificate renewed under way."""

import os
import signal
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copy

import pytest

from tests.e2e.processes import command, eventually, workers
from tests.e2e.raw_http import Raw, request
from tests.harness import CERTIFICATES, Caller, OverHttp, RunningServer, running_server, trusting_tests

HOST = "console.example.com"


def put(folder: Path, name: str) -> None:
    copy(CERTIFICATES / f"{name}.pem", folder / "certificate.pem")
    copy(CERTIFICATES / f"{name}-key.pem", folder / "key.pem")


@contextmanager
def serving_https(folder: Path, *flags: str) -> Iterator[RunningServer]:
    put(folder, "rsa")
    files = ("--tls-certificate", str(folder / "certificate.pem"), "--tls-key", str(folder / "key.pem"))
    with running_server(folder, *files, *flags) as running:
        yield running


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    beyond = ("--hosts", f"127.0.0.1,{HOST}", "--insecure-sample", "--request-timeout", "2")
    with serving_https(tmp_path_factory.mktemp("secure"), *beyond) as running:
        yield running


@contextmanager
def raw_tls(server: RunningServer) -> Iterator[Raw]:
    with trusting_tests().wrap_socket(server.connect(), server_hostname="localhost") as connection:
        raw = Raw(connection)
        try:
            yield raw
        finally:
            raw.close()


@contextmanager
def caller_of(server: RunningServer) -> Iterator[Caller]:
    with closing(OverHttp(server.base)) as wire:
        yield Caller(wire)


def presented(server: RunningServer) -> str:
    with trusting_tests().wrap_socket(server.connect(), server_hostname="localhost") as connection:
        shown = ssl.DER_cert_to_PEM_cert(connection.getpeercert(binary_form=True) or b"")
    return next(name for name in ("rsa", "ec") if (CERTIFICATES / f"{name}.pem").read_text() == shown)


def test_a_whole_session_goes_by_https_with_secure_cookies(secure: RunningServer) -> None:
    assert secure.base.startswith("https://127.0.0.1:")
    with caller_of(secure) as caller:
        opened = caller.open()
        assert opened.data["regions"] == [f"{secure.base}/v3"]
        assert all("; Secure" in cookie for cookie in opened.set_cookies.values())
        assert caller.login().status == 200
        assert caller.call("GetUsageLimits").status == 200
        assert caller.logout().status == 200


def test_every_answer_tells_browsers_to_keep_to_https(secure: RunningServer) -> None:
    with raw_tls(secure) as connection:
        connection.send(request("GET", "/api/"), request("GET", "/nowhere"), request("GET", "/", [("Host", "no")]))
        answers = [connection.answer() for _ in range(3)]
        connection.send(b"this is not HTTP\r\n\r\n")
        answers.append(connection.answer())
    assert [answer.status for answer in answers] == [200, 404, 400, 400]
    assert {answer.header("strict-transport-security") for answer in answers} == {"max-age=31536000"}


@pytest.mark.parametrize("flags", [(), ("--hosts", f"127.0.0.1,{HOST}", "--insecure-sample", "--hsts", "0")])
def test_it_is_not_told_on_this_machine_alone_nor_when_switched_off(tmp_path: Path, flags: tuple[str, ...]) -> None:
    with serving_https(tmp_path, *flags) as server, caller_of(server) as caller:
        assert caller.open().header("strict-transport-security") is None


def test_plain_http_on_its_port_gets_nothing(secure: RunningServer) -> None:
    with closing(Raw(secure.connect())) as connection:
        connection.send(request("GET", "/api/"))
        assert b"HTTP" not in connection.rest()


def test_a_handshake_that_does_not_come_is_cut_off(secure: RunningServer) -> None:
    with closing(Raw(secure.connect())) as silent:
        assert silent.rest() == b""


def test_a_request_that_does_not_come_is_cut_off(secure: RunningServer) -> None:
    with raw_tls(secure) as slow:
        slow.send(b"GET /api/ HTTP/1.1\r\n")
        assert slow.answer().status == 408
        assert slow.rest() == b""


def test_a_head_too_large_is_refused(secure: RunningServer) -> None:
    with raw_tls(secure) as connection:
        connection.send(request("GET", "/api/", [("X-Long", "x" * 40_000)]))
        assert connection.answer().status == 431


def test_a_body_too_large_is_refused_and_the_answer_arrives(secure: RunningServer) -> None:
    body = b"x" * 300_000
    with raw_tls(secure) as connection:
        connection.send(request("POST", "/api/", [("Content-Length", str(len(body)))], body))
        assert connection.answer().status == 413


def test_requests_sent_ahead_are_answered_in_order(secure: RunningServer) -> None:
    with raw_tls(secure) as connection:
        connection.send(request("GET", "/api/") + request("GET", "/nowhere") + request("HEAD", "/"))
        assert [connection.answer(to=method).status for method in ("GET", "GET", "HEAD")] == [200, 404, 200]


def test_a_caller_that_sends_on_and_reads_nothing_is_cut_off(secure: RunningServer) -> None:
    with raw_tls(secure) as connection:
        connection.socket.settimeout(60)
        with pytest.raises(OSError):  # noqa: PT012
            while True:
                connection.socket.sendall(request("GET", "/api/") * 50)


def test_broken_connections_leave_no_complaint(secure: RunningServer) -> None:
    with raw_tls(secure) as connection:
        connection.send(request("GET", "/api/"))
    with closing(secure.connect()) as connection:
        connection.sendall(b"\x16\x03\x01\x00\x05hello")
    with caller_of(secure) as caller:
        assert caller.open().status == 200
    assert "Traceback" not in secure.log()


@pytest.mark.parametrize("count", [1, 2])
def test_a_renewed_certificate_is_taken_up_by_every_worker(tmp_path: Path, count: int) -> None:
    with serving_https(tmp_path, "--workers", str(count)) as server:
        with caller_of(server) as standing:
            assert standing.login().status == 200
            put(tmp_path, "ec")
            server.process.send_signal(signal.SIGHUP)
            eventually(lambda: server.log().count("SIGHUP: reloaded the certificate") == count)
            assert {presented(server) for _ in range(10)} == {"ec"}
            assert standing.call("GetNews").status == 200
        assert server.stop() == 0


def test_a_broken_renewal_leaves_the_old_certificate(tmp_path: Path) -> None:
    with serving_https(tmp_path) as server:
        copy(CERTIFICATES / "ec-key.pem", tmp_path / "key.pem")
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: "tls_key: the key in " in server.log())
        assert presented(server) == "rsa"
        assert "PRIVATE" not in server.log()


def test_a_worker_started_later_has_the_renewed_certificate(tmp_path: Path) -> None:
    with serving_https(tmp_path, "--workers", "2") as server:
        first = eventually(lambda: workers(server) if len(workers(server)) == 2 else None)
        put(tmp_path, "ec")
        for worker in sorted(first):
            os.kill(worker, signal.SIGKILL)
        eventually(lambda: len(workers(server) - first) == 2)
        eventually(lambda: presented_by_any(server) == "ec")


@pytest.mark.parametrize(
    ("certificate", "key", "told"),
    [
        ("rsa.pem", "ec-key.pem", "tls_key: "),
        ("ec.pem", "ec-key-with-passphrase.pem", "tls_key: "),
        ("none.pem", "ec-key.pem", "tls_certificate: "),
    ],
)
def test_files_that_cannot_be_used_are_refused_at_start(tmp_path: Path, certificate: str, key: str, told: str) -> None:
    files = ["--tls-certificate", str(CERTIFICATES / certificate), "--tls-key", str(CERTIFICATES / key)]
    done = command("serve", "--data", str(tmp_path / "data"), "--port", "0", *files)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"cloudconsole: {told}")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "data").exists()


def presented_by_any(server: RunningServer) -> str | None:
    try:
        return presented(server)
    except OSError:
        return None
