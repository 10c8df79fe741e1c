"""Doctor checks of a running console and of its metrics, over real HTTP; limits and the clock of a probe."""

import json
import os
import shlex
import socketserver
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import formatdate
from http.client import HTTPMessage
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.server.config.types import ListenAddress
from cloudconsole.server.doctor import console, http_probe
from cloudconsole.server.doctor.context_and_findings import Finding
from cloudconsole.server.doctor.http_probe import NoResponse, ProbeResponse, clock_findings, probe
from cloudconsole.server.runtime.worker import bind
from tests.certificate_factory import write_certificate
from tests.harness import CERTIFICATES, RunningServer, running_server
from tests.server.doctor.conftest import Check

TLS: dict[str, Any] = {"tls_certificate": CERTIFICATES / "ec.pem", "tls_key": CERTIFICATES / "ec-key.pem"}
TLS_END = datetime(2126, 10, 22, 6, 25, 19, tzinfo=UTC).timestamp()
ORIGIN = "http://console.example.com"
CheckResponse = Callable[..., Finding]


def test_stopped_console_is_a_warning(check: Check) -> None:
    (finding,) = check("running console", port=1)
    assert (finding.level, finding.command.endswith("cloudconsole serve")) == ("warning", True)


@pytest.mark.parametrize(
    ("origin", "level", "text"),
    [
        (None, "ok", "it responds correctly at {base}"),
        ("http://127.0.0.1:1", "problem", "it responds at {base}, but not at http://127.0.0.1:1"),
        ("https://127.0.0.1:{port}", "problem", "it responds at {base}, but not at https://127.0.0.1:{port}"),
    ],
    ids=["its own", "unreachable", "https of a plain http console"],
)
def test_console_must_respond_at_its_public_origin(
    check: Check, server: RunningServer, origin: str | None, level: str, text: str
) -> None:
    origin = None if origin is None else origin.format(port=server.port)
    (finding,) = check("running console", port=server.port, public_origin=origin)
    assert (finding.level, text.format(base=server.base, port=server.port) in finding.text) == (level, True), finding


@pytest.fixture(scope="module")
def over_tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    flags = ("--tls-certificate", str(TLS["tls_certificate"]), "--tls-key", str(TLS["tls_key"]))
    with running_server(tmp_path_factory.mktemp("tls"), *flags) as server:
        yield server


def test_console_with_https_is_not_mistaken_for_stopped(check: Check, over_tls: RunningServer) -> None:
    (finding,) = check("running console", port=over_tls.port)
    assert finding.level == "problem"
    assert finding.text == f"the server at http://127.0.0.1:{over_tls.port} speaks https, not plain http"
    assert "tls_certificate" in finding.fix


@pytest.mark.parametrize("is_renewed", [False, True])
def test_expiring_certificate_of_a_running_console_is_a_warning(
    check: Check, over_tls: RunningServer, tmp_path: Path, is_renewed: bool
) -> None:
    """The command makes the console reload a certificate that is already renewed."""
    certificate, _ = write_certificate(tmp_path, datetime(2200, 1, 1, tzinfo=UTC))
    files = TLS | ({"tls_certificate": certificate} if is_renewed else {})
    (finding,) = check("running console", now=TLS_END - 13 * 86_400, port=over_tls.port, **files)
    assert (finding.level, "its certificate expires on" in finding.text) == ("warning", True)
    assert finding.command == (f"kill -HUP {over_tls.process.pid}" if is_renewed else "")


def test_untrusted_certificate_at_the_public_origin_is_a_problem(check: Check, over_tls: RunningServer) -> None:
    origin = f"https://localhost:{over_tls.port}"
    (finding,) = check("running console", port=over_tls.port, public_origin=origin, **TLS)
    assert finding.level == "problem"
    assert "certificate verify failed" in finding.text


def response(
    *,
    session: str | None = "sessionid=a; HttpOnly; Path=/; SameSite=Lax",
    csrf: str | None = "csrftoken=b; Path=/; SameSite=Lax",
    status: int = 200,
    region: str = f"{ORIGIN}/v3",
    date: str = "",
    headers: Mapping[str, str] = {"Cache-Control": "no-store"},
    certificate: bytes | None = None,
) -> ProbeResponse:
    """A response, by default a console's, to a request sent at 1000.5 and received at 1002.5."""
    message = HTTPMessage()
    for name, value in (("Set-Cookie", session), ("Set-Cookie", csrf), ("Date", date), *headers.items()):
        if value is not None:
            message[name] = value
    body = json.dumps({"data": {"regions": [region], "actions": []}}).encode()
    return ProbeResponse(ORIGIN, status, message, body, 1000.5, 1002.5, certificate)


@pytest.fixture
def check_response(check: Check, monkeypatch: pytest.MonkeyPatch) -> CheckResponse:
    """Check a console behind a proxy that alters its responses."""

    def run(**changes: Any) -> Finding:
        monkeypatch.setattr(console, "probe", lambda *_arguments, **_options: response(**changes))
        (finding,) = check("running console", public_origin=ORIGIN)
        return finding

    return run


def test_unaltered_response_is_ok(check_response: CheckResponse) -> None:
    assert check_response().level == "ok"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"csrf": None}, "the cookie csrftoken is missing"),
        ({"session": "sessionid=a; Path=/; SameSite=Lax"}, "the cookie sessionid lacks httponly"),
        ({"session": "sessionid=a; HttpOnly; Path=/app"}, "the cookie sessionid lacks path=/, samesite=lax"),
        ({"session": "sessionid=a; HttpOnly; Path=/; SameSite=Lax; Domain=x.example"}, "has a Domain"),
        ({"session": "sessionid=a; HttpOnly; Path=/; SameSite=Lax; Secure"}, "is not https: browsers drop it"),
        ({"region": "http://backend:8000/v3"}, "it does not know its public origin"),
        ({"region": "x" * 5000}, "it does not know its public origin"),
        ({"headers": {}}, "a proxy caches or changes responses"),
        ({"headers": {"Cache-Control": "max-age=60"}}, "a proxy caches or changes responses"),
        ({"headers": {"Cache-Control": "no-store", "Age": "5"}}, "a proxy caches or changes responses"),
        ({"headers": {"Cache-Control": "x" * 5000, "Age": "y" * 5000}}, "a proxy caches or changes responses"),
        ({"date": formatdate(1600)}, "ahead of"),
        ({"status": 301, "headers": {"Location": "https://other.example/api/"}}, "to 'https://other.example/api/'"),
        ({"status": 302, "headers": {"Location": "http://other.example/" + "x" * 5000}}, "redirects to"),
        ({"status": 502}, "responds with status 502, and not like a console"),
    ],
)
def test_altered_response_is_reported_briefly(
    check_response: CheckResponse, changes: dict[str, Any], text: str
) -> None:
    finding = check_response(**changes)
    assert finding.level == ("warning" if "date" in changes else "problem")
    assert text in finding.text
    assert finding.fix
    assert len(finding.text) < 600


def test_insecure_cookie_over_https_is_a_problem() -> None:
    findings = console._cookies(response()._replace(origin="https://console.example.com"))
    assert ["is not Secure" in finding.text for finding in findings] == [True, True]


@pytest.mark.parametrize(("name", "setting"), [("running console", "port"), ("metrics", "metrics")])
def test_port_of_another_server_is_a_problem(check: Check, name: str, setting: str) -> None:
    """The command serves on a free port instead."""
    with raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") as base:
        port = int(base.rpartition(":")[2])
        (finding,) = check(name, **{setting: port if setting == "port" else ListenAddress("127.0.0.1", port)})
    assert finding.level == "problem"
    assert finding.text.startswith(f"127.0.0.1:{port}, the address of {setting}, is in use by ")
    assert f"process {os.getpid()}" in finding.text
    *_, serve, flag, value = shlex.split(finding.command)
    assert (serve, flag) == ("serve", f"--{setting}")
    bind("127.0.0.1", int(value.removeprefix("127.0.0.1:"))).close()


@contextmanager
def raw_server(*chunks: bytes, is_endless: bool = False, stays_open: bool = False) -> Iterator[str]:
    """Respond to every request with these chunks; if endless, repeat the last until the client disconnects."""
    may_close = threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                self.request.recv(65536)
                for chunk in chunks:
                    self.request.sendall(chunk)
                while is_endless:
                    self.request.sendall(chunks[-1])
            if stays_open:
                may_close.wait()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            may_close.set()
            server.shutdown()


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
