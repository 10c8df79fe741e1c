"""What can be had without logging in, and how paths and methods behave."""

import re
from html.parser import HTMLParser

import pytest

from tests.harness import FORM, JSON, Caller, InProcess, OverHttp, Wire

PATHS = {
    "/": {"GET", "HEAD", "OPTIONS"},
    "/api/": {"GET", "HEAD", "POST", "OPTIONS"},
    "/auth/login/": {"POST", "OPTIONS"},
    "/auth/logout/": {"POST", "OPTIONS"},
}
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"]
WRONG = [
    pytest.param(path, method, marks=pytest.mark.before_nginx if method == "TRACE" else ())
    for path, allowed in PATHS.items()
    for method in METHODS
    if method not in allowed
]


def _allowed(allow: str | None) -> set[str]:
    assert allow is not None
    methods = allow.split(", ")
    assert len(set(methods)) == len(methods)
    return set(methods)


# GET /api/


def test_a_newcomer_learns_all_there_is_to_know(visitor: Caller, wire: Wire) -> None:
    assert visitor.open().data == {
        "actions": [
            "GetUsageLimits",
            "GetFlavors",
            "GetUrlList",
            "GetDomainDetail",
            "GetNews",
            "GetConsumptionsEstimated",
        ],
        "regions": [f"{wire.base}/v3"],
        "currency": "CNY",
        "timeZone": "UTC",
        "monthDays": 30,
        "units": {"ram": "MB", "disk": "GB", "volume": "GB", "personality": "B"},
    }


def test_the_welcome_is_an_envelope(visitor: Caller) -> None:
    reply = visitor.open()
    assert (reply.status, reply.header("Content-Type")) == (200, "application/json")
    assert set(reply.envelope) == {"message", "code", "data"}
    assert reply.envelope["code"] == 200


def test_the_region_it_offers_is_accepted_at_login(visitor: Caller) -> None:
    (region,) = visitor.open().data["regions"]
    assert visitor.login(region=region).status == 200


def test_every_action_it_lists_can_be_called(visitor: Caller, demo: Caller) -> None:
    for action in visitor.open().data["actions"]:
        assert demo.call(action, domainId="206813").status == 200


def test_it_sets_both_cookies(visitor: Caller) -> None:
    assert set(visitor.open().set_cookies) == {"csrftoken", "sessionid"}


def test_head_has_the_headers_of_get_and_no_body(visitor: Caller) -> None:
    get = visitor.open()
    head = visitor.send("HEAD", "/api/")
    assert (head.status, head.body) == (200, b"")
    assert head.header("Content-Length") == str(len(get.body))
    assert set(head.set_cookies) == {"csrftoken", "sessionid"}
    assert {name.lower() for name, _ in head.headers} == {name.lower() for name, _ in get.headers}


def test_a_query_is_passed_over(remote: OverHttp) -> None:
    assert Caller(remote).send("GET", "/api/?x=1").status == 200


# Methods and paths


@pytest.mark.parametrize("path", [*PATHS, "/nowhere", "/api/x", "/auth/"])
def test_options_tells_what_a_path_takes(visitor: Caller, path: str) -> None:
    reply = visitor.send("OPTIONS", path)
    assert (reply.status, reply.body) == (204, b"")
    assert _allowed(reply.header("Allow")) == PATHS.get(path, {"OPTIONS"})


def test_options_has_no_content_headers(visitor: Caller) -> None:
    reply = visitor.send("OPTIONS", "/api/")
    assert (reply.header("Content-Length"), reply.header("Content-Type")) == (None, None)


@pytest.mark.parametrize(("path", "method"), WRONG)
def test_a_wrong_method_is_refused_with_those_allowed(visitor: Caller, path: str, method: str) -> None:
    reply = visitor.send(method, path)
    assert reply.status == 405
    assert _allowed(reply.header("Allow")) == PATHS[path]
    if method != "HEAD":
        assert reply.error == "method_not_allowed"


def test_a_methods_name_is_case_sensitive(in_process: InProcess) -> None:
    assert Caller(in_process).send("get", "/api/").error == "method_not_allowed"


@pytest.mark.parametrize("path", ["/nowhere", "/api/x", "/API/", "/auth/", "/auth/login/x", "/favicon.ico", "/api//"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_path_is_not_found(visitor: Caller, method: str, path: str) -> None:
    reply = visitor.send(method, path)
    assert (reply.status, reply.error) == (404, "not_found")
    assert "field" not in reply.envelope


def test_head_of_an_unknown_path(visitor: Caller) -> None:
    reply = visitor.send("HEAD", "/nowhere")
    assert (reply.status, reply.body) == (404, b"")


@pytest.mark.parametrize("path", ["/api", "/auth/login", "/auth/logout"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_without_its_slash_a_path_leads_to_the_one_with_it(visitor: Caller, method: str, path: str) -> None:
    reply = visitor.send(method, path)
    assert (reply.status, reply.header("Location")) == (308, f"{path}/")
    if method != "HEAD":
        assert reply.envelope == {"message": f"This path ends with a slash: {path}/", "code": 308, "data": {}}
    assert reply.set_cookies == {}


@pytest.mark.parametrize("path", ["/api", "/auth/login", "/auth/logout"])
def test_without_its_slash_a_path_still_tells_its_methods(visitor: Caller, path: str) -> None:
    reply = visitor.send("OPTIONS", path)
    assert (reply.status, _allowed(reply.header("Allow"))) == (204, PATHS[f"{path}/"])


def test_the_query_survives_the_way_over_the_slash(remote: OverHttp) -> None:
    assert Caller(remote).send("GET", "/api?a=1&b=%20").header("Location") == "/api/?a=1&b=%20"


def test_a_call_survives_the_way_over_the_slash(demo: Caller) -> None:
    headers = {"Content-Type": JSON, "X-CSRFToken": demo.token}
    body = b'{"action":"GetFlavors"}'
    first = demo.send("POST", "/api", headers, body)
    assert first.status == 308
    assert demo.send("POST", first.header("Location") or "", headers, body).status == 200


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_login_cannot_be_had_by_looking(visitor: Caller, method: str) -> None:
    assert visitor.send(method, "/auth/login/").status == 405


# Login and logout


def test_a_login_answers_nothing_but_cookies(visitor: Caller) -> None:
    reply = visitor.login()
    assert (reply.status, reply.body, reply.header("Content-Type")) == (200, b"", None)
    assert set(reply.set_cookies) == {"csrftoken", "sessionid"}


def test_a_logout_answers_nothing_and_ends_the_session(visitor: Caller) -> None:
    visitor.login()
    session = visitor.cookies["sessionid"]
    reply = visitor.logout()
    assert (reply.status, reply.body) == (200, b"")
    visitor.cookies["sessionid"] = session
    assert visitor.call("GetFlavors").error == "login_required"


# The page


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.fixture
def page(visitor: Caller) -> Page:
    reply = visitor.send("GET", "/")
    assert reply.status == 200
    assert reply.header("Content-Type") == "text/html; charset=utf-8"
    return Page(reply.body.decode("utf-8"))


def test_the_page_has_no_inline_script_or_style(page: Page) -> None:
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag
        assert tag != "script" or attributes.get("src")


def test_the_page_loads_nothing_from_elsewhere(page: Page) -> None:
    for _, attributes in page.tags:
        for name in ("src", "href", "action"):
            assert not re.match(r"(?i)([a-z]+:)?//|javascript:|data:", attributes.get(name) or "")


def test_the_pages_policy_lets_nothing_unlisted_in(visitor: Caller) -> None:
    policy = visitor.send("GET", "/").header("Content-Security-Policy")
    assert policy is not None
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["frame-ancestors"] == "'none'"
    assert rules["base-uri"] == "'none'"
    assert "unsafe" not in policy
    assert "*" not in policy


def test_all_that_the_page_names_is_there(visitor: Caller, page: Page) -> None:
    named = [attributes.get("src") or attributes.get("href") or "" for tag, attributes in page.tags if tag != "a"]
    files = [address for address in named if address]
    assert len(files) > 5
    for address in files:
        assert visitor.send("GET", address).status == 200, address


@pytest.mark.before_nginx
def test_a_host_that_is_markup_does_not_reach_the_page(visitor: Caller) -> None:
    reply = visitor.send("GET", "/", {"Host": '"><script>alert(1)</script>.localhost'})
    assert (reply.status, reply.error) == (400, "invalid_host")


def test_a_login_by_the_visitor_needs_a_form(visitor: Caller) -> None:
    visitor.open()
    body = b"csrfmiddlewaretoken=" + visitor.token.encode()
    assert visitor.send("POST", "/auth/login/", {"Content-Type": FORM}, body).error == "missing_field"
