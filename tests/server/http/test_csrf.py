"""CSRF: every combination of cookie, field, header, Origin and Sec-Fetch-Site against an oracle, then each rule."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import ip_network
from itertools import product
from pathlib import Path
from typing import Final

import pytest

from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.csrf import CsrfTokens
from cloudconsole.store.tables import login_failures, sessions
from tests.conftest import NOON
from tests.harness import FORM, JSON, Caller, HeaderPairs, HeldClock, InProcess, Reply
from tests.server.http.conftest import StartConsole
from tests.server.http.world import (
    cookie_header,
    is_live,
    login_fields,
    post_action,
    post_login,
    rows,
)
from tests.stores import copy_store, settings_over

# The dimensions. A token is spoken of by name; `None` leaves the cookie, field or header out.

ISSUED: Final = {"own", "another", "previous", "unbound"}
"""Tokens that this console made; all others are made up."""

ORIGINS: Final = {
    "absent": None,
    "own": "http://127.0.0.1:8000",
    "own, in capitals": "HTTP://127.0.0.1:8000",
    "foreign": "http://evil.example",
    "foreign that begins like ours": "http://127.0.0.1:8000.evil.example",
    "null": "null",
    "other port": "http://127.0.0.1:8001",
    "default port": "http://127.0.0.1",
    "other scheme": "https://127.0.0.1:8000",
    "other name of ours": "http://localhost:8000",
    "empty": "",
}
OUR_ORIGINS: Final = {"absent", "own", "own, in capitals"}

SITES: Final = (None, "same-origin", "none", "same-site", "cross-site", "Cross-Site")
OUR_SITES: Final = {None, "same-origin", "none"}


def sent_by_us(origin: str, site: str | None) -> bool:
    return origin in OUR_ORIGINS and site in OUR_SITES


def login_passes(cookies: tuple[str, ...], field: str | None, header: str | None) -> bool:
    token = header if field in (None, "empty") else field
    return token in ISSUED and token in cookies


def call_passes(cookies: tuple[str, ...], header: str | None) -> bool:
    return header == "own" and "own" in cookies


@dataclass
class World:
    """A console with a live session, another tenant's, one that was logged out, and tokens of all sorts."""

    wire: InProcess
    data: Path
    demo: Caller
    other: Caller
    ended: str
    tokens: dict[str, str]

    def headers(self, session: str, cookies: tuple[str, ...], header: str | None, origin: str | None) -> HeaderPairs:
        session_id = {
            "none": None,
            "anonymous": "a" + "0" * 48,
            "live": self.demo.cookies["sessionid"],
            "ended": self.ended,
        }[session]
        pairs = [] if session_id is None else [f"sessionid={session_id}"]
        pairs += [f"csrftoken={self.tokens[name]}" for name in cookies]
        sent = [("Cookie", "; ".join(pairs))] if pairs else []
        if header is not None:
            sent.append(("X-CSRFToken", self.tokens[header]))
        if origin is not None:
            sent.append(("Origin", origin))
        return sent

    def field(self, name: str | None) -> dict[str, str]:
        return {} if name is None else {"csrfmiddlewaretoken": self.tokens[name]}


@pytest.fixture(scope="module")
def world(quick_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    data = copy_store(quick_store, tmp_path_factory.mktemp("csrf") / "data")
    wire = InProcess(Console(settings_over(data), HeldClock(NOON)))
    previous, demo, other, newcomer = (Caller(wire) for _ in range(4))
    assert previous.login().status == 200
    ended = previous.cookies["sessionid"]
    assert previous.logout().status == 200
    assert demo.login().status == 200
    assert other.login("other", "console-other").status == 200
    newcomer.open()
    own = demo.token
    tokens = {
        "own": own,
        "another": other.token,
        "previous": previous.token,
        "unbound": newcomer.token,
        "wrong mac": own[:-1] + ("1" if own[-1] == "0" else "0"),
        "seed of one, mac of another": own[:32] + newcomer.token[32:],
        "short": own[:-1],
        "long": own + "0",
        "capitals": own.upper(),
        "odd": "no token; at=all",
        "empty": "",
    }
    assert len(set(tokens.values())) == len(tokens)
    yield World(wire, data, demo, other, ended, tokens)
    wire.close()


def with_site(headers: HeaderPairs, site: str | None) -> HeaderPairs:
    return headers if site is None else [*headers, ("Sec-Fetch-Site", site)]


LOGIN_COOKIES: Final = ((), ("own",), ("unbound",), ("wrong mac",), ("short",), ("wrong mac", "own"))
LOGIN_FIELDS: Final = (None, "empty", "own", "unbound", "wrong mac", "short")
LOGIN_HEADERS: Final = (None, "empty", "own", "unbound", "wrong mac", "short")


@pytest.mark.parametrize("session", ["anonymous", "live"])
@pytest.mark.parametrize("origin", ORIGINS)
def test_every_login_is_let_through_exactly_when_token_and_sender_are_right(
    world: World, session: str, origin: str
) -> None:
    # The username is left out: what passes the CSRF check is then refused for that, without a password being checked.
    fields = login_fields(world.wire, username="", password="x")
    for cookies, field, header in product(LOGIN_COOKIES, LOGIN_FIELDS, LOGIN_HEADERS):
        headers = world.headers(session, cookies, header, ORIGINS[origin])
        for site in SITES:
            reply = post_login(world.wire, with_site(headers, site), fields | world.field(field))
            passes = sent_by_us(origin, site) and login_passes(cookies, field, header)
            expected = (400, "missing_field") if passes else (403, "csrf_failed")
            assert (reply.status, reply.error) == expected, (cookies, field, header, site)


@pytest.mark.parametrize("session", ["none", "anonymous", "ended"])
@pytest.mark.parametrize("header", [None, "own", "unbound", "wrong mac"])
@pytest.mark.parametrize("field", [None, "own", "another", "previous", "unbound", "wrong mac"])
def test_a_login_that_passes_really_logs_in(world: World, session: str, header: str | None, field: str | None) -> None:
    for cookies in (("own",), ("another",), ("previous",), ("unbound",), ("wrong mac",), ("unbound", "own")):
        headers = world.headers(session, cookies, header, None)
        reply = post_login(world.wire, headers, login_fields(world.wire) | world.field(field))
        assert reply.status == (200 if login_passes(cookies, field, header) else 403), cookies


CALL_COOKIES: Final = (
    (),
    ("own",),
    ("another",),
    ("previous",),
    ("unbound",),
    ("wrong mac",),
    ("another", "own"),
    ("own", "wrong mac"),
)
CALL_HEADERS: Final = (
    None,
    "empty",
    "own",
    "another",
    "previous",
    "unbound",
    "wrong mac",
    "seed of one, mac of another",
    "short",
    "long",
    "capitals",
    "odd",
)


@pytest.mark.parametrize("session", ["none", "anonymous", "live", "ended"])
@pytest.mark.parametrize("origin", ORIGINS)
def test_every_action_call_is_answered_exactly_when_token_and_sender_are_right(
    world: World, session: str, origin: str
) -> None:
    bodies = (b"action=GetUrlList", b"action=GetUrlList&csrfmiddlewaretoken=" + world.tokens["own"].encode())
    for cookies, header, body in product(CALL_COOKIES, CALL_HEADERS, bodies):
        headers = [("Content-Type", FORM), *world.headers(session, cookies, header, ORIGINS[origin])]
        for site in SITES if session == "live" else (None, "cross-site"):
            reply = world.wire.send("POST", "/api/", with_site(headers, site), body)
            assert outcome(reply) == expected_of_call(session, cookies, header, origin, site), (cookies, header, site)


@pytest.mark.parametrize("session", ["none", "anonymous", "live", "ended"])
@pytest.mark.parametrize("origin", ORIGINS)
def test_every_logout_is_done_exactly_when_token_and_sender_are_right(world: World, session: str, origin: str) -> None:
    bodies = (b"", b"csrfmiddlewaretoken=" + world.tokens["own"].encode())
    for cookies, header, body, site in product(CALL_COOKIES, (None, "own", "another", "wrong mac"), bodies, SITES):
        headers = [("Content-Type", FORM), *world.headers(session, cookies, header, ORIGINS[origin])]
        reply = world.wire.send("POST", "/auth/logout/", with_site(headers, site), body)
        expected = expected_of_call(session, cookies, header, origin, site)
        assert outcome(reply) == expected, (cookies, header, site)
        if expected == "passes":
            assert not is_live(world.wire, world.demo.cookies["sessionid"])
            assert world.demo.login().status == 200
        else:
            assert "sessionid" not in reply.set_cookies
    assert is_live(world.wire, world.demo.cookies["sessionid"])


def outcome(reply: Reply) -> str:
    return "passes" if reply.status == 200 else reply.error


def expected_of_call(session: str, cookies: tuple[str, ...], header: str | None, origin: str, site: str | None) -> str:
    if session != "live":
        return "login_required"
    return "passes" if sent_by_us(origin, site) and call_passes(cookies, header) else "csrf_failed"


@pytest.mark.parametrize("session", ["demo", "other"])
@pytest.mark.parametrize("cookie", ["demo", "other"])
@pytest.mark.parametrize("header", ["demo", "other"])
def test_token_and_session_belong_together(world: World, session: str, cookie: str, header: str) -> None:
    callers = {"demo": world.demo, "other": world.other}
    cookies = cookie_header(sessionid=callers[session].cookies["sessionid"], csrftoken=callers[cookie].token)
    reply = post_action(world.wire, [*cookies, ("X-CSRFToken", callers[header].token)])
    assert outcome(reply) == ("passes" if session == cookie == header else "csrf_failed")


# One rule a test.


def test_the_token_read_before_login_serves_after_it(visitor: Caller) -> None:
    visitor.open()
    token = visitor.token
    visitor.login()
    assert visitor.token == token
    assert visitor.call("GetUrlList").status == 200


def test_the_token_of_the_login_is_the_sessions_whichever_others_were_sent(visitor: Caller) -> None:
    first = visitor.open().cookie("csrftoken")
    second = Caller(visitor.wire).open().cookie("csrftoken")
    assert isinstance(visitor.wire, InProcess)
    cookies = [("Cookie", f"csrftoken={first}; csrftoken={second}")]
    fields = login_fields(visitor.wire, csrfmiddlewaretoken=second)
    reply = post_login(visitor.wire, cookies, fields)
    assert reply.cookie("csrftoken") == second


def test_the_right_field_wins_over_a_wrong_header(wire: InProcess, visitor: Caller) -> None:
    visitor.open()
    headers = [*cookie_header(**visitor.cookies), ("X-CSRFToken", "0" * 64)]
    assert post_login(wire, headers, login_fields(wire, csrfmiddlewaretoken=visitor.token)).status == 200


def test_a_wrong_field_is_not_mended_by_the_right_header(wire: InProcess, visitor: Caller) -> None:
    visitor.open()
    headers = [*cookie_header(**visitor.cookies), ("X-CSRFToken", visitor.token)]
    assert post_login(wire, headers, login_fields(wire, csrfmiddlewaretoken="0" * 64)).error == "csrf_failed"


def test_the_header_serves_where_there_is_no_field(wire: InProcess, visitor: Caller) -> None:
    visitor.open()
    headers = [*cookie_header(**visitor.cookies), ("X-CSRFToken", visitor.token)]
    assert post_login(wire, headers, login_fields(wire)).status == 200


@pytest.mark.parametrize("content_type", [FORM, JSON])
def test_an_action_takes_no_token_from_its_body(demo: Caller, content_type: str) -> None:
    body = f'{{"action":"GetUrlList","csrfmiddlewaretoken":"{demo.token}"}}'
    if content_type == FORM:
        body = f"action=GetUrlList&csrfmiddlewaretoken={demo.token}"
    assert demo.send("POST", "/api/", {"Content-Type": content_type}, body.encode()).error == "csrf_failed"


def test_the_same_token_logs_in_again_after_logout(demo: Caller) -> None:
    token = demo.token
    demo.logout()
    assert demo.login().status == 200
    assert demo.token == token
    assert demo.call("GetUrlList").status == 200


@pytest.mark.parametrize("lifetime", ["session_idle", "session_lifetime"])
def test_the_same_token_logs_in_again_after_expiry(
    demo: Caller, clock: HeldClock, settings: Settings, lifetime: str
) -> None:
    token = demo.token
    clock.moment += getattr(settings, lifetime)
    assert demo.call("GetUrlList").error == "login_required"
    assert demo.login().status == 200
    assert demo.token == token
    assert demo.call("GetUrlList").status == 200


def test_a_token_is_valid_after_a_restart(
    wire: InProcess, visitor: Caller, settings: Settings, start_console: StartConsole
) -> None:
    visitor.open()
    visitor.wire = start_console(settings)
    assert visitor.login().status == 200


def test_a_session_goes_on_after_a_restart(demo: Caller, settings: Settings, start_console: StartConsole) -> None:
    demo.wire = start_console(settings)
    assert demo.call("GetUrlList").status == 200


def test_a_token_of_another_console_is_refused(
    visitor: Caller, quick_store: Path, tmp_path: Path, start_console: StartConsole
) -> None:
    elsewhere = Caller(start_console(settings_over(copy_store(quick_store, tmp_path / "elsewhere"))))
    elsewhere.open()
    visitor.cookies = elsewhere.cookies
    assert visitor.login().error == "csrf_failed"


def test_a_refused_login_leaves_no_trace(wire: InProcess, visitor: Caller, data: Path) -> None:
    visitor.open()
    assert visitor.login(csrfmiddlewaretoken="0" * 64).error == "csrf_failed"
    assert rows(data, sessions) == []
    assert rows(data, login_failures) == []


def test_a_refused_call_ends_no_session(demo: Caller) -> None:
    assert demo.send("POST", "/auth/logout/").error == "csrf_failed"
    assert demo.call("GetUrlList").status == 200


@pytest.mark.parametrize("referer", ["http://evil.example/page", "", "nonsense", "http://127.0.0.1:8000/"])
def test_referer_is_not_read(demo: Caller, referer: str) -> None:
    headers = {"Content-Type": JSON, "X-CSRFToken": demo.token, "Referer": referer}
    assert demo.send("POST", "/api/", headers, b'{"action":"GetUrlList"}').status == 200


def test_our_own_referer_does_not_mend_a_foreign_origin(demo: Caller) -> None:
    headers = {"X-CSRFToken": demo.token, "Referer": "http://127.0.0.1:8000/", "Origin": "http://evil.example"}
    assert demo.send("POST", "/auth/logout/", headers).error == "csrf_failed"


def test_two_origins_are_none_of_ours(demo: Caller) -> None:
    headers = [*cookie_header(**demo.cookies), ("X-CSRFToken", demo.token)]
    own = ("Origin", "http://127.0.0.1:8000")
    assert demo.wire.send("POST", "/auth/logout/", [*headers, own, own]).error == "csrf_failed"


@pytest.mark.parametrize(
    ("origin", "is_ours"),
    [
        ("https://console.example.com", True),
        ("https://console.example.com:443", True),
        ("HTTPS://Console.Example.COM", True),
        ("http://console.example.com", False),
        ("https://console.example.com:8000", False),
        ("http://console.example.com:8000", False),
        ("https://www.console.example.com", False),
        ("https://example.com", False),
    ],
)
def test_with_a_public_origin_set_only_that_is_ours(
    settings: Settings, start_console: StartConsole, origin: str, is_ours: bool
) -> None:
    settings = replace(settings, public_origin="https://console.example.com")
    caller = Caller(start_console(settings, "http://console.example.com:8000"))
    caller.login(region="https://console.example.com/v3")
    reply = caller.send("POST", "/auth/logout/", {"X-CSRFToken": caller.token, "Origin": origin})
    assert outcome(reply) == ("passes" if is_ours else "csrf_failed")


@pytest.mark.parametrize(("peer", "is_believed"), [("10.0.0.7", True), ("192.0.2.7", False)])
def test_the_origin_a_proxy_forwards_is_ours_only_behind_a_configured_one(
    settings: Settings, start_console: StartConsole, peer: str, is_believed: bool
) -> None:
    wire = start_console(replace(settings, hosts=("127.0.0.1", "shop.example"), proxies=(ip_network("10.0.0.0/8"),)))
    caller = Caller(wire)
    caller.login()
    wire.address = peer
    forwarded = {"X-Forwarded-Host": "shop.example", "X-Forwarded-Proto": "https", "Origin": "https://shop.example"}
    reply = caller.send("POST", "/auth/logout/", {"X-CSRFToken": caller.token, **forwarded})
    assert outcome(reply) == ("passes" if is_believed else "csrf_failed")


def test_tokens_of_strangers_drive_none_of_those_in_use_out_of_memory() -> None:
    tokens = CsrfTokens(b"k" * 32)
    in_use = tokens.from_seed("5" * 32)
    for _ in range(3000):
        assert tokens.is_ours(tokens.new())
    assert tokens.from_seed("5" * 32) is in_use
