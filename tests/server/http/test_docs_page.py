"""`/`, `/openapi.json` and `/docs/`: caching, compression, and documentation that matches the console."""

import gzip
import json
import re
from html.parser import HTMLParser

import pytest

from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import ApiError
from tests.harness import InProcessTransport, Reply
from tests.server.http.helpers import cookie_header, post_login

PATHS = ["/", "/openapi.json", "/docs/"]


def get(transport: InProcessTransport, path: str, method: str = "GET", **headers: str) -> Reply:
    return transport.send(method, path, [(name.replace("_", "-"), value) for name, value in headers.items()])


class Page(HTMLParser):
    """The tags, ids and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    @property
    def ids(self) -> list[str | None]:
        return [attributes["id"] for _, attributes in self.tags if "id" in attributes]

    @property
    def links(self) -> list[str | None]:
        return [attributes["href"] for _, attributes in self.tags if "href" in attributes]


@pytest.fixture
def page(transport: InProcessTransport) -> Page:
    return Page(get(transport, "/docs/").body.decode())


def test_the_openapi_document_is_json(transport: InProcessTransport) -> None:
    reply = get(transport, "/openapi.json")
    assert (reply.status, reply.header("content-type")) == (200, "application/json")
    assert json.loads(reply.body)["openapi"] == "3.1.0"


def test_the_docs_page_is_html(transport: InProcessTransport) -> None:
    assert get(transport, "/docs/").header("content-type") == "text/html; charset=utf-8"


def test_chinese_in_the_document_is_not_escaped(transport: InProcessTransport) -> None:
    assert "账户".encode() in get(transport, "/openapi.json").body


@pytest.mark.parametrize("path", PATHS)
def test_responses_are_cacheable_but_must_be_revalidated(transport: InProcessTransport, path: str) -> None:
    reply = get(transport, path)
    assert reply.header("cache-control") == "no-cache"
    assert re.fullmatch('"[0-9a-f]{32}"', reply.header("etag") or "")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("shape", ["{}", "W/{}", '"other", {}', "*"])
def test_a_matching_etag_returns_304(transport: InProcessTransport, path: str, shape: str) -> None:
    full = get(transport, path)
    reply = get(transport, path, If_None_Match=shape.format(full.header("etag")))
    assert (reply.status, reply.body, reply.header("content-length")) == (304, b"", None)
    for name in ("etag", "cache-control", "content-security-policy", "x-content-type-options"):
        assert reply.header(name) == full.header(name)
    assert reply.header("x-request-id")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("tags", ["", '"other"', "W/", '"', ",,"])
def test_any_other_etag_returns_the_full_response(transport: InProcessTransport, path: str, tags: str) -> None:
    assert get(transport, path, If_None_Match=tags).status == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("accepted", ["gzip", "deflate, gzip, br", "gzip;q=0.5", "br, GZIP", "*"])
def test_clients_that_accept_gzip_get_gzip(transport: InProcessTransport, path: str, accepted: str) -> None:
    plain, compressed = get(transport, path), get(transport, path, Accept_Encoding=accepted)
    assert compressed.header("content-encoding") == "gzip"
    assert gzip.decompress(compressed.body) == plain.body
    assert len(compressed.body) == int(compressed.header("content-length") or 0)
    assert plain.header("vary") == compressed.header("vary") == "accept-encoding"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("accepted", ["", "br", "identity", "gzip;q=0", "gzip; q=0.000", "x-gzip-like", "*;q=0"])
def test_other_clients_get_an_uncompressed_response(transport: InProcessTransport, path: str, accepted: str) -> None:
    reply = get(transport, path, Accept_Encoding=accepted)
    assert reply.header("content-encoding") is None
    assert reply.body == get(transport, path).body


@pytest.mark.parametrize("path", PATHS)
def test_head_has_the_headers_of_get(transport: InProcessTransport, path: str) -> None:
    full, head = get(transport, path), get(transport, path, "HEAD")
    assert (head.status, head.body) == (200, b"")
    for name in ("content-length", "content-type", "etag"):
        assert head.header(name) == full.header(name)


@pytest.mark.parametrize("path", PATHS)
def test_post_is_not_allowed(transport: InProcessTransport, path: str) -> None:
    reply = get(transport, path, "POST")
    assert (reply.status, reply.error, reply.header("allow")) == (405, "method_not_allowed", "GET, HEAD, OPTIONS")


@pytest.mark.parametrize("path", PATHS)
def test_a_foreign_host_is_rejected(transport: InProcessTransport, path: str) -> None:
    assert get(transport, path, Host="evil.example").error == "invalid_host"


def test_docs_without_slash_redirects(transport: InProcessTransport) -> None:
    reply = get(transport, "/docs")
    assert (reply.status, reply.header("location")) == (308, "/docs/")


def test_api_responses_are_never_cached(transport: InProcessTransport) -> None:
    assert [get(transport, path).header("cache-control") for path in ("/api/", "/nowhere")] == ["no-store"] * 2


def test_the_docs_page_runs_no_script_and_loads_nothing(page: Page) -> None:
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object", "form"}
    for _, attributes in page.tags:
        assert not {name for name in attributes if name == "style" or name == "src" or name.startswith("on")}
    assert all(link and link[0] in "#/" for link in page.links)


def test_the_docs_policy_allows_only_its_own_style(transport: InProcessTransport) -> None:
    policy = get(transport, "/docs/").header("content-security-policy") or ""
    assert "default-src 'none'" in policy
    assert re.search(r"style-src 'sha256-[A-Za-z0-9+/]{43}='(;|$)", policy)
    assert policy != get(transport, "/").header("content-security-policy")


def test_every_internal_link_has_a_target(page: Page) -> None:
    assert {link[1:] for link in page.links if link and link.startswith("#")} <= set(page.ids)


def test_anchors_are_unique(page: Page) -> None:
    assert len(set(page.ids)) == len(page.ids)


def test_every_action_and_error_has_an_anchor(page: Page) -> None:
    names = {action.name for action in ACTIONS} | {error.error for error in ApiError.__subclasses__()}
    assert names <= set(page.ids)


def test_the_console_links_to_the_docs_without_script(transport: InProcessTransport) -> None:
    assert "/docs/" in Page(get(transport, "/").body.decode()).links


def test_each_documented_path_allows_exactly_its_methods(transport: InProcessTransport) -> None:
    for path, methods in json.loads(get(transport, "/openapi.json").body)["paths"].items():
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
