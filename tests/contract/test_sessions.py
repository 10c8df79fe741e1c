"""Cookies, sessions and CSRF protection: which session a request has, and who can use or end it."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

import pytest

from tests.harness import FORM, JSON, ApiClient, Reply, Transport
from tests.server.http.helpers import is_live

FORGED_TOKEN: Final = "0" * 64
UNKNOWN_SESSION: Final = "s" + "0" * 48
ANONYMOUS_SESSION: Final = "a" + "0123456789abcdef" * 3
IMF_FIXDATE: Final = re.compile(
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [0-9]{4} "
    r"[0-9]{2}:[0-9]{2}:[0-9]{2} GMT"
)


@pytest.fixture
def own(client: ApiClient) -> ApiClient:
    """A client with its own session, which the test may end."""
    assert client.login().status == 200
    return client


def outcome(reply: Reply) -> str:
    return "passes" if reply.status == 200 else reply.error


def open_with(transport: Transport, *cookies: str) -> Reply:
    reply = transport.send("GET", "/api/", [("Cookie", "; ".join(cookies))])
    assert set(reply.set_cookies) == {"sessionid", "csrftoken"}
    return reply


def call_with(transport: Transport, token: str, *cookies: str) -> str:
    headers = [("Content-Type", JSON), ("Cookie", "; ".join(cookies)), ("X-CSRFToken", token)]
    return outcome(transport.send("POST", "/api/", headers, b'{"action":"GetUrlList"}'))


def login_with(transport: Transport, form: Mapping[str, str], *cookies: str, header: str | None = None) -> Reply:
    """Log in with exactly these cookies; the form has no CSRF token unless it is given."""
    fields = {"username": "demo", "password": "console-demo", "region": f"{transport.base}/v3", **form}
    headers = [("Content-Type", FORM), ("Cookie", "; ".join(cookies))]
    headers += [] if header is None else [("X-CSRFToken", header)]
    return transport.send("POST", "/auth/login/", headers, urlencode(fields).encode())


def new_token(transport: Transport) -> str:
    return ApiClient(transport).open().cookie("csrftoken") or ""


# Attributes of cookies


def attributes(reply: Reply, name: str) -> dict[str, str]:
    """A cookie's attributes by lower-case name."""
    pairs = [part.strip().partition("=") for part in reply.set_cookies[name].split(";")[1:]]
    found = {key.lower(): value for key, _, value in pairs}
    assert len(found) == len(pairs), pairs
    return found


def common_attributes(transport: Transport) -> dict[str, str]:
    return {"path": "/", "samesite": "Lax"} | ({"secure": ""} if transport.base.startswith("https:") else {})


@pytest.mark.parametrize("step", ["GET", "HEAD", "login"])
def test_both_cookies_are_set_for_this_host_only(client: ApiClient, transport: Transport, step: str) -> None:
    reply = client.login() if step == "login" else client.send(step, "/api/")
    assert set(reply.set_cookies) == {"sessionid", "csrftoken"}
    assert attributes(reply, "sessionid") == common_attributes(transport) | {"httponly": ""}
    csrf = attributes(reply, "csrftoken")
    assert IMF_FIXDATE.fullmatch(csrf.pop("expires"))
    assert csrf == common_attributes(transport) | {"max-age": str(52 * 7 * 86_400)}
    assert re.fullmatch("[0-9a-f]{64}", reply.cookie("csrftoken") or "")
    assert re.fullmatch(f"{'s' if step == 'login' else 'a'}[0-9a-f]{{48}}", reply.cookie("sessionid") or "")


def test_logout_clears_only_the_session_cookie(own: ApiClient, transport: Transport) -> None:
    reply = own.logout()
    assert set(reply.set_cookies) == {"sessionid"}
    assert reply.cookie("sessionid") == ""
    past = {"max-age": "0", "expires": "Thu, 01 Jan 1970 00:00:00 GMT"}
    assert attributes(reply, "sessionid") == common_attributes(transport) | past | {"httponly": ""}


def test_new_cookies_are_never_repeated(transport: Transport) -> None:
    opened = [ApiClient(transport).open() for _ in range(10)]
    logged_in = [ApiClient(transport).login() for _ in range(3)]
    assert len({reply.cookie("sessionid") for reply in opened + logged_in}) == 13
    assert len({reply.cookie("csrftoken") for reply in opened}) == 10


# Reuse and replacement by GET /api/


@pytest.mark.parametrize(
    ("session", "token", "session_after", "token_after"),
    [
        ("anonymous", "unbound", "anonymous", "unbound"),
        ("live", "own", "live", "own"),
        ("live", None, "live", "own"),
        ("live", "forged", "live", "own"),
        ("anonymous", "forged", "anonymous", "new"),
        ("anonymous", "truncated", "anonymous", "new"),
        ("anonymous", "lengthened", "anonymous", "new"),
        ("anonymous", "in capitals", "anonymous", "new"),
        ("unknown", "unbound", "new", "unbound"),
        (None, None, "new", "new"),
    ],
)
def test_valid_cookies_are_kept_and_others_replaced(
    transport: Transport,
    demo: ApiClient,
    session: str | None,
    token: str | None,
    session_after: str,
    token_after: str,
) -> None:
    unbound = new_token(transport)
    sessions = {"live": demo.cookies["sessionid"], "anonymous": ANONYMOUS_SESSION, "unknown": UNKNOWN_SESSION}
    tokens = {
        "own": demo.token,
        "unbound": unbound,
        "forged": FORGED_TOKEN,
        "truncated": unbound[:-1],
        "lengthened": unbound + "0",
        "in capitals": unbound.upper(),
    }
    cookies = [] if session is None else [f"sessionid={sessions[session]}"]
    cookies += [] if token is None else [f"csrftoken={tokens[token]}"]
    reply = open_with(transport, *cookies)
    names = {value: name for name, value in (sessions | tokens).items()}
    kept = [names.get(reply.cookie(name) or "", "new") for name in ("sessionid", "csrftoken")]
    assert kept == [session_after, token_after]
    assert re.fullmatch("[0-9a-f]{64}", reply.cookie("csrftoken") or "")
    assert demo.call("GetUrlList").status == 200


@pytest.mark.parametrize(
    "session_id",
    ["a" * 48, "A" + "0" * 48, "a" + "0" * 47, "a" + "0" * 49, "a" + "g" * 48, "b" + "0" * 48, "x", "", "ü" * 49],
)
def test_malformed_session_id_is_replaced(transport: Transport, session_id: str) -> None:
    given = open_with(transport, f"sessionid={session_id}").cookie("sessionid") or ""
    assert given != session_id
    assert re.fullmatch("a[0-9a-f]{48}", given)


def test_ended_session_does_not_reveal_its_token(own: ApiClient, transport: Transport) -> None:
    session_id, token = own.cookies["sessionid"], own.token
    own.logout()
    assert open_with(transport, f"sessionid={session_id}").cookie("csrftoken") != token


# Repeated cookies


@pytest.mark.parametrize(("position", "result"), [(0, "passes"), (3, "passes"), (4, "login_required")])
@pytest.mark.parametrize("others", [UNKNOWN_SESSION, ANONYMOUS_SESSION, "x"])
def test_live_session_is_found_among_the_first_four(demo: ApiClient, position: int, others: str, result: str) -> None:
    sessions = [others] * 4
    sessions.insert(position, demo.cookies["sessionid"])
    cookies = [*(f"sessionid={value}" for value in sessions), f"csrftoken={demo.token}"]
    assert call_with(demo.transport, demo.token, *cookies) == result
    if result == "passes":
        assert open_with(demo.transport, *cookies).cookie("sessionid") == demo.cookies["sessionid"]


@pytest.mark.parametrize(("position", "result"), [(0, "passes"), (3, "passes"), (4, "csrf_failed")])
def test_token_is_found_among_the_first_four(demo: ApiClient, position: int, result: str) -> None:
    tokens = [FORGED_TOKEN, "x", "1" * 64, "2" * 64]
    tokens.insert(position, demo.token)
    cookies = [f"csrftoken={value}" for value in tokens]
    assert call_with(demo.transport, demo.token, f"sessionid={demo.cookies['sessionid']}", *cookies) == result
    assert outcome(login_with(demo.transport, {"csrfmiddlewaretoken": demo.token}, *cookies)) == result
    assert (open_with(demo.transport, *cookies).cookie("csrftoken") == demo.token) == (result == "passes")


def test_of_two_live_sessions_the_one_whose_token_was_sent_is_used_else_the_first(
    demo: ApiClient, other: ApiClient
) -> None:
    sessions = [f"sessionid={client.cookies['sessionid']}" for client in (other, demo)]
    own, first = (f"csrftoken={client.token}" for client in (demo, other))
    assert call_with(demo.transport, other.token, *sessions, own, first) == "passes"
    assert call_with(demo.transport, demo.token, *sessions, own, first) == "csrf_failed"
    assert call_with(demo.transport, demo.token, *sessions, own) == "passes"
    assert open_with(demo.transport, *sessions, own).cookie("sessionid") == demo.cookies["sessionid"]


def test_planted_token_does_not_replace_the_sessions_own(demo: ApiClient) -> None:
    planted, own = f"csrftoken={new_token(demo.transport)}", f"csrftoken={demo.token}"
    reply = open_with(demo.transport, planted, f"sessionid={demo.cookies['sessionid']}", own)
    assert reply.cookie("csrftoken") == demo.token


def test_foreign_and_quoted_cookies_do_not_hide_a_session(demo: ApiClient) -> None:
    foreign = ["$Version=1", "a[b]=1", "=", "name", "", "sessionid", 'csrftoken="', "lang=ü", "sessionid=é"]
    quoted = [f'sessionid="{demo.cookies["sessionid"]}"', f'csrftoken="{demo.token}"']
    assert call_with(demo.transport, demo.token, *foreign, *quoted, *foreign) == "passes"


# Login


@pytest.mark.parametrize("planted", [ANONYMOUS_SESSION, UNKNOWN_SESSION, "x"])
def test_session_id_from_before_login_never_becomes_valid(
    client: ApiClient, transport: Transport, planted: str
) -> None:
    client.open()
    client.cookies["sessionid"] = planted
    assert client.login().status == 200
    assert not is_live(transport, planted)
    assert is_live(transport, client.cookies["sessionid"])


@pytest.mark.parametrize("username", ["demo", "other"])
def test_login_ends_every_session_sent_with_it(own: ApiClient, transport: Transport, username: str) -> None:
    second = ApiClient(transport)
    second.login()
    old = [own.cookies["sessionid"], second.cookies["sessionid"]]
    form = {"username": username, "password": f"console-{username}", "csrfmiddlewaretoken": own.token}
    reply = login_with(transport, form, *(f"sessionid={each}" for each in old), f"csrftoken={own.token}")
    assert reply.status == 200
    assert [is_live(transport, each) for each in (*old, reply.cookie("sessionid") or "")] == [False, False, True]


def test_token_from_before_login_belongs_to_the_session(client: ApiClient, transport: Transport) -> None:
    client.open()
    token = client.token
    client.login()
    assert client.token == token
    assert client.call("GetUrlList").status == 200
    client.cookies["csrftoken"] = new_token(transport)
    assert client.call("GetUrlList").error == "csrf_failed"


def test_logging_in_again_binds_the_session_to_the_token_used(own: ApiClient, transport: Transport) -> None:
    old, new = own.token, new_token(transport)
    reply = login_with(transport, {"csrfmiddlewaretoken": new}, f"csrftoken={old}", f"csrftoken={new}")
    session = f"sessionid={reply.cookie('sessionid')}"
    assert reply.cookie("csrftoken") == new
    assert call_with(transport, new, session, f"csrftoken={new}") == "passes"
    assert call_with(transport, old, session, f"csrftoken={old}") == "csrf_failed"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"password": "wrong"}, "invalid_credentials"),
        ({"username": None}, "missing_field"),
        ({"region": "https://elsewhere.example"}, "unknown_region"),
        ({"csrfmiddlewaretoken": FORGED_TOKEN}, "csrf_failed"),
    ],
)
@pytest.mark.parametrize("is_logged_in", [False, True])
def test_failed_login_changes_no_cookie_and_no_session(
    client: ApiClient, changes: dict[str, str | None], error: str, is_logged_in: bool
) -> None:
    if is_logged_in:
        client.login()
    reply = client.login(**changes)  # type: ignore[arg-type]
    assert (reply.error, reply.set_cookies) == (error, {})
    assert client.call("GetUrlList").status == (200 if is_logged_in else 401)
    assert client.login().status == 200


# Logout


def test_logout_ends_its_session_for_good(own: ApiClient, transport: Transport) -> None:
    second = ApiClient(transport)
    second.login()
    ended = ApiClient(transport, dict(own.cookies))
    assert own.logout().status == 200
    assert own.login().status == 200
    assert own.token == ended.token
    assert ended.call("GetUrlList").error == "login_required"
    assert ended.logout().error == "login_required"
    assert [each.call("GetUrlList").status for each in (own, second)] == [200, 200]


# CSRF

PROTECTED: Final = {"/api/": b"action=GetUrlList", "/auth/login/": b"", "/auth/logout/": b""}


def send_protected(client: ApiClient, path: str, headers: Mapping[str, str]) -> str:
    """Send a request that has a valid token; a login without a username is rejected right after the CSRF check."""
    reply = client.send("POST", path, {"X-CSRFToken": client.token, "Content-Type": FORM, **headers}, PROTECTED[path])
    result = outcome(reply)
    assert result == "passes" or reply.set_cookies == {}
    return "passes" if result == "missing_field" else result


FOREIGN_ORIGINS: Final = [
    *("http://evil.example", "http://127.0.0.1", "null", ""),
    *("{base}.evil.example", "{base}1", "{base}, {base}", "{other_scheme}", "{other_name}"),
]
FOREIGN_SENDERS: Final = ["same-site", "cross-site", "Cross-Site", "same-origin, cross-site"]


@pytest.mark.parametrize("path", PROTECTED)
@pytest.mark.parametrize(
    "headers",
    [
        *({"Origin": origin, "Referer": "{base}/"} for origin in FOREIGN_ORIGINS),
        *({"Sec-Fetch-Site": sender, "Origin": "{base}"} for sender in FOREIGN_SENDERS),
    ],
    ids=str,
)
def test_request_of_a_foreign_page_is_rejected(demo: ApiClient, path: str, headers: dict[str, str]) -> None:
    base = demo.transport.base
    scheme, _, host = base.partition("://")
    other_scheme = f"{'http' if scheme == 'https' else 'https'}://{host}"
    formats = {"base": base, "other_scheme": other_scheme, "other_name": base.replace("127.0.0.1", "localhost")}
    sent = {name: value.format(**formats) for name, value in headers.items()}
    assert send_protected(demo, path, sent) == "csrf_failed"
    assert demo.call("GetUrlList").status == 200


@pytest.mark.parametrize("path", PROTECTED)
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "{base}", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "{BASE}", "Sec-Fetch-Site": "none"},
        {"Referer": "http://evil.example/page"},
    ],
    ids=str,
)
def test_request_of_our_own_origin_passes(own: ApiClient, path: str, headers: dict[str, str]) -> None:
    base = own.transport.base
    sent = {name: value.format(base=base, BASE=base.upper()) for name, value in headers.items()}
    assert send_protected(own, path, sent) == "passes"


@pytest.mark.parametrize(
    ("cookie", "field", "header", "status"),
    [
        ("valid", "valid", "forged", 200),
        ("valid", "", "valid", 200),
        ("valid", "another", "valid", 403),
        ("valid", None, None, 403),
        ("forged", "forged", None, 403),
    ],
)
def test_login_requires_the_token_of_its_cookie_in_field_or_header(
    transport: Transport, cookie: str, field: str | None, header: str | None, status: int
) -> None:
    tokens = {"valid": new_token(transport), "another": new_token(transport), "forged": FORGED_TOKEN, "": ""}
    form = {} if field is None else {"csrfmiddlewaretoken": tokens[field]}
    sent = None if header is None else tokens[header]
    assert login_with(transport, form, f"csrftoken={tokens[cookie]}", header=sent).status == status
