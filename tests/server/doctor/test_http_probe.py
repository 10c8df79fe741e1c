"""Probing a URL: limits of time and size, malformed certificates, and the clock of the server."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.utils import formatdate
from http.client import HTTPMessage

import pytest

from cloudconsole.server.doctor import http_probe
from cloudconsole.server.doctor.http_probe import NoResponse, ProbeResponse, clock_findings, probe
from tests.server.doctor.conftest import Check


@contextmanager
def raw_server(*chunks: bytes, is_endless: bool = False, stays_open: bool = False) -> Iterator[str]:
    """Respond to every request with these chunks; if endless, repeat the last until the client disconnects."""
    listener = socket.create_server(("127.0.0.1", 0))
    may_close = threading.Event()

    def respond(connection: socket.socket) -> None:
        connection.recv(65536)
        for chunk in chunks:
            connection.sendall(chunk)
        while is_endless:
            connection.sendall(chunks[-1])
        if stays_open:
            may_close.wait()

    def serve() -> None:
        # Shutting down the listener ends the wait for a client with an error.
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection, suppress(OSError):
                    respond(connection)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        may_close.set()
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        listener.close()


def test_incomplete_response_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_probe, "MAX_SECONDS", 0.2)
    incomplete = raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nx", stays_open=True)
    with incomplete as origin, pytest.raises(NoResponse, match=r"no complete response within 0\.2 seconds"):
        probe(origin)


def test_endless_response_is_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_probe, "MAX_RESPONSE", 1000)
    with raw_server(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 600, is_endless=True) as origin:
        assert len(probe(origin).body) == 1000


def test_response_that_is_not_http_is_quoted_briefly(check: Check) -> None:
    with raw_server(b"x" * 5000 + b"\r\n") as origin:
        (finding,) = check("running console", port=0, public_origin=origin)
    assert finding.level == "problem"
    assert finding.text.startswith(f"the server at {origin} does not respond like a console: xxx")
    assert len(finding.text) < 300


def response(*, date: str = "", certificate: bytes | None = None) -> ProbeResponse:
    """A response to a request sent at 1000 and received at 1002."""
    headers = HTTPMessage()
    headers["Date"] = date
    return ProbeResponse("https://x", 200, headers, b"", 1000.5, 1002.5, certificate)


@pytest.mark.parametrize("certificate", [b"\x17\x0d991399000000Z\x17\x0d999999999999Z", b"none"])
def test_malformed_certificate_has_no_expiry(certificate: bytes) -> None:
    assert response(certificate=certificate).certificate_end is None


@pytest.mark.parametrize(
    ("date", "text"),
    [
        (formatdate(994), "the clock is 6 seconds behind this machine's"),
        (formatdate(995), ""),
        (formatdate(1001), ""),
        (formatdate(1007), ""),
        (formatdate(1008), "the clock is 6 seconds ahead of this machine's"),
        ("yesterday", ""),
    ],
)
def test_clock_difference_of_more_than_5_seconds_is_a_warning(date: str, text: str) -> None:
    """The header has whole seconds and was written between request and response."""
    findings = clock_findings("the clock", response(date=date))
    assert [finding.text for finding in findings] == ([text] if text else [])
