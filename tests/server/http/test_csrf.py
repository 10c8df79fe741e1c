"""CSRF checks against an oracle, and what the contract suite cannot reach: restarts, other consoles, settings."""

from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Final

import pytest

from cloudconsole.server.http.csrf import CsrfTokens, check_origin
from cloudconsole.server.http.request import Request
from cloudconsole.spec.errors import CsrfFailed
from cloudconsole.store.session_lookup import Session
from tests.harness import ApiClient
from tests.server.http.conftest import StartConsole
from tests.server.http.helpers import make_request
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


def request_of(**headers: str | None) -> Request:
    return make_request(
        [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items() if value]
    )


def request_with(cookies: tuple[str, ...], header: str) -> Request:
    return request_of(cookie="; ".join(f"csrftoken={SENT[name]}" for name in cookies), x_csrftoken=SENT[header])


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


@pytest.mark.parametrize(
    ("own", "origin", "passes"),
    [
        ("https://console.example.com", "https://console.example.com", True),
        ("https://console.example.com", "https://CONSOLE.example.com:443", True),
        ("https://console.example.com", "http://console.example.com", False),
        ("https://console.example.com", "https://www.console.example.com", False),
        (None, "http://127.0.0.1:8000", False),
        (None, "null", False),
    ],
)
def test_only_the_consoles_own_origin_is_accepted_if_it_is_known(own: str | None, origin: str, passes: bool) -> None:
    request = request_of(origin=origin)
    request.origin = own
    with nullcontext() if passes else pytest.raises(CsrfFailed):
        check_origin(request)


def test_new_tokens_do_not_evict_tokens_in_use() -> None:
    tokens = CsrfTokens(b"k" * 32)
    in_use = tokens.from_seed("5" * 32)
    for _ in range(3000):
        assert tokens.is_ours(tokens.new())
    assert tokens.from_seed("5" * 32) is in_use


def test_token_of_another_console_is_rejected(
    anonymous_client: ApiClient, fast_hash_store: Path, tmp_path: Path, start_console: StartConsole
) -> None:
    elsewhere = ApiClient(start_console(settings_for(copy_store(fast_hash_store, tmp_path / "elsewhere"))))
    elsewhere.open()
    anonymous_client.cookies = elsewhere.cookies
    assert anonymous_client.login().error == "csrf_failed"
