"""Endpoints that need no session, and the handling of paths and methods."""

import re
from base64 import b64encode
from hashlib import sha256

import pytest

from cloudconsole.spec.extensions import EXTENSIONS
from tests.harness import ApiClient, HttpTransport, InProcessTransport, Transport
from tests.server.http.helpers import Page

PATHS = {
    "/": {"GET", "HEAD", "OPTIONS"},
    "/api/": {"GET", "HEAD", "POST", "OPTIONS"},
    "/auth/login/": {"POST", "OPTIONS"},
    "/auth/logout/": {"POST", "OPTIONS"},
}
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"]
DISALLOWED = [
    pytest.param(path, method, marks=pytest.mark.not_behind_nginx if method == "TRACE" else ())
    for path, allowed in PATHS.items()
    for method in METHODS
    if method not in allowed
]


def _methods(allow: str | None) -> set[str]:
    assert allow is not None
    methods = allow.split(", ")
    assert len(set(methods)) == len(methods)
    return set(methods)


# GET /api/


def test_service_info_is_complete(client: ApiClient, transport: Transport) -> None:
    reply = client.open()
    assert (reply.status, reply.header("Content-Type")) == (200, "application/json")
    assert set(reply.envelope) == {"message", "code", "data"}
    assert reply.data == {
        "actions": [
            "GetUsageLimits",
            "GetFlavors",
            "GetUrlList",
            "GetDomainDetail",
            "GetNews",
            "GetConsumptionsEstimated",
        ],
        "regions": [f"{transport.base}/v3"],
        "currency": "CNY",
        "timeZone": "UTC",
        "monthDays": 30,
        "units": {"ram": "MB", "disk": "GB", "volume": "GB", "personality": "B"},
        "extensions": [action.name for action in EXTENSIONS],
    }


def test_head_has_the_headers_of_get_and_no_body(client: ApiClient) -> None:
    get = client.open()
    head = client.send("HEAD", "/api/")
    assert (head.status, head.body) == (200, b"")
    assert head.header("Content-Length") == str(len(get.body))
    assert set(head.set_cookies) == {"csrftoken", "sessionid"}
    assert {name.lower() for name, _ in head.headers} == {name.lower() for name, _ in get.headers}


# Methods and paths


WITHOUT_SLASH = ["/api", "/auth/login", "/auth/logout"]


@pytest.mark.parametrize("path", [*PATHS, *WITHOUT_SLASH, "/nowhere", "/api/x", "/auth/"])
def test_options_lists_the_allowed_methods(client: ApiClient, path: str) -> None:
    reply = client.send("OPTIONS", path)
    assert (reply.status, reply.body) == (204, b"")
    assert _methods(reply.header("Allow")) == PATHS.get(f"{path}/" if path in WITHOUT_SLASH else path, {"OPTIONS"})
    assert (reply.header("Content-Length"), reply.header("Content-Type")) == (None, None)


@pytest.mark.parametrize(("path", "method"), DISALLOWED)
def test_wrong_method_is_rejected_with_the_allowed_methods(client: ApiClient, path: str, method: str) -> None:
    reply = client.send(method, path)
    assert reply.status == 405
    assert _methods(reply.header("Allow")) == PATHS[path]
    if method != "HEAD":
        assert reply.error == "method_not_allowed"


def test_method_names_are_case_sensitive(in_process: InProcessTransport) -> None:
    assert ApiClient(in_process).send("get", "/api/").error == "method_not_allowed"


@pytest.mark.parametrize("path", ["/nowhere", "/api/x", "/API/", "/auth/", "/auth/login/x", "/favicon.ico", "/api//"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_path_is_not_found(client: ApiClient, method: str, path: str) -> None:
    reply = client.send(method, path)
    assert (reply.status, reply.error) == (404, "not_found")
    assert "field" not in reply.envelope


@pytest.mark.parametrize("path", WITHOUT_SLASH)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_path_without_trailing_slash_redirects(client: ApiClient, method: str, path: str) -> None:
    reply = client.send(method, path)
    assert (reply.status, reply.header("Location")) == (308, f"{path}/")
    if method != "HEAD":
        assert reply.envelope == {"message": f"This path ends with a slash: {path}/", "code": 308, "data": {}}
    assert reply.set_cookies == {}


def test_redirect_keeps_the_query_string(remote: HttpTransport) -> None:
    assert ApiClient(remote).send("GET", "/api?a=1&b=%20").header("Location") == "/api/?a=1&b=%20"


# The page


@pytest.fixture
def page(client: ApiClient) -> Page:
    reply = client.send("GET", "/")
    assert reply.status == 200
    assert reply.header("Content-Type") == "text/html; charset=utf-8"
    return Page(reply.body.decode("utf-8"))


def test_page_refers_to_no_file_and_has_no_inline_handlers(page: Page) -> None:
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "srcset", "style")], tag
        if tag == "link":
            assert (attributes["href"] or "").startswith("data:image/svg+xml,%3Csvg")
        else:
            for name in ("href", "action"):
                assert not re.match(r"(?i)([a-z]+:)?//|javascript:|data:", attributes.get(name) or "")
    assert not re.search(r"(?i)@import|url\(", "".join(page.inline["style"]))


def test_content_security_policy_allows_the_inline_content_and_nothing_else(client: ApiClient, page: Page) -> None:
    policy = client.send("GET", "/").header("Content-Security-Policy")
    assert policy is not None
    rules = {name: sources for name, *sources in (rule.split() for rule in policy.split(";"))}
    for directive, tag in (("script-src", "script"), ("style-src", "style")):
        contents = page.inline[tag]
        assert contents
        assert sorted(rules.pop(directive)) == sorted(_hash_source(content) for content in contents)
    assert rules == {
        "default-src": ["'none'"],
        "img-src": ["data:"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
        "require-trusted-types-for": ["'script'"],
        "trusted-types": ["'none'"],
    }


def _hash_source(content: str) -> str:
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"
