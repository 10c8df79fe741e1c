"""CSRF checks against an oracle, and what the contract suite cannot reach: restarts, other consoles, settings."""

from dataclasses import replace
from ipaddress import ip_network
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.csrf import CsrfTokens, check_origin
from cloudconsole.server.http.request import Headers, Request
from cloudconsole.spec.errors import CsrfFailed
from cloudconsole.store.session_lookup import Session
from cloudconsole.store.tables import login_failures, sessions
from tests.harness import ApiClient, FakeClock
from tests.server.http.conftest import StartConsole
from tests.server.http.helpers import rows
from tests.stores import copy_store, settings_for

TOKENS: Final = CsrfTokens(b"k" * 32)
OWN: Final = TOKENS.from_seed("5" * 32)
ANOTHER: Final = TOKENS.from_seed("6" * 32)
SESSION: Final = Session(b"hash", 1, "demo", OWN[:32], 0, 1, "tenant", 1)
SENT: Final = {
    "own": OWN,
    "another": ANOTHER,
    "wrong mac": OWN[:-1] + ("1" if OWN[-1] == "0" else "0"),
    "seed of one, mac of another": OWN[:32] + ANOTHER[32:],
    "of another console": CsrfTokens(b"x" * 32).from_seed("5" * 32),
    "short": OWN[:-1],
    "long": OWN + "0",
    "capitals": OWN.upper(),
    "odd": "no token; at=all",
    "not ascii": "é" * 64,
    "empty": "",
    "absent": None,
}
COOKIES: Final = ((), ("own",), ("another",), ("wrong mac",), ("short",), ("another", "own"), ("own", "wrong mac"))


async def _receive() -> dict[str, Any]:
    raise AssertionError("unexpected read of the body")


def make_request(**headers: str | None) -> Request:
    pairs = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items() if value]
    return Request({"method": "POST", "path": "/", "scheme": "http"}, Headers(pairs), _receive)


def request_with(cookies: tuple[str, ...], header: str) -> Request:
    return make_request(cookie="; ".join(f"csrftoken={SENT[name]}" for name in cookies), x_csrftoken=SENT[header])


def test_call_passes_only_with_the_sessions_token_in_header_and_cookie() -> None:
    for cookies, header in product(COOKIES, SENT):
        try:
            TOKENS.check_call(request_with(cookies, header), SESSION)
            passes = True
        except CsrfFailed:
            passes = False
        assert passes == (header == "own" and "own" in cookies), (cookies, header)


def test_login_passes_only_with_an_issued_token_in_field_or_header_and_cookie() -> None:
    for cookies, field, header in product(COOKIES, SENT, SENT):
        try:
            seed = TOKENS.check_login(request_with(cookies, header), SENT[field])
        except CsrfFailed:
            seed = None
        token = header if field in ("absent", "empty") else field
        passes = token in ("own", "another") and token in cookies
        assert seed == ((SENT[token] or "")[:32] if passes else None), (cookies, field, header)


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8000", "null"])
def test_no_origin_is_accepted_while_the_consoles_own_is_unknown(origin: str) -> None:
    with pytest.raises(CsrfFailed):
        check_origin(make_request(origin=origin))


def test_new_tokens_do_not_evict_tokens_in_use() -> None:
    tokens = CsrfTokens(b"k" * 32)
    in_use = tokens.from_seed("5" * 32)
    for _ in range(3000):
        assert tokens.is_ours(tokens.new())
    assert tokens.from_seed("5" * 32) is in_use


@pytest.mark.parametrize("lifetime", ["session_idle", "session_lifetime"])
def test_same_token_logs_in_again_after_expiry(
    demo: ApiClient, clock: FakeClock, settings: Settings, lifetime: str
) -> None:
    token = demo.token
    clock.moment += getattr(settings, lifetime)
    assert demo.call("GetUrlList").error == "login_required"
    assert demo.login().status == 200
    assert demo.token == token


def test_token_and_session_are_valid_after_a_restart(
    demo: ApiClient, settings: Settings, start_console: StartConsole
) -> None:
    demo.transport = start_console(settings)
    assert demo.call("GetUrlList").status == 200
    assert demo.login().status == 200


def test_token_of_another_console_is_rejected(
    anonymous_client: ApiClient, fast_hash_store: Path, tmp_path: Path, start_console: StartConsole
) -> None:
    elsewhere = ApiClient(start_console(settings_for(copy_store(fast_hash_store, tmp_path / "elsewhere"))))
    elsewhere.open()
    anonymous_client.cookies = elsewhere.cookies
    assert anonymous_client.login().error == "csrf_failed"


def test_login_with_an_invalid_token_writes_nothing(anonymous_client: ApiClient, data: Path) -> None:
    anonymous_client.open()
    assert anonymous_client.login(csrfmiddlewaretoken="0" * 64).error == "csrf_failed"
    assert rows(data, sessions) == []
    assert rows(data, login_failures) == []


@pytest.mark.parametrize(
    ("origin", "is_accepted"),
    [("https://console.example.com", True), ("https://console.example.com:443", True)]
    + [(origin, False) for origin in ("http://console.example.com:8000", "https://www.console.example.com")],
)
def test_only_the_configured_public_origin_is_accepted(
    settings: Settings, start_console: StartConsole, origin: str, is_accepted: bool
) -> None:
    settings = replace(settings, public_origin="https://console.example.com")
    client = ApiClient(start_console(settings, "http://console.example.com:8000"))
    client.login(region="https://console.example.com/v3")
    reply = client.send("POST", "/auth/logout/", {"X-CSRFToken": client.token, "Origin": origin})
    assert reply.status == (200 if is_accepted else 403)


@pytest.mark.parametrize(("peer", "is_trusted"), [("10.0.0.7", True), ("192.0.2.7", False)])
def test_forwarded_origin_is_accepted_only_from_a_known_proxy(
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
    assert reply.status == (200 if is_trusted else 403)
