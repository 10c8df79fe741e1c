"""The configuration of nginx that operators copy, before two real consoles that share a store, over TLS."""

import json
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import copytree
from uuid import uuid4

import pytest

from cloudconsole.server.http.response import SECURITY_HEADERS
from cloudconsole.spec import envelope
from cloudconsole.spec.errors import ApiError, BodyTooLarge, NotFound
from cloudconsole.spec.i18n import Language
from tests.e2e.processes import eventually
from tests.e2e.raw_http import Raw, chunked, request
from tests.harness import CERTIFICATES, JSON, Caller, OverHttp, Reply, trusting_tests
from tests.scale.sites import CALLER, From, Site, log_lines, site_of_two


@pytest.fixture(scope="module")
def site(quick_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site_of_two(copytree(quick_store, tmp_path_factory.mktemp("site") / "data")) as running:
        yield running


@pytest.fixture
def caller(site: Site) -> Iterator[Caller]:
    with closing(From(site.nginx.base)) as wire:
        yield Caller(wire)


@pytest.fixture
def raw(site: Site) -> Iterator[Raw]:
    """Bytes within TLS."""
    plain = socket.create_connection(("127.0.0.1", site.nginx.port), timeout=20)
    with closing(Raw(trusting_tests().wrap_socket(plain, server_hostname="localhost"))) as connection:
        yield connection


def test_a_whole_session_goes_through_it_with_secure_cookies(site: Site, caller: Caller) -> None:
    opened = caller.open()
    assert opened.data["regions"] == [f"{site.nginx.base}/v3"]
    assert caller.login().status == 200
    assert caller.call("GetUsageLimits").status == 200
    assert caller.call("GetUsageLimits", as_form=True).status == 200
    assert all("; Secure" in cookie for cookie in opened.set_cookies.values())
    assert caller.logout().status == 200
    assert caller.call("GetUsageLimits").error == "login_required"


def test_both_replicas_serve_one_session(site: Site, caller: Caller) -> None:
    caller.login()
    for _ in range(6):
        assert caller.call("GetUsageLimits").status == 200
    for replica in site.replicas:
        eventually(lambda: [line for line in log_lines(replica) if line.get("action") == "GetUsageLimits"])  # noqa: B023


def test_the_headers_of_an_answer_come_through_once_each(caller: Caller) -> None:
    answer = caller.open()
    assert_has_security_headers(answer)
    assert answer.header("strict-transport-security") == "max-age=31536000"
    assert answer.header("content-encoding") is None


def test_http_2_is_spoken(site: Site) -> None:
    curl = ["curl", "--silent", "--http2", "--cacert", str(CERTIFICATES / "rsa.pem")]
    shown = ["--output", "/dev/null", "--write-out", "%{http_version} %{http_code}"]
    done = subprocess.run([*curl, *shown, f"{site.nginx.base}/api/"], capture_output=True, text=True, check=True)
    assert done.stdout == "2 200"


@pytest.mark.parametrize(("version", "is_spoken"), [("TLSv1_1", False), ("TLSv1_2", True), ("TLSv1_3", True)])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tls_begins_with_1_2(site: Site, version: str, is_spoken: bool) -> None:
    context = trusting_tests()
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
    try:
        with context.wrap_socket(
            socket.create_connection(("127.0.0.1", site.nginx.port), timeout=20), server_hostname="localhost"
        ):
            spoken = True
    except (ssl.SSLError, ConnectionError):
        spoken = False
    assert spoken == is_spoken


def test_tls_1_2_rejects_a_client_that_offers_only_cbc(site: Site) -> None:
    context = trusting_tests()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("ECDHE+AES:!AESGCM:!AESCCM")
    plain = socket.create_connection(("127.0.0.1", site.nginx.port), timeout=20)
    with plain, pytest.raises(ssl.SSLError, match="HANDSHAKE_FAILURE"):
        context.wrap_socket(plain, server_hostname="localhost")


@pytest.mark.parametrize("host", ["127.0.0.1", "evil.example"])
def test_plain_http_redirects_to_https_at_our_own_name(site: Site, host: str) -> None:
    with closing(OverHttp(site.nginx.plain_base)) as wire:
        answer = wire.send("GET", "/api/?a=b", [("Host", host)])
    assert answer.status == 308
    assert answer.header("location") == f"{site.nginx.base}/api/?a=b"
    assert_has_security_headers(answer)


@pytest.mark.parametrize(
    ("language", "message"),
    [
        ("en", "Over http there are only redirects. Send this request over https."),
        ("zh", "http 仅提供重定向，请通过 https 发送此请求。"),
    ],
)
def test_plain_http_rejects_what_is_not_read(site: Site, language: str, message: str) -> None:
    with closing(OverHttp(site.nginx.plain_base)) as wire:
        answer = wire.send("POST", "/auth/login/", [("Content-Type", JSON), ("Accept-Language", language)], b"{}")
    assert (answer.status, answer.header("allow"), answer.header("location")) == (405, "GET, HEAD", None)
    assert answer.header("content-type") == "application/json"
    assert answer.envelope == {"message": message, "code": 405, "data": {}, "error": "method_not_allowed"}
    assert_has_security_headers(answer)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/admin", "/auth/login", "/api"])
def test_no_path_redirects_to_a_foreign_host(caller: Caller, method: str, path: str) -> None:
    own, foreign = caller.send(method, path), caller.send(method, path, {"Host": "evil.example"})
    assert (own.status, own.header("location")) == (308, f"{path}/")
    assert (foreign.status, foreign.error, foreign.header("location")) == (400, "invalid_host", None)
    for answer in (own, foreign):
        assert_has_security_headers(answer)


def assert_has_security_headers(answer: Reply) -> None:
    for name, value in SECURITY_HEADERS:
        assert answer.header(name.decode()) == value.decode()


def test_the_trail_has_the_callers_address(site: Site, caller: Caller) -> None:
    assert caller.login().status == 200
    (address, _), *_ = reversed(site.logins())
    assert address == CALLER


SPOOFED = {
    "X-Forwarded-For": "203.0.113.9",
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Proto": "http",
    "X-Real-IP": "203.0.113.9",
    "Forwarded": "for=203.0.113.9;host=evil.example;proto=http",
}


@pytest.mark.parametrize("twice", [False, True])
def test_forwarded_headers_that_a_caller_sends_are_replaced(site: Site, twice: bool) -> None:
    name = uuid4().hex
    with closing(From(site.nginx.base)) as wire:
        headers = [*SPOOFED.items()] * (1 + twice)
        answer = wire.send("GET", "/api/", [*headers, ("X-Request-ID", name)])
    assert answer.data["regions"] == [f"{site.nginx.base}/v3"]
    assert all("; Secure" in cookie for cookie in answer.set_cookies.values())
    lines = eventually(
        lambda: [line for each in site.replicas for line in log_lines(each) if line["request_id"] == name]
    )
    assert [line["address"] for line in lines] == [CALLER]


def test_no_replica_takes_nginx_for_an_undeclared_proxy(site: Site, caller: Caller) -> None:
    caller.open()
    assert not any("ignoring forwarded headers" in replica.log.read_text() for replica in site.replicas)


def test_another_host_is_refused_by_the_console(caller: Caller) -> None:
    assert caller.send("GET", "/api/", {"Host": "evil.example"}).error == "invalid_host"


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/readyz", "//readyz", "/%72eadyz", "/.error/503"])
def test_what_is_for_those_who_watch_is_not_shown_to_callers(caller: Caller, path: str) -> None:
    answer = caller.send("GET", path)
    assert answer.status == 404
    assert_is_refusal(answer, NotFound(), "en")


BIG = b'{"action": "GetUsageLimits", "more": "' + b"x" * 70_000 + b'"}'


@pytest.mark.parametrize(("language", "wanted"), [("en", "en-GB,zh;q=0.5"), ("zh", "zh-CN,zh;q=0.9,en;q=0.8")])
def test_a_body_too_large_is_refused_as_the_console_would(caller: Caller, language: Language, wanted: str) -> None:
    answer = caller.send("POST", "/api/", {"Content-Type": JSON, "Accept-Language": wanted}, BIG)
    assert answer.status == 413
    assert_is_refusal(answer, BodyTooLarge(65_536), language)


def test_a_chunked_body_too_large_is_refused_likewise(raw: Raw) -> None:
    headers = [("Content-Type", JSON), ("Transfer-Encoding", "chunked")]
    raw.send(request("POST", "/api/", headers, chunked([BIG])))
    answer = raw.answer()
    assert answer.status == 413
    assert_is_refusal(answer, BodyTooLarge(65_536), "en")


def test_the_largest_body_that_the_console_takes_comes_through(caller: Caller) -> None:
    caller.login()
    body = json.dumps({"action": "GetUsageLimits"}).encode()
    answer = caller.send(
        "POST", "/api/", {"Content-Type": JSON, "X-CSRFToken": caller.token}, body + b" " * (65_536 - len(body))
    )
    assert answer.status == 200


def test_a_head_as_large_as_the_console_takes_comes_through(raw: Raw) -> None:
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
def test_what_is_no_call_gets_a_bare_answer(raw: Raw, sent: bytes, status: int) -> None:
    raw.send(sent)
    answer = raw.answer()
    assert (answer.status, answer.header("content-type")) == (status, "text/plain")
    assert b"<" not in answer.body
    assert answer.header("x-frame-options") == "DENY"


def test_the_access_log_has_the_consoles_request_id_and_no_query(site: Site, caller: Caller) -> None:
    name = uuid4().hex
    caller.send("GET", "/api/?secret=1", {"X-Request-ID": name})
    line = eventually(lambda: next((line for line in access_lines(site) if line["request_id"] == name), None))
    assert (line["address"], line["path"], line["status"]) == (CALLER, "/api/", 200)
    assert "secret" not in site.nginx.access_log.read_text()


def test_the_access_log_has_what_was_asked_for_where_nginx_refuses_it(site: Site, caller: Caller) -> None:
    path = f"/metrics/../readyz/../{uuid4().hex}/../metrics"
    assert caller.send("GET", f"{path}?secret=1").status == 404
    eventually(lambda: next((line for line in access_lines(site) if line["path"] == path), None))
    assert "secret" not in site.nginx.access_log.read_text()


def access_lines(site: Site) -> list[dict[str, object]]:
    return [json.loads(line) for line in site.nginx.access_log.read_text().split("\n")[:-1]]


def assert_is_refusal(answer: Reply, error: ApiError, language: Language) -> None:
    """Exactly what a console says, with the headers that all its answers have."""
    assert answer.body == envelope.error(error, language)
    assert answer.header("content-type") == JSON
    assert answer.header("cache-control") == "no-store"
    assert answer.header("strict-transport-security") == "max-age=31536000"
    assert answer.header("x-request-id")
    for name, value in SECURITY_HEADERS:
        assert answer.header(name.decode()) == value.decode()
