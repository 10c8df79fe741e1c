"""`/`, `/openapi.json` and `/docs/`: served as they are, kept by callers, and one with what the console does."""

import gzip
import json
import re
from html.parser import HTMLParser

import pytest

from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import ApiError
from tests.harness import InProcess, Reply
from tests.server.http.world import cookie_header, post_login

PATHS = ["/", "/openapi.json", "/docs/"]


def get(wire: InProcess, path: str, method: str = "GET", **headers: str) -> Reply:
    return wire.send(method, path, [(name.replace("_", "-"), value) for name, value in headers.items()])


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
def page(wire: InProcess) -> Page:
    return Page(get(wire, "/docs/").body.decode())


def test_the_document_is_json(wire: InProcess) -> None:
    reply = get(wire, "/openapi.json")
    assert (reply.status, reply.header("content-type")) == (200, "application/json")
    assert json.loads(reply.body)["openapi"] == "3.1.0"


def test_the_page_is_html(wire: InProcess) -> None:
    assert get(wire, "/docs/").header("content-type") == "text/html; charset=utf-8"


def test_chinese_in_the_document_is_not_escaped(wire: InProcess) -> None:
    assert "账户".encode() in get(wire, "/openapi.json").body


@pytest.mark.parametrize("path", PATHS)
def test_a_copy_may_be_kept_but_is_asked_after(wire: InProcess, path: str) -> None:
    reply = get(wire, path)
    assert reply.header("cache-control") == "no-cache"
    assert re.fullmatch('"[0-9a-f]{32}"', reply.header("etag") or "")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("shape", ["{}", "W/{}", '"other", {}', "*"])
def test_a_copy_that_is_still_good_is_not_sent_again(wire: InProcess, path: str, shape: str) -> None:
    whole = get(wire, path)
    reply = get(wire, path, If_None_Match=shape.format(whole.header("etag")))
    assert (reply.status, reply.body, reply.header("content-length")) == (304, b"", None)
    for name in ("etag", "cache-control", "content-security-policy", "x-content-type-options"):
        assert reply.header(name) == whole.header(name)
    assert reply.header("x-request-id")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("tags", ["", '"other"', "W/", '"', ",,"])
def test_any_other_copy_is_replaced(wire: InProcess, path: str, tags: str) -> None:
    assert get(wire, path, If_None_Match=tags).status == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("accepted", ["gzip", "deflate, gzip, br", "gzip;q=0.5", "br, GZIP", "*"])
def test_whoever_takes_it_compressed_gets_it_so(wire: InProcess, path: str, accepted: str) -> None:
    plain, small = get(wire, path), get(wire, path, Accept_Encoding=accepted)
    assert small.header("content-encoding") == "gzip"
    assert gzip.decompress(small.body) == plain.body
    assert len(small.body) == int(small.header("content-length") or 0)
    assert plain.header("vary") == small.header("vary") == "accept-encoding"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("accepted", ["", "br", "identity", "gzip;q=0", "gzip; q=0.000", "x-gzip-like", "*;q=0"])
def test_whoever_does_not_gets_it_plain(wire: InProcess, path: str, accepted: str) -> None:
    reply = get(wire, path, Accept_Encoding=accepted)
    assert reply.header("content-encoding") is None
    assert reply.body == get(wire, path).body


@pytest.mark.parametrize("path", PATHS)
def test_head_tells_what_get_would(wire: InProcess, path: str) -> None:
    whole, head = get(wire, path), get(wire, path, "HEAD")
    assert (head.status, head.body) == (200, b"")
    for name in ("content-length", "content-type", "etag"):
        assert head.header(name) == whole.header(name)


@pytest.mark.parametrize("path", PATHS)
def test_they_are_only_read(wire: InProcess, path: str) -> None:
    reply = get(wire, path, "POST")
    assert (reply.status, reply.error, reply.header("allow")) == (405, "method_not_allowed", "GET, HEAD, OPTIONS")


@pytest.mark.parametrize("path", PATHS)
def test_a_foreign_host_gets_none(wire: InProcess, path: str) -> None:
    assert get(wire, path, Host="evil.example").error == "invalid_host"


def test_the_page_without_its_slash_is_elsewhere(wire: InProcess) -> None:
    reply = get(wire, "/docs")
    assert (reply.status, reply.header("location")) == (308, "/docs/")


def test_the_answers_to_calls_are_still_never_kept(wire: InProcess) -> None:
    assert [get(wire, path).header("cache-control") for path in ("/api/", "/nowhere")] == ["no-store"] * 2


def test_the_page_runs_no_script_and_loads_nothing(page: Page) -> None:
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object", "form"}
    for _, attributes in page.tags:
        assert not {name for name in attributes if name == "style" or name == "src" or name.startswith("on")}
    assert all(link and link[0] in "#/" for link in page.links)


def test_the_pages_policy_lets_its_own_style_in_and_nothing_else(wire: InProcess) -> None:
    policy = get(wire, "/docs/").header("content-security-policy") or ""
    assert "default-src 'none'" in policy
    assert re.search(r"style-src 'sha256-[A-Za-z0-9+/]{43}='(;|$)", policy)
    assert policy != get(wire, "/").header("content-security-policy")


def test_every_link_within_the_page_leads_somewhere(page: Page) -> None:
    assert {link[1:] for link in page.links if link and link.startswith("#")} <= set(page.ids)


def test_no_anchor_comes_twice(page: Page) -> None:
    assert len(set(page.ids)) == len(page.ids)


def test_every_action_and_error_has_its_anchor(page: Page) -> None:
    names = {action.name for action in ACTIONS} | {error.error for error in ApiError.__subclasses__()}
    assert names <= set(page.ids)


def test_the_console_leads_to_the_reference_even_without_script(wire: InProcess) -> None:
    assert "/docs/" in Page(get(wire, "/").body.decode()).links


def test_each_documented_path_takes_exactly_its_methods(wire: InProcess) -> None:
    for path, methods in json.loads(get(wire, "/openapi.json").body)["paths"].items():
        allowed = (get(wire, path, "OPTIONS").header("allow") or "").split(", ")
        assert {method.upper() for method in methods} == set(allowed) - {"HEAD", "OPTIONS"}


def test_a_login_needs_exactly_the_fields_that_are_required_of_its_form(wire: InProcess) -> None:
    form = json.loads(get(wire, "/openapi.json").body)["components"]["schemas"]["LoginForm"]
    token = get(wire, "/api/").cookie("csrftoken") or ""
    needed = []
    for name in form["properties"]:
        fields = {other: "x" for other in form["properties"] if other != name}
        headers = [*cookie_header(csrftoken=token), ("X-CSRFToken", token)]
        reply = post_login(wire, headers, {**fields, "csrfmiddlewaretoken": token})
        if reply.error == "missing_field":
            needed.append(reply.envelope["field"])
    assert needed == form["required"]
