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
from tests.conftest import SAMPLE_TIME
from tests.harness import FORM, JSON, ApiClient, FakeClock, HeaderPairs, InProcessTransport, Reply
from tests.server.http.conftest import StartConsole
from tests.server.http.helpers import (
    cookie_header,
    is_live,
    login_fields,
    post_action,
    post_login,
    rows,
)
from tests.stores import copy_store, settings_for

# The dimensions. Tokens are referred to by name; `None` omits the cookie, field or header.

ISSUED: Final = {"own", "another", "previous", "unbound"}
"""Tokens issued by this console; all others are forged."""

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
ALLOWED_ORIGINS: Final = {"absent", "own", "own, in capitals"}

SITES: Final = (None, "same-origin", "none", "same-site", "cross-site", "Cross-Site")
ALLOWED_SITES: Final = {None, "same-origin", "none"}


def is_same_origin(origin: str, site: str | None) -> bool:
    return origin in ALLOWED_ORIGINS and site in ALLOWED_SITES


def login_passes(cookies: tuple[str, ...], field: str | None, header: str | None) -> bool:
    token = header if field in (None, "empty") else field
    return token in ISSUED and token in cookies


def request_passes(cookies: tuple[str, ...], header: str | None) -> bool:
    return header == "own" and "own" in cookies


@dataclass
class Scenario:
    """A console with a live session, a session of another tenant, an ended session, and tokens of all kinds."""

    transport: InProcessTransport
    data: Path
    demo: ApiClient
    other: ApiClient
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
def scenario(fast_hash_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scenario]:
    data = copy_store(fast_hash_store, tmp_path_factory.mktemp("csrf") / "data")
    transport = InProcessTransport(Console(settings_for(data), FakeClock(SAMPLE_TIME)))
    previous, demo, other, anonymous = (ApiClient(transport) for _ in range(4))
    assert previous.login().status == 200
    ended = previous.cookies["sessionid"]
    assert previous.logout().status == 200
    assert demo.login().status == 200
    assert other.login("other", "console-other").status == 200
    anonymous.open()
    own = demo.token
    tokens = {
        "own": own,
        "another": other.token,
        "previous": previous.token,
        "unbound": anonymous.token,
        "wrong mac": own[:-1] + ("1" if own[-1] == "0" else "0"),
        "seed of one, mac of another": own[:32] + anonymous.token[32:],
        "short": own[:-1],
        "long": own + "0",
        "capitals": own.upper(),
        "odd": "no token; at=all",
        "empty": "",
    }
    assert len(set(tokens.values())) == len(tokens)
    yield Scenario(transport, data, demo, other, ended, tokens)
    transport.close()


def with_site(headers: HeaderPairs, site: str | None) -> HeaderPairs:
    return headers if site is None else [*headers, ("Sec-Fetch-Site", site)]


LOGIN_COOKIES: Final = ((), ("own",), ("unbound",), ("wrong mac",), ("short",), ("wrong mac", "own"))
LOGIN_FIELDS: Final = (None, "empty", "own", "unbound", "wrong mac", "short")
LOGIN_HEADERS: Final = (None, "empty", "own", "unbound", "wrong mac", "short")


@pytest.mark.parametrize("session", ["anonymous", "live"])
@pytest.mark.parametrize("origin", ORIGINS)
def test_login_passes_only_with_valid_token_and_origin(scenario: Scenario, session: str, origin: str) -> None:
    # The username is empty: a login that passes the CSRF check is rejected for that, before its password is checked.
    fields = login_fields(scenario.transport, username="", password="x")
    for cookies, field, header in product(LOGIN_COOKIES, LOGIN_FIELDS, LOGIN_HEADERS):
        headers = scenario.headers(session, cookies, header, ORIGINS[origin])
        for site in SITES:
            reply = post_login(scenario.transport, with_site(headers, site), fields | scenario.field(field))
            passes = is_same_origin(origin, site) and login_passes(cookies, field, header)
            expected = (400, "missing_field") if passes else (403, "csrf_failed")
            assert (reply.status, reply.error) == expected, (cookies, field, header, site)


@pytest.mark.parametrize("session", ["none", "anonymous", "ended"])
@pytest.mark.parametrize("header", [None, "own", "unbound", "wrong mac"])
@pytest.mark.parametrize("field", [None, "own", "another", "previous", "unbound", "wrong mac"])
def test_a_login_that_passes_the_csrf_check_logs_in(
    scenario: Scenario, session: str, header: str | None, field: str | None
) -> None:
    for cookies in (("own",), ("another",), ("previous",), ("unbound",), ("wrong mac",), ("unbound", "own")):
        headers = scenario.headers(session, cookies, header, None)
        reply = post_login(scenario.transport, headers, login_fields(scenario.transport) | scenario.field(field))
        assert reply.status == (200 if login_passes(cookies, field, header) else 403), cookies


REQUEST_COOKIES: Final = (
    (),
    ("own",),
    ("another",),
    ("previous",),
    ("unbound",),
    ("wrong mac",),
    ("another", "own"),
    ("own", "wrong mac"),
)
REQUEST_HEADERS: Final = (
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
def test_action_passes_only_with_valid_token_and_origin(scenario: Scenario, session: str, origin: str) -> None:
    bodies = (b"action=GetUrlList", b"action=GetUrlList&csrfmiddlewaretoken=" + scenario.tokens["own"].encode())
    for cookies, header, body in product(REQUEST_COOKIES, REQUEST_HEADERS, bodies):
        headers = [("Content-Type", FORM), *scenario.headers(session, cookies, header, ORIGINS[origin])]
        for site in SITES if session == "live" else (None, "cross-site"):
            reply = scenario.transport.send("POST", "/api/", with_site(headers, site), body)
            assert outcome(reply) == expected_outcome(session, cookies, header, origin, site), (cookies, header, site)


@pytest.mark.parametrize("session", ["none", "anonymous", "live", "ended"])
@pytest.mark.parametrize("origin", ORIGINS)
def test_logout_passes_only_with_valid_token_and_origin(scenario: Scenario, session: str, origin: str) -> None:
    bodies = (b"", b"csrfmiddlewaretoken=" + scenario.tokens["own"].encode())
    for cookies, header, body, site in product(REQUEST_COOKIES, (None, "own", "another", "wrong mac"), bodies, SITES):
        headers = [("Content-Type", FORM), *scenario.headers(session, cookies, header, ORIGINS[origin])]
        reply = scenario.transport.send("POST", "/auth/logout/", with_site(headers, site), body)
        expected = expected_outcome(session, cookies, header, origin, site)
        assert outcome(reply) == expected, (cookies, header, site)
        if expected == "passes":
            assert not is_live(scenario.transport, scenario.demo.cookies["sessionid"])
            assert scenario.demo.login().status == 200
        else:
            assert "sessionid" not in reply.set_cookies
    assert is_live(scenario.transport, scenario.demo.cookies["sessionid"])


def outcome(reply: Reply) -> str:
    return "passes" if reply.status == 200 else reply.error


def expected_outcome(session: str, cookies: tuple[str, ...], header: str | None, origin: str, site: str | None) -> str:
    if session != "live":
        return "login_required"
    return "passes" if is_same_origin(origin, site) and request_passes(cookies, header) else "csrf_failed"


@pytest.mark.parametrize("session", ["demo", "other"])
@pytest.mark.parametrize("cookie", ["demo", "other"])
@pytest.mark.parametrize("header", ["demo", "other"])
def test_token_and_session_must_match(scenario: Scenario, session: str, cookie: str, header: str) -> None:
    clients = {"demo": scenario.demo, "other": scenario.other}
    cookies = cookie_header(sessionid=clients[session].cookies["sessionid"], csrftoken=clients[cookie].token)
    reply = post_action(scenario.transport, [*cookies, ("X-CSRFToken", clients[header].token)])
    assert outcome(reply) == ("passes" if session == cookie == header else "csrf_failed")


# One test per rule.


def test_the_token_from_before_login_stays_valid_after_it(anonymous_client: ApiClient) -> None:
    anonymous_client.open()
    token = anonymous_client.token
    anonymous_client.login()
    assert anonymous_client.token == token
    assert anonymous_client.call("GetUrlList").status == 200


def test_the_session_gets_the_token_used_at_login(anonymous_client: ApiClient) -> None:
    first = anonymous_client.open().cookie("csrftoken")
    second = ApiClient(anonymous_client.transport).open().cookie("csrftoken")
    assert isinstance(anonymous_client.transport, InProcessTransport)
    cookies = [("Cookie", f"csrftoken={first}; csrftoken={second}")]
    fields = login_fields(anonymous_client.transport, csrfmiddlewaretoken=second)
    reply = post_login(anonymous_client.transport, cookies, fields)
    assert reply.cookie("csrftoken") == second


def test_a_valid_field_overrides_an_invalid_header(transport: InProcessTransport, anonymous_client: ApiClient) -> None:
    anonymous_client.open()
    headers = [*cookie_header(**anonymous_client.cookies), ("X-CSRFToken", "0" * 64)]
    assert (
        post_login(transport, headers, login_fields(transport, csrfmiddlewaretoken=anonymous_client.token)).status
        == 200
    )


def test_an_invalid_field_is_rejected_despite_a_valid_header(
    transport: InProcessTransport, anonymous_client: ApiClient
) -> None:
    anonymous_client.open()
    headers = [*cookie_header(**anonymous_client.cookies), ("X-CSRFToken", anonymous_client.token)]
    assert post_login(transport, headers, login_fields(transport, csrfmiddlewaretoken="0" * 64)).error == "csrf_failed"


def test_the_header_is_used_if_there_is_no_field(transport: InProcessTransport, anonymous_client: ApiClient) -> None:
    anonymous_client.open()
    headers = [*cookie_header(**anonymous_client.cookies), ("X-CSRFToken", anonymous_client.token)]
    assert post_login(transport, headers, login_fields(transport)).status == 200


@pytest.mark.parametrize("content_type", [FORM, JSON])
def test_an_action_ignores_a_token_in_its_body(demo: ApiClient, content_type: str) -> None:
    body = f'{{"action":"GetUrlList","csrfmiddlewaretoken":"{demo.token}"}}'
    if content_type == FORM:
        body = f"action=GetUrlList&csrfmiddlewaretoken={demo.token}"
    assert demo.send("POST", "/api/", {"Content-Type": content_type}, body.encode()).error == "csrf_failed"


def test_the_same_token_logs_in_again_after_logout(demo: ApiClient) -> None:
    token = demo.token
    demo.logout()
    assert demo.login().status == 200
    assert demo.token == token
    assert demo.call("GetUrlList").status == 200


@pytest.mark.parametrize("lifetime", ["session_idle", "session_lifetime"])
def test_the_same_token_logs_in_again_after_expiry(
    demo: ApiClient, clock: FakeClock, settings: Settings, lifetime: str
) -> None:
    token = demo.token
    clock.moment += getattr(settings, lifetime)
    assert demo.call("GetUrlList").error == "login_required"
    assert demo.login().status == 200
    assert demo.token == token
    assert demo.call("GetUrlList").status == 200


def test_a_token_is_valid_after_a_restart(
    transport: InProcessTransport, anonymous_client: ApiClient, settings: Settings, start_console: StartConsole
) -> None:
    anonymous_client.open()
    anonymous_client.transport = start_console(settings)
    assert anonymous_client.login().status == 200


def test_a_session_survives_a_restart(demo: ApiClient, settings: Settings, start_console: StartConsole) -> None:
    demo.transport = start_console(settings)
    assert demo.call("GetUrlList").status == 200


def test_a_token_of_another_console_is_rejected(
    anonymous_client: ApiClient, fast_hash_store: Path, tmp_path: Path, start_console: StartConsole
) -> None:
    elsewhere = ApiClient(start_console(settings_for(copy_store(fast_hash_store, tmp_path / "elsewhere"))))
    elsewhere.open()
    anonymous_client.cookies = elsewhere.cookies
    assert anonymous_client.login().error == "csrf_failed"


def test_a_login_with_an_invalid_token_writes_nothing(
    transport: InProcessTransport, anonymous_client: ApiClient, data: Path
) -> None:
    anonymous_client.open()
    assert anonymous_client.login(csrfmiddlewaretoken="0" * 64).error == "csrf_failed"
    assert rows(data, sessions) == []
    assert rows(data, login_failures) == []


def test_a_rejected_logout_ends_no_session(demo: ApiClient) -> None:
    assert demo.send("POST", "/auth/logout/").error == "csrf_failed"
    assert demo.call("GetUrlList").status == 200


@pytest.mark.parametrize("referer", ["http://evil.example/page", "", "nonsense", "http://127.0.0.1:8000/"])
def test_the_referer_is_ignored(demo: ApiClient, referer: str) -> None:
    headers = {"Content-Type": JSON, "X-CSRFToken": demo.token, "Referer": referer}
    assert demo.send("POST", "/api/", headers, b'{"action":"GetUrlList"}').status == 200


def test_a_foreign_origin_is_rejected_despite_our_referer(demo: ApiClient) -> None:
    headers = {"X-CSRFToken": demo.token, "Referer": "http://127.0.0.1:8000/", "Origin": "http://evil.example"}
    assert demo.send("POST", "/auth/logout/", headers).error == "csrf_failed"


def test_a_repeated_origin_header_is_rejected(demo: ApiClient) -> None:
    headers = [*cookie_header(**demo.cookies), ("X-CSRFToken", demo.token)]
    own = ("Origin", "http://127.0.0.1:8000")
    assert demo.transport.send("POST", "/auth/logout/", [*headers, own, own]).error == "csrf_failed"


@pytest.mark.parametrize(
    ("origin", "is_accepted"),
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
def test_only_the_configured_public_origin_is_accepted(
    settings: Settings, start_console: StartConsole, origin: str, is_accepted: bool
) -> None:
    settings = replace(settings, public_origin="https://console.example.com")
    client = ApiClient(start_console(settings, "http://console.example.com:8000"))
    client.login(region="https://console.example.com/v3")
    reply = client.send("POST", "/auth/logout/", {"X-CSRFToken": client.token, "Origin": origin})
    assert outcome(reply) == ("passes" if is_accepted else "csrf_failed")


@pytest.mark.parametrize(("peer", "is_trusted"), [("10.0.0.7", True), ("192.0.2.7", False)])
def test_a_forwarded_origin_is_accepted_only_from_a_known_proxy(
    settings: Settings, start_console: StartConsole, peer: str, is_trusted: bool
) -> None:
    transport = start_console(
        replace(settings, hosts=("127.0.0.1", "shop.example"), proxies=(ip_network("10.0.0.0/8"),))
    )
    client = ApiClient(transport)
    client.login()
    transport.address = peer
    forwarded = {"X-Forwarded-Host": "shop.example", "X-Forwarded-Proto": "https", "Origin": "https://shop.example"}
    reply = client.send("POST", "/auth/logout/", {"X-CSRFToken": client.token, **forwarded})
    assert outcome(reply) == ("passes" if is_trusted else "csrf_failed")


def test_new_tokens_do_not_evict_tokens_in_use() -> None:
    tokens = CsrfTokens(b"k" * 32)
    in_use = tokens.from_seed("5" * 32)
    for _ in range(3000):
        assert tokens.is_ours(tokens.new())
    assert tokens.from_seed("5" * 32) is in_use
