"""What the doctor says about the public origin, undeclared proxies and a running console, which it calls for real."""

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
from tests.conftest import NOON
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
def test_the_public_origin_must_fit_who_can_reach_the_console(
    check: Check, changes: dict[str, Any], level: str
) -> None:
    assert levels(check("public origin", **changes)) == [level]


# Proxies


@pytest.mark.parametrize(
    ("address", "level"), [("10.0.0.7", "problem"), ("127.0.0.1", "problem"), ("8.8.8.8", "warning")]
)
def test_an_undeclared_proxy_is_named(check: Check, data: Path, address: str, level: str) -> None:
    execute(data, "activity", f"INSERT INTO undeclared_proxies VALUES ('{address}', {int(NOON) - 60})")
    (finding,) = check("proxies")
    assert finding.level == level
    assert finding.text.startswith(f"{address} sends forwarded headers")
    assert finding.fix == "add it to proxies if it is yours, or stop it from sending them"


def test_one_declared_since_or_seen_long_ago_is_not(check: Check, data: Path) -> None:
    execute(data, "activity", f"INSERT INTO undeclared_proxies VALUES ('10.0.0.7', {int(NOON) - 60})")
    execute(data, "activity", f"INSERT INTO undeclared_proxies VALUES ('10.0.0.8', {int(NOON) - 86_400})")
    assert levels(check("proxies", proxies=(ip_network("10.0.0.7"),))) == ["ok"]


# A running console


def test_a_console_that_runs_as_it_should_is_well(check: Check, server: RunningServer) -> None:
    (finding,) = check("running console", port=server.port)
    assert finding.level == "ok", finding
    assert server.base in finding.text


def test_one_that_does_not_run_is_a_warning(check: Check) -> None:
    (finding,) = check("running console", port=1)
    assert finding.level == "warning"
    assert finding.command.endswith("cloudconsole serve")


def test_one_that_speaks_https_is_not_taken_for_silent(check: Check, tmp_path: Path) -> None:
    with running_server(
        tmp_path, "--tls-certificate", str(TLS["tls_certificate"]), "--tls-key", str(TLS["tls_key"])
    ) as server:
        (finding,) = check("running console", port=server.port)
    assert finding.level == "problem"
    assert finding.text == f"the server at http://127.0.0.1:{server.port} speaks https, not plain http"
    assert "tls_certificate" in finding.fix


def test_one_that_only_answers_at_its_own_address_is_a_problem(check: Check, server: RunningServer) -> None:
    (finding,) = check("running console", port=server.port, public_origin="http://127.0.0.1:1")
    assert finding.level == "problem"
    assert finding.text.startswith(f"it responds at {server.base}, but not at http://127.0.0.1:1")


def test_a_certificate_that_cannot_be_checked_is_a_problem(check: Check, server: RunningServer) -> None:
    origin = server.base.replace("http:", "https:")
    (finding,) = check("running console", port=server.port, public_origin=origin)
    assert finding.level == "problem"


@pytest.fixture(scope="module")
def over_tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    flags = ("--tls-certificate", str(TLS["tls_certificate"]), "--tls-key", str(TLS["tls_key"]))
    with running_server(tmp_path_factory.mktemp("tls"), *flags) as server:
        yield server


@pytest.mark.parametrize(
    ("before_its_end", "level", "said"),
    [(15 * 86_400, "ok", "responds correctly"), (13 * 86_400, "warning", "expires on"), (0, "problem", "expired on")],
)
def test_the_certificate_of_a_console_that_speaks_https_is_looked_at(
    check: Check, over_tls: RunningServer, before_its_end: int, level: str, said: str
) -> None:
    origin = f"https://127.0.0.1:{over_tls.port}"
    end = probe(origin, trusting=True).certificate_end
    assert end == TLS_END
    (finding,) = check("running console", now=end - before_its_end, port=over_tls.port, **TLS)
    assert (finding.level, said in finding.text) == (level, True)


def test_a_certificate_that_nobody_vouches_for_is_a_problem_at_the_public_origin(
    check: Check, over_tls: RunningServer
) -> None:
    origin = f"https://localhost:{over_tls.port}"
    (finding,) = check("running console", port=over_tls.port, public_origin=origin, **TLS)
    assert finding.level == "problem"
    assert "certificate verify failed" in finding.text


class Standing:
    """What a front that changes answers sends; by itself what a console would."""

    def __init__(self) -> None:
        self.status = 200
        self.session = "sessionid=a; HttpOnly; Path=/; SameSite=Lax"
        self.csrf: str | None = "csrftoken=b; Path=/; SameSite=Lax"
        self.regions: list[str] | None = None
        self.more = {"Cache-Control": "no-store"}
        self.date = formatdate(usegmt=True)
        self.base = ""


@pytest.fixture
def standing() -> Iterator[Standing]:
    with _front(Standing()) as standing:
        yield standing


@contextmanager
def _front(standing: Standing) -> Iterator[Standing]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            regions = standing.regions if standing.regions is not None else [f"{standing.base}/v3"]
            body = json.dumps({"data": {"regions": regions, "actions": []}}).encode()
            self.send_response_only(standing.status)
            self.send_header("Date", standing.date)
            for cookie in (standing.session, standing.csrf):
                if cookie is not None:
                    self.send_header("Set-Cookie", cookie)
            for name, value in standing.more.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Quietly."""

    listener = HTTPServer(("127.0.0.1", 0), Handler)
    standing.base = f"http://127.0.0.1:{listener.server_port}"
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield standing
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()


def said_of(check: Check, standing: Standing) -> str:
    """The one problem or warning found."""
    (finding,) = check("running console", public_origin=standing.base)
    assert finding.level != "ok"
    assert finding.fix
    return finding.text


def test_an_unchanged_answer_is_well(check: Check, standing: Standing) -> None:
    assert levels(check("running console", public_origin=standing.base)) == ["ok"]


def test_a_cookie_that_is_taken_out_is_a_problem(check: Check, standing: Standing) -> None:
    standing.csrf = None
    assert said_of(check, standing) == "the cookie csrftoken is missing"


@pytest.mark.parametrize(
    ("session", "said"),
    [
        ("sessionid=a; Path=/; SameSite=Lax", "the cookie sessionid lacks httponly"),
        ("sessionid=a; HttpOnly; Path=/app", "the cookie sessionid lacks path=/, samesite=lax"),
        ("sessionid=a; HttpOnly; Path=/; SameSite=Lax; Domain=x.example", "has a Domain"),
        ("sessionid=a; HttpOnly; Path=/; SameSite=Lax; Secure", "is not https: browsers drop it"),
    ],
)
def test_a_changed_cookie_is_a_problem(check: Check, standing: Standing, session: str, said: str) -> None:
    standing.session = session
    assert said in said_of(check, standing)


def test_a_cookie_that_is_not_secure_over_https_is_a_problem(standing: Standing) -> None:
    answer = probe(standing.base)._replace(origin="https://console.example.com")
    assert ["is not Secure" in finding.text for finding in console._cookies(answer)] == [True, True]


def test_other_regions_mean_that_it_does_not_know_how_it_was_reached(check: Check, standing: Standing) -> None:
    standing.regions = ["http://backend:8000/v3"]
    assert "it does not know its public origin" in said_of(check, standing)


@pytest.mark.parametrize("more", [{"Cache-Control": "max-age=60"}, {"Cache-Control": "no-store", "Age": "5"}, {}])
def test_a_cache_between_is_a_problem(check: Check, standing: Standing, more: dict[str, str]) -> None:
    standing.more = more
    assert said_of(check, standing).startswith("a proxy caches or changes responses")


@pytest.mark.parametrize(("moved", "said"), [(600, "ahead of"), (-600, "behind")])
def test_another_clock_is_a_warning(check: Check, standing: Standing, moved: int, said: str) -> None:
    standing.date = formatdate(time.time() + moved, usegmt=True)
    assert said in said_of(check, standing)


def test_an_answer_without_a_date_is_no_matter(check: Check, standing: Standing) -> None:
    standing.date = "yesterday"
    assert levels(check("running console", public_origin=standing.base)) == ["ok"]


def test_a_redirect_is_a_problem(check: Check, standing: Standing) -> None:
    standing.status, standing.more = 301, {"Location": "https://elsewhere.example/api/"}
    assert "redirects to 'https://elsewhere.example/api/'" in said_of(check, standing)


def test_an_error_is_a_problem(check: Check, standing: Standing) -> None:
    standing.status = 502
    assert "responds with status 502, and not like a console" in said_of(check, standing)


# One that does not behave


@contextmanager
def _saying(*pieces: bytes, between: float = 0) -> Iterator[str]:
    """An address where each caller gets these pieces, the last of them again and again until it leaves."""
    listener = socket.create_server(("127.0.0.1", 0))

    def attend() -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            for piece in pieces:
                connection.sendall(piece)
            while between:
                time.sleep(between)
                connection.sendall(pieces[-1])

    thread = threading.Thread(target=attend)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()
        thread.join()


def test_one_that_drips_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_probe, "MAX_SECONDS", 0.2)
    # It would be whole in the end, and each piece comes in time.
    dripping = _saying(b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n", b"x", between=0.05)
    with dripping as origin, pytest.raises(NoResponse, match=r"no complete response within 0\.2 seconds"):
        probe(origin)


def test_one_that_answers_without_end_is_read_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_probe, "MAX_RESPONSE", 1000)
    with _saying(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 600, between=0.001) as origin:
        assert len(probe(origin).body) == 1000


def test_one_that_speaks_no_http_is_quoted_briefly(check: Check) -> None:
    with _saying(b"x" * 5000 + b"\r\n") as origin:
        (finding,) = check("running console", port=0, public_origin=origin)
    assert finding.level == "problem"
    assert finding.text.startswith(f"the server at {origin} does not respond like a console: xxx")
    assert len(finding.text) < 300


@pytest.mark.parametrize(
    ("status", "regions", "more"),
    [
        (302, None, {"Location": "http://elsewhere.example/" + "x" * 5000}),
        (200, ["x" * 5000], {}),
        (200, None, {"Cache-Control": "x" * 5000, "Age": "y" * 5000}),
    ],
)
def test_what_it_says_is_quoted_briefly(
    check: Check, standing: Standing, status: int, regions: list[str] | None, more: dict[str, str]
) -> None:
    standing.status, standing.regions, standing.more = status, regions, standing.more | more
    assert len(said_of(check, standing)) < 600


@pytest.mark.parametrize("certificate", [b"\x17\x0d991399000000Z\x17\x0d999999999999Z", b"none"])
def test_a_certificate_that_cannot_be_read_has_no_end(certificate: bytes) -> None:
    answer = ProbeResponse("https://x", 200, HTTPMessage(), b"", 0, 0, certificate)
    assert answer.certificate_end is None
