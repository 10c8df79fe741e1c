"""Doctor checks of the public origin, undeclared proxies and a running console, over real HTTP."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import formatdate
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.server.doctor import console, http_probe
from cloudconsole.server.doctor.http_probe import NoResponse, ProbeResponse, probe
from tests.conftest import SAMPLE_TIME
from tests.harness import CERTIFICATES, RunningServer, running_server
from tests.server.doctor.conftest import Check, execute, levels

TLS: dict[str, Any] = {"tls_certificate": CERTIFICATES / "ec.pem", "tls_key": CERTIFICATES / "ec-key.pem"}
TLS_END = datetime(2126, 10, 22, 6, 25, 19, tzinfo=UTC).timestamp()

# The public origin


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        ({}, "ok"),
        ({"host": "0.0.0.0"}, "warning"),
        ({"proxies": (ip_network("10.0.0.0/8"),)}, "warning"),
        ({"public_origin": "http://localhost:8000"}, "ok"),
        ({"public_origin": "http://192.0.2.1"}, "warning"),
        ({"public_origin": "https://192.0.2.1"}, "ok"),
        ({"public_origin": "https://no-such-host.invalid"}, "warning"),
    ],
)
def test_public_origin_must_match_who_can_reach_the_console(check: Check, changes: dict[str, Any], level: str) -> None:
    assert levels(check("public origin", **changes)) == [level]


# Proxies


@pytest.mark.parametrize(
    ("address", "level"), [("10.0.0.7", "problem"), ("127.0.0.1", "problem"), ("8.8.8.8", "warning")]
)
def test_an_undeclared_proxy_is_named(check: Check, data: Path, address: str, level: str) -> None:
    execute(data, "activity", f"INSERT INTO undeclared_proxies VALUES ('{address}', {int(SAMPLE_TIME) - 60})")
    (finding,) = check("proxies")
    assert finding.level == level
    assert finding.text.startswith(f"{address} sends forwarded headers")
    assert finding.fix == "add it to proxies if it is yours, or stop it from sending them"


def test_declared_or_long_unseen_proxy_is_ok(check: Check, data: Path) -> None:
    execute(data, "activity", f"INSERT INTO undeclared_proxies VALUES ('10.0.0.7', {int(SAMPLE_TIME) - 60})")
    execute(data, "activity", f"INSERT INTO undeclared_proxies VALUES ('10.0.0.8', {int(SAMPLE_TIME) - 86_400})")
    assert levels(check("proxies", proxies=(ip_network("10.0.0.7"),))) == ["ok"]


# A running console


def test_healthy_console_is_ok(check: Check, server: RunningServer) -> None:
    (finding,) = check("running console", port=server.port)
    assert finding.level == "ok", finding
    assert server.base in finding.text


def test_stopped_console_is_a_warning(check: Check) -> None:
    (finding,) = check("running console", port=1)
    assert finding.level == "warning"
    assert finding.command.endswith("cloudconsole serve")


def test_console_with_https_is_not_mistaken_for_stopped(check: Check, tmp_path: Path) -> None:
    with running_server(
        tmp_path, "--tls-certificate", str(TLS["tls_certificate"]), "--tls-key", str(TLS["tls_key"])
    ) as server:
        (finding,) = check("running console", port=server.port)
    assert finding.level == "problem"
    assert finding.text == f"the server at http://127.0.0.1:{server.port} speaks https, not plain http"
    assert "tls_certificate" in finding.fix


def test_console_unreachable_at_its_public_origin_is_a_problem(check: Check, server: RunningServer) -> None:
    (finding,) = check("running console", port=server.port, public_origin="http://127.0.0.1:1")
    assert finding.level == "problem"
    assert finding.text.startswith(f"it responds at {server.base}, but not at http://127.0.0.1:1")


def test_https_origin_of_a_plain_http_console_is_a_problem(check: Check, server: RunningServer) -> None:
    origin = server.base.replace("http:", "https:")
    (finding,) = check("running console", port=server.port, public_origin=origin)
    assert finding.level == "problem"


@pytest.fixture(scope="module")
def over_tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    flags = ("--tls-certificate", str(TLS["tls_certificate"]), "--tls-key", str(TLS["tls_key"]))
    with running_server(tmp_path_factory.mktemp("tls"), *flags) as server:
        yield server


@pytest.mark.parametrize(
    ("seconds_left", "level", "text"),
    [(15 * 86_400, "ok", "responds correctly"), (13 * 86_400, "warning", "expires on"), (0, "problem", "expired on")],
)
def test_certificate_of_a_running_console_is_checked(
    check: Check, over_tls: RunningServer, seconds_left: int, level: str, text: str
) -> None:
    origin = f"https://127.0.0.1:{over_tls.port}"
    end = probe(origin, trusting=True).certificate_end
    assert end == TLS_END
    (finding,) = check("running console", now=end - seconds_left, port=over_tls.port, **TLS)
    assert (finding.level, text in finding.text) == (level, True)


def test_untrusted_certificate_at_the_public_origin_is_a_problem(check: Check, over_tls: RunningServer) -> None:
    origin = f"https://localhost:{over_tls.port}"
    (finding,) = check("running console", port=over_tls.port, public_origin=origin, **TLS)
    assert finding.level == "problem"
    assert "certificate verify failed" in finding.text


class FakeProxy:
    """Settings of a fake proxy that alters responses; by default it responds like a console."""

    def __init__(self) -> None:
        self.status = 200
        self.session = "sessionid=a; HttpOnly; Path=/; SameSite=Lax"
        self.csrf: str | None = "csrftoken=b; Path=/; SameSite=Lax"
        self.regions: list[str] | None = None
        self.headers = {"Cache-Control": "no-store"}
        self.date = formatdate(usegmt=True)
        self.base = ""


@pytest.fixture
def proxy() -> Iterator[FakeProxy]:
    with _serve(FakeProxy()) as proxy:
        yield proxy


@contextmanager
def _serve(proxy: FakeProxy) -> Iterator[FakeProxy]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            regions = proxy.regions if proxy.regions is not None else [f"{proxy.base}/v3"]
            body = json.dumps({"data": {"regions": regions, "actions": []}}).encode()
            self.send_response_only(proxy.status)
            self.send_header("Date", proxy.date)
            for cookie in (proxy.session, proxy.csrf):
                if cookie is not None:
                    self.send_header("Set-Cookie", cookie)
            for name, value in proxy.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    listener = HTTPServer(("127.0.0.1", 0), Handler)
    proxy.base = f"http://127.0.0.1:{listener.server_port}"
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield proxy
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()


def problem_text(check: Check, proxy: FakeProxy) -> str:
    """Return the text of the only problem or warning."""
    (finding,) = check("running console", public_origin=proxy.base)
    assert finding.level != "ok"
    assert finding.fix
    return finding.text


def test_unaltered_response_is_ok(check: Check, proxy: FakeProxy) -> None:
    assert levels(check("running console", public_origin=proxy.base)) == ["ok"]


def test_missing_cookie_is_a_problem(check: Check, proxy: FakeProxy) -> None:
    proxy.csrf = None
    assert problem_text(check, proxy) == "the cookie csrftoken is missing"


@pytest.mark.parametrize(
    ("session", "text"),
    [
        ("sessionid=a; Path=/; SameSite=Lax", "the cookie sessionid lacks httponly"),
        ("sessionid=a; HttpOnly; Path=/app", "the cookie sessionid lacks path=/, samesite=lax"),
        ("sessionid=a; HttpOnly; Path=/; SameSite=Lax; Domain=x.example", "has a Domain"),
        ("sessionid=a; HttpOnly; Path=/; SameSite=Lax; Secure", "is not https: browsers drop it"),
    ],
)
def test_a_changed_cookie_is_a_problem(check: Check, proxy: FakeProxy, session: str, text: str) -> None:
    proxy.session = session
    assert text in problem_text(check, proxy)


def test_insecure_cookie_over_https_is_a_problem(proxy: FakeProxy) -> None:
    response = probe(proxy.base)._replace(origin="https://console.example.com")
    assert ["is not Secure" in finding.text for finding in console._cookies(response)] == [True, True]


def test_foreign_regions_mean_an_unknown_public_origin(check: Check, proxy: FakeProxy) -> None:
    proxy.regions = ["http://backend:8000/v3"]
    assert "it does not know its public origin" in problem_text(check, proxy)


@pytest.mark.parametrize("headers", [{"Cache-Control": "max-age=60"}, {"Cache-Control": "no-store", "Age": "5"}, {}])
def test_caching_proxy_is_a_problem(check: Check, proxy: FakeProxy, headers: dict[str, str]) -> None:
    proxy.headers = headers
    assert problem_text(check, proxy).startswith("a proxy caches or changes responses")


@pytest.mark.parametrize(("offset", "text"), [(600, "ahead of"), (-600, "behind")])
def test_clock_difference_is_a_warning(check: Check, proxy: FakeProxy, offset: int, text: str) -> None:
    proxy.date = formatdate(time.time() + offset, usegmt=True)
    assert text in problem_text(check, proxy)


def test_invalid_date_header_is_ignored(check: Check, proxy: FakeProxy) -> None:
    proxy.date = "yesterday"
    assert levels(check("running console", public_origin=proxy.base)) == ["ok"]


def test_a_redirect_is_a_problem(check: Check, proxy: FakeProxy) -> None:
    proxy.status, proxy.headers = 301, {"Location": "https://elsewhere.example/api/"}
    assert "redirects to 'https://elsewhere.example/api/'" in problem_text(check, proxy)


def test_error_status_is_a_problem(check: Check, proxy: FakeProxy) -> None:
    proxy.status = 502
    assert "responds with status 502, and not like a console" in problem_text(check, proxy)


# Misbehaving servers


@contextmanager
def _raw_server(*chunks: bytes, interval: float = 0) -> Iterator[str]:
    """Serve these chunks to one client; with an interval, repeat the last until the client disconnects."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            for chunk in chunks:
                connection.sendall(chunk)
            while interval:
                time.sleep(interval)
                connection.sendall(chunks[-1])

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()
        thread.join()


def test_slow_response_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_probe, "MAX_SECONDS", 0.2)
    # The response would become complete, and each chunk arrives in time.
    slow = _raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n", b"x", interval=0.05)
    with slow as origin, pytest.raises(NoResponse, match=r"no complete response within 0\.2 seconds"):
        probe(origin)


def test_endless_response_is_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_probe, "MAX_RESPONSE", 1000)
    with _raw_server(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 600, interval=0.001) as origin:
        assert len(probe(origin).body) == 1000


def test_response_that_is_not_http_is_quoted_briefly(check: Check) -> None:
    with _raw_server(b"x" * 5000 + b"\r\n") as origin:
        (finding,) = check("running console", port=0, public_origin=origin)
    assert finding.level == "problem"
    assert finding.text.startswith(f"the server at {origin} does not respond like a console: xxx")
    assert len(finding.text) < 300


@pytest.mark.parametrize(
    ("status", "regions", "headers"),
    [
        (302, None, {"Location": "http://elsewhere.example/" + "x" * 5000}),
        (200, ["x" * 5000], {}),
        (200, None, {"Cache-Control": "x" * 5000, "Age": "y" * 5000}),
    ],
)
def test_long_values_are_quoted_briefly(
    check: Check, proxy: FakeProxy, status: int, regions: list[str] | None, headers: dict[str, str]
) -> None:
    proxy.status, proxy.regions, proxy.headers = status, regions, proxy.headers | headers
    assert len(problem_text(check, proxy)) < 600


@pytest.mark.parametrize("certificate", [b"\x17\x0d991399000000Z\x17\x0d999999999999Z", b"none"])
def test_malformed_certificate_has_no_expiry(certificate: bytes) -> None:
    response = ProbeResponse("https://x", 200, HTTPMessage(), b"", 0, 0, certificate)
    assert response.certificate_end is None
