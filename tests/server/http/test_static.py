"""Static responses: caching, compression, assets by hash, and documentation that matches the console."""

import gzip
import json
import re

import pytest

from cloudconsole.server.http.static import ASSETS, Assets
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import ERRORS
from tests.harness import InProcessTransport, Reply
from tests.server.http.helpers import Page, cookie_header, post_login

PATHS = ["/", "/openapi.json", "/docs/"]
SCRIPT = ASSETS.address("docs.js")


def get(transport: InProcessTransport, path: str, method: str = "GET", **headers: str) -> Reply:
    return transport.send(method, path, [(name.replace("_", "-"), value) for name, value in headers.items()])


# Caching and compression.


@pytest.mark.parametrize("shape", ["{}", "W/{}", '"other", {}', "*"])
def test_a_matching_etag_returns_304(transport: InProcessTransport, shape: str) -> None:
    full = get(transport, "/docs/")
    reply = get(transport, "/docs/", If_None_Match=shape.format(full.header("etag")))
    assert (reply.status, reply.body, reply.header("content-length")) == (304, b"", None)
    for name in ("etag", "cache-control", "content-security-policy", "x-content-type-options", "vary"):
        assert reply.header(name) == full.header(name)
    assert reply.header("x-request-id")


@pytest.mark.parametrize("tags", ["", '"other"', "W/", '"', ",,"])
def test_any_other_etag_returns_the_full_response(transport: InProcessTransport, tags: str) -> None:
    assert get(transport, "/docs/", If_None_Match=tags).status == 200


@pytest.mark.parametrize("accepted", ["gzip", "deflate, gzip, br", "gzip;q=0.5", "br, GZIP", "*"])
def test_clients_that_accept_gzip_get_gzip(transport: InProcessTransport, accepted: str) -> None:
    for path in PATHS:
        plain, compressed = get(transport, path), get(transport, path, Accept_Encoding=accepted)
        assert compressed.header("content-encoding") == "gzip"
        assert gzip.decompress(compressed.body) == plain.body
        assert plain.header("vary") == compressed.header("vary") == "accept-encoding"


@pytest.mark.parametrize("accepted", ["", "br", "identity", "gzip;q=0", "gzip; q=0.000", "x-gzip-like", "*;q=0"])
def test_other_clients_get_an_uncompressed_response(transport: InProcessTransport, accepted: str) -> None:
    reply = get(transport, "/docs/", Accept_Encoding=accepted)
    assert reply.header("content-encoding") is None
    assert reply.body == get(transport, "/docs/").body


@pytest.mark.parametrize("path", PATHS)
def test_only_get_and_head_are_allowed_and_responses_must_be_revalidated(
    transport: InProcessTransport, path: str
) -> None:
    full, head, post = (get(transport, path, method) for method in ("GET", "HEAD", "POST"))
    assert full.header("cache-control") == "no-cache"
    assert re.fullmatch('"[0-9a-f]{32}"', full.header("etag") or "")
    assert (head.status, head.body) == (200, b"")
    for name in ("content-length", "content-type", "etag"):
        assert head.header(name) == full.header(name)
    assert (post.status, post.error, post.header("allow")) == (405, "method_not_allowed", "GET, HEAD, OPTIONS")


# Assets.


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("docs.js", "text/javascript; charset=utf-8"),
        ("theme.css", "text/css; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
    ],
)
def test_assets_have_their_content_type_and_are_immutable(
    transport: InProcessTransport, path: str, content_type: str
) -> None:
    reply = get(transport, ASSETS.address(path))
    assert (reply.status, reply.header("content-type"), reply.body) == (200, content_type, ASSETS.contents[path])
    assert reply.header("cache-control") == "public, max-age=31536000, immutable"
    assert reply.header("x-content-type-options") == "nosniff"


NO_ASSETS = ["", "console/index.html", "console/main.js", "admin/../docs.js", "/docs.js", "../../server/app.py"]


@pytest.mark.parametrize(
    "path",
    [
        *(ASSETS.root + path for path in NO_ASSETS),
        *("/web/0000000000000000/docs.js", SCRIPT.upper(), SCRIPT + "\0"),
    ],
)
def test_no_other_file_is_served(transport: InProcessTransport, path: str) -> None:
    reply = get(transport, path)
    assert (reply.status, reply.error) == (404, "not_found")
    assert reply.header("cache-control") == "no-store"


def test_asset_urls_change_with_any_file_and_no_other_file_has_one() -> None:
    before = Assets({"a.js": b"1", "b.js": b"2"})
    roots = {Assets(changed).root for changed in ({"a.js": b"1", "b.js": b"3"}, {"a.js": b"12"}, {"a.js": b"1"})}
    assert len(roots | {before.root}) == 4
    with pytest.raises(KeyError):
        before.address("c.js")


# Documentation.


@pytest.fixture
def page(transport: InProcessTransport) -> Page:
    reply = get(transport, "/docs/")
    assert reply.header("content-type") == "text/html; charset=utf-8"
    return Page(reply.body.decode())


def test_docs_page_loads_only_files_of_the_console(transport: InProcessTransport, page: Page) -> None:
    assert not {tag for tag, _ in page.tags} & {"style", "iframe", "object", "form"}
    for tag, attributes in page.tags:
        assert not {name for name in attributes if name == "style" or name.startswith("on")}
        if tag in ("script", "link", "img"):
            assert (attributes.get("src") or attributes.get("href") or "").startswith(ASSETS.root)
    assert all(link and link[0] in "#/" for link in page.links)
    assert "default-src 'none'" in (get(transport, "/docs/").header("content-security-policy") or "")


def test_every_internal_link_action_and_error_has_one_anchor(page: Page) -> None:
    names = {action.name for action in ACTIONS} | {error.error for error in ERRORS}
    links = {link[1:] for link in page.links if link and link.startswith("#")}
    assert names | links <= set(page.ids)
    assert len(set(page.ids)) == len(page.ids)


def test_docs_are_linked_and_found_without_slash(transport: InProcessTransport) -> None:
    assert "/docs/" in Page(get(transport, "/").body.decode()).links
    reply = get(transport, "/docs")
    assert (reply.status, reply.header("location")) == (308, "/docs/")


def test_each_documented_path_allows_exactly_its_methods(transport: InProcessTransport) -> None:
    reply = get(transport, "/openapi.json")
    assert reply.header("content-type") == "application/json"
    assert "账户".encode() in reply.body
    for path, methods in json.loads(reply.body)["paths"].items():
        allowed = (get(transport, path, "OPTIONS").header("allow") or "").split(", ")
        assert {method.upper() for method in methods} == set(allowed) - {"HEAD", "OPTIONS"}


def test_login_requires_exactly_the_documented_fields(transport: InProcessTransport) -> None:
    form = json.loads(get(transport, "/openapi.json").body)["components"]["schemas"]["LoginForm"]
    token = get(transport, "/api/").cookie("csrftoken") or ""
    required = []
    for name in form["properties"]:
        fields = {other: "x" for other in form["properties"] if other != name}
        headers = [*cookie_header(csrftoken=token), ("X-CSRFToken", token)]
        reply = post_login(transport, headers, {**fields, "csrfmiddlewaretoken": token})
        if reply.error == "missing_field":
            required.append(reply.envelope["field"])
    assert required == form["required"]


# The page for unknown paths.


HTML = "text/html; charset=utf-8"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize("path", ["/nowhere", "/api/x"])
@pytest.mark.parametrize(("language", "title"), [("en", "Page not found"), ("zh", "页面不存在")])
def test_a_browser_gets_a_page_for_an_unknown_path(
    transport: InProcessTransport, path: str, language: str, title: str
) -> None:
    headers = {"Accept": BROWSER, "Accept_Language": language}
    reply = get(transport, path, **headers)
    assert (reply.status, reply.header("Content-Type"), reply.header("Cache-Control")) == (404, HTML, "no-store")
    assert f"<h1>{title}</h1>" in reply.body.decode()
    links = Page(reply.body.decode()).links
    assert {"/", "/docs/"} < set(links)
    assert {get(transport, link or "").status for link in links} == {200}
    head = get(transport, path, "HEAD", **headers)
    assert (head.status, head.header("Content-Type"), head.body) == (404, HTML, b"")


@pytest.mark.parametrize(
    ("method", "path", "accept"),
    [
        ("GET", "/nowhere", "*/*"),
        ("GET", "/nowhere", "application/json"),
        ("POST", "/nowhere", BROWSER),
        ("GET", "/auth/login/", BROWSER),
        ("POST", "/api/", BROWSER),
    ],
)
def test_other_errors_and_programs_get_json(transport: InProcessTransport, method: str, path: str, accept: str) -> None:
    reply = get(transport, path, method, Accept=accept)
    assert reply.header("Content-Type") == "application/json"
    assert reply.envelope["code"] == reply.status
