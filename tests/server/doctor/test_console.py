"""Doctor checks of a running console and of its metrics, over real HTTP."""

import json
import os
import shlex
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.server.config.types import ListenAddress
from cloudconsole.server.doctor import console
from cloudconsole.server.doctor.http_probe import probe
from cloudconsole.server.runtime.worker import bind
from tests.certificate_factory import write_certificate
from tests.harness import CERTIFICATES, RunningServer, running_server
from tests.server.doctor.conftest import Check, levels

TLS: dict[str, Any] = {"tls_certificate": CERTIFICATES / "ec.pem", "tls_key": CERTIFICATES / "ec-key.pem"}
TLS_END = datetime(2126, 10, 22, 6, 25, 19, tzinfo=UTC).timestamp()


def test_healthy_console_is_ok(check: Check, server: RunningServer) -> None:
    (finding,) = check("running console", port=server.port)
    assert finding.level == "ok", finding
    assert server.base in finding.text


def test_stopped_console_is_a_warning(check: Check) -> None:
    (finding,) = check("running console", port=1)
    assert finding.level == "warning"
    assert finding.command.endswith("cloudconsole serve")


def test_console_unreachable_at_its_public_origin_is_a_problem(check: Check, server: RunningServer) -> None:
    (finding,) = check("running console", port=server.port, public_origin="http://127.0.0.1:1")
    assert finding.level == "problem"
    assert finding.text.startswith(f"it responds at {server.base}, but not at http://127.0.0.1:1")


def test_https_origin_of_a_plain_http_console_is_a_problem(check: Check, server: RunningServer) -> None:
    origin = server.base.replace("http:", "https:")
    (finding,) = check("running console", port=server.port, public_origin=origin)
    assert finding.level == "problem"


# A console that serves https


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


def test_valid_certificate_of_a_running_console_is_ok(check: Check, over_tls: RunningServer) -> None:
    assert levels(check("running console", now=TLS_END - 15 * 86_400, port=over_tls.port, **TLS)) == ["ok"]


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


# Other servers and proxies


class FakeProxy:
    """Settings of a fake proxy that alters responses; by default it responds like a console."""

    def __init__(self) -> None:
        self.status = 200
        self.session = "sessionid=a; HttpOnly; Path=/; SameSite=Lax"
        self.csrf: str | None = "csrftoken=b; Path=/; SameSite=Lax"
        self.regions: list[str] | None = None
        self.headers = {"Cache-Control": "no-store"}
        self.clock_offset = 0
        self.is_console = True
        self.base = ""


@pytest.fixture
def proxy() -> Iterator[FakeProxy]:
    proxy = FakeProxy()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            regions = proxy.regions if proxy.regions is not None else [f"{proxy.base}/v3"]
            data = {"regions": regions, "actions": []} if proxy.is_console else {}
            body = json.dumps({"data": data}).encode()
            self.send_response_only(proxy.status)
            self.send_header("Date", formatdate(time.time() + proxy.clock_offset, usegmt=True))
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


def test_unaltered_response_is_ok(check: Check, proxy: FakeProxy) -> None:
    assert levels(check("running console", public_origin=proxy.base)) == ["ok"]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"csrf": None}, "the cookie csrftoken is missing"),
        ({"session": "sessionid=a; Path=/; SameSite=Lax"}, "the cookie sessionid lacks httponly"),
        ({"session": "sessionid=a; HttpOnly; Path=/app"}, "the cookie sessionid lacks path=/, samesite=lax"),
        ({"session": "sessionid=a; HttpOnly; Path=/; SameSite=Lax; Domain=x.example"}, "has a Domain"),
        ({"session": "sessionid=a; HttpOnly; Path=/; SameSite=Lax; Secure"}, "is not https: browsers drop it"),
        ({"regions": ["http://backend:8000/v3"]}, "it does not know its public origin"),
        ({"regions": ["x" * 5000]}, "it does not know its public origin"),
        ({"headers": {}}, "a proxy caches or changes responses"),
        ({"headers": {"Cache-Control": "max-age=60"}}, "a proxy caches or changes responses"),
        ({"headers": {"Cache-Control": "no-store", "Age": "5"}}, "a proxy caches or changes responses"),
        ({"headers": {"Cache-Control": "x" * 5000, "Age": "y" * 5000}}, "a proxy caches or changes responses"),
        ({"clock_offset": 600}, "ahead of"),
        ({"status": 301, "headers": {"Location": "https://other.example/api/"}}, "to 'https://other.example/api/'"),
        ({"status": 302, "headers": {"Location": "http://other.example/" + "x" * 5000}}, "redirects to"),
        ({"status": 502}, "responds with status 502, and not like a console"),
    ],
)
def test_altered_response_is_reported_briefly(
    check: Check, proxy: FakeProxy, changes: dict[str, Any], text: str
) -> None:
    vars(proxy).update(changes)
    (finding,) = check("running console", public_origin=proxy.base)
    assert finding.level == ("warning" if "clock_offset" in changes else "problem")
    assert text in finding.text
    assert finding.fix
    assert len(finding.text) < 600


def test_insecure_cookie_over_https_is_a_problem(proxy: FakeProxy) -> None:
    response = probe(proxy.base)._replace(origin="https://console.example.com")
    assert ["is not Secure" in finding.text for finding in console._cookies(response)] == [True, True]


@pytest.mark.parametrize(("name", "setting"), [("running console", "port"), ("metrics", "metrics")])
def test_port_of_another_server_is_a_problem(check: Check, proxy: FakeProxy, name: str, setting: str) -> None:
    """The command serves on a free port instead."""
    proxy.is_console = False
    port = int(proxy.base.rpartition(":")[2])
    (finding,) = check(name, **{setting: port if setting == "port" else ListenAddress("127.0.0.1", port)})
    assert finding.level == "problem"
    assert finding.text.startswith(f"127.0.0.1:{port}, the address of {setting}, is in use by ")
    assert f"process {os.getpid()}" in finding.text
    *_, serve, flag, value = shlex.split(finding.command)
    assert (serve, flag) == ("serve", f"--{setting}")
    bind("127.0.0.1", int(value.removeprefix("127.0.0.1:"))).close()
