"""The nginx configuration for operators, with TLS, in front of two replicas that share a store."""

import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from shutil import copytree
from uuid import uuid4

import pytest

from cloudconsole.server.http.response import SECURITY_HEADERS
from cloudconsole.spec import envelope
from cloudconsole.spec.errors import ApiError, BodyTooLarge, NotFound
from cloudconsole.spec.i18n import Language
from tests.e2e.processes import eventually
from tests.e2e.raw_http import RawConnection, request
from tests.harness import CERTIFICATES, JSON, ApiClient, HttpTransport, Reply, client_ssl_context
from tests.scale.sites import CLIENT_ADDRESS, ClientTransport, Site, log_lines, raw_connection, two_replica_site


@pytest.fixture(scope="module")
def site(fast_hash_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with two_replica_site(copytree(fast_hash_store, tmp_path_factory.mktemp("site") / "data")) as running:
        yield running


@pytest.fixture
def client(site: Site) -> Iterator[ApiClient]:
    with closing(ClientTransport(site.nginx.base)) as transport:
        yield ApiClient(transport)


@pytest.fixture
def raw(site: Site) -> Iterator[RawConnection]:
    with closing(raw_connection(site.nginx)) as connection:
        yield connection


def test_http_2_is_supported(site: Site) -> None:
    curl = ["curl", "--silent", "--http2", "--cacert", str(CERTIFICATES / "rsa.pem")]
    shown = ["--output", "/dev/null", "--write-out", "%{http_version} %{http_code}"]
    done = subprocess.run([*curl, *shown, f"{site.nginx.base}/api/"], capture_output=True, text=True, check=True)
    assert done.stdout == "2 200"


@pytest.mark.parametrize(
    ("version", "ciphers", "is_supported"),
    [
        ("TLSv1_1", "DEFAULT:@SECLEVEL=0", False),
        ("TLSv1_2", "DEFAULT:@SECLEVEL=0", True),
        ("TLSv1_2", "ECDHE+AES:!AESGCM:!AESCCM", False),
        ("TLSv1_3", "DEFAULT", True),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tls_older_than_1_2_and_cbc_are_rejected(site: Site, version: str, ciphers: str, is_supported: bool) -> None:
    context = client_ssl_context()
    context.set_ciphers(ciphers)
    context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
    plain = socket.create_connection(("127.0.0.1", site.nginx.port), timeout=120)
    with plain, nullcontext() if is_supported else pytest.raises((ssl.SSLError, ConnectionError)):
        context.wrap_socket(plain, server_hostname="localhost").close()


@pytest.mark.parametrize("host", ["127.0.0.1", "evil.example"])
def test_plain_http_redirects_to_the_public_https_host(site: Site, host: str) -> None:
    with closing(HttpTransport(site.nginx.plain_base)) as transport:
        reply = transport.send("GET", "/api/?a=b", [("Host", host)])
    assert reply.status == 308
    assert reply.header("location") == f"{site.nginx.base}/api/?a=b"
    assert_has_security_headers(reply)


@pytest.mark.parametrize(
    ("language", "message"),
    [
        ("en", "Over http there are only redirects. Send this request over https."),
        ("zh", "http 仅提供重定向，请通过 https 发送此请求。"),
    ],
)
def test_plain_http_rejects_post(site: Site, language: str, message: str) -> None:
    with closing(HttpTransport(site.nginx.plain_base)) as transport:
        reply = transport.send("POST", "/auth/login/", [("Content-Type", JSON), ("Accept-Language", language)], b"{}")
    assert (reply.status, reply.header("allow"), reply.header("location")) == (405, "GET, HEAD", None)
    assert reply.header("content-type") == "application/json"
    assert reply.envelope == {"message": message, "code": 405, "data": {}, "error": "method_not_allowed"}
    assert_has_security_headers(reply)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/admin", "/auth/login", "/api"])
def test_no_path_redirects_to_a_foreign_host(client: ApiClient, method: str, path: str) -> None:
    local, foreign = client.send(method, path), client.send(method, path, {"Host": "evil.example"})
    assert (local.status, local.header("location")) == (308, f"{path}/")
    assert (foreign.status, foreign.error, foreign.header("location")) == (400, "invalid_host", None)
    for reply in (local, foreign):
        assert_has_security_headers(reply)


def assert_has_security_headers(reply: Reply) -> None:
    for name, value in SECURITY_HEADERS:
        assert reply.header(name.decode()) == value.decode()


def test_access_audit_has_the_client_address(site: Site, client: ApiClient) -> None:
    assert client.login().status == 200
    assert site.logins()[-1][0] == CLIENT_ADDRESS


SPOOFED = {
    "X-Forwarded-For": "203.0.113.9",
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Proto": "http",
    "X-Real-IP": "203.0.113.9",
    "Forwarded": "for=203.0.113.9;host=evil.example;proto=http",
}


@pytest.mark.parametrize("twice", [False, True])
def test_forwarded_headers_from_clients_are_replaced(site: Site, twice: bool) -> None:
    name = uuid4().hex
    with closing(ClientTransport(site.nginx.base)) as transport:
        headers = [*SPOOFED.items()] * (1 + twice)
        reply = transport.send("GET", "/api/", [*headers, ("X-Request-ID", name)])
    assert reply.data["regions"] == [f"{site.nginx.base}/v3"]
    assert all("; Secure" in cookie for cookie in reply.set_cookies.values())
    lines = eventually(
        lambda: [line for each in site.replicas for line in log_lines(each) if line["request_id"] == name]
    )
    assert [line["address"] for line in lines] == [CLIENT_ADDRESS]


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/readyz", "//readyz", "/%72eadyz", "/.error/503"])
def test_monitoring_endpoints_are_hidden_from_clients(client: ApiClient, path: str) -> None:
    reply = client.send("GET", path)
    assert reply.status == 404
    assert_is_error(reply, NotFound(), "en")


OVERSIZED = b'{"action": "GetUsageLimits", "more": "' + b"x" * 70_000 + b'"}'


@pytest.mark.parametrize(("language", "accept_language"), [("en", "en-GB,zh;q=0.5"), ("zh", "zh-CN,zh;q=0.9,en;q=0.8")])
def test_oversized_body_gets_the_consoles_error(client: ApiClient, language: Language, accept_language: str) -> None:
    reply = client.send("POST", "/api/", {"Content-Type": JSON, "Accept-Language": accept_language}, OVERSIZED)
    assert reply.status == 413
    assert_is_error(reply, BodyTooLarge(65_536), language)


def test_large_headers_are_forwarded(raw: RawConnection) -> None:
    raw.send(request("GET", "/api/", [("Cookie", "a=" + "x" * 31_000)]))
    assert raw.answer().status == 200


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (request("GET", "/api/", [("X-Long", "x" * 40_000)]), 431),
        (request("GET", "/" + "x" * 40_000), 431),
        (b"this is not HTTP\r\n\r\n", 400),
        (b"GET /api/ HTTP/1.1\r\n\r\n", 400),
        (request("TRACE", "/api/"), 405),
        (request("GET", "/api/", version="HTTP/3.0"), 505),
    ],
)
def test_invalid_requests_get_a_plain_text_response(raw: RawConnection, sent: bytes, status: int) -> None:
    raw.send(sent)
    reply = raw.answer()
    assert (reply.status, reply.header("content-type")) == (status, "text/plain")
    assert b"<" not in reply.body
    assert reply.header("x-frame-options") == "DENY"


def test_the_access_log_has_request_ids_and_requested_paths_but_no_query(site: Site, client: ApiClient) -> None:
    name = uuid4().hex
    rejected = f"/metrics/../readyz/../{name}/../metrics"
    assert client.send("GET", f"{rejected}?secret=1").status == 404
    eventually(lambda: next((line for line in site.access_lines() if line["path"] == rejected), None))
    client.send("GET", "/api/?secret=1", {"X-Request-ID": name})
    line = eventually(lambda: next((line for line in site.access_lines() if line["request_id"] == name), None))
    assert (line["address"], line["path"], line["status"]) == (CLIENT_ADDRESS, "/api/", 200)
    assert "secret" not in site.nginx.access_log.read_text()


def assert_is_error(reply: Reply, error: ApiError, language: Language) -> None:
    """Check that the response equals the console's own, including the common headers."""
    assert reply.body == envelope.error(error, language)
    assert reply.header("content-type") == JSON
    assert reply.header("cache-control") == "no-store"
    assert reply.header("strict-transport-security") == "max-age=31536000"
    assert reply.header("x-request-id")
    assert_has_security_headers(reply)
