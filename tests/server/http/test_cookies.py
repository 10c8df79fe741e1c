"""Cookies: parsing among arbitrary others, Set-Cookie values, `Secure` behind proxies, and no writes for strangers."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.cookies import clear_session_cookie, csrf_cookie, read_cookies, session_cookie
from cloudconsole.server.ip_addresses import Network
from cloudconsole.store.base import DATABASE_NAMES
from cloudconsole.store.sqlite.engine import database_file
from cloudconsole.store.tables import ACTIVITY, CLOUD
from tests.harness import ApiClient, FakeClock, InProcessTransport, Reply
from tests.server.http.conftest import StartConsole
from tests.server.http.helpers import change_account, cookie_header, rows

ORIGIN: Final = "console.example.com"


# Parsing.


FOREIGN: Final = [
    "a[b]=1",
    '$Version="1"; $Path="/"; $Domain=x',
    "=",
    "=value",
    "name",
    "",
    "; ; =; ==;",
    "sessionid",
    "csrftoken=",
    'sessionid=""',
    'sessionid="',
    'sessionid="abc',
    "Sessionid=x; CSRFTOKEN=y",
    "sessionid =; csrftoken\t=",
    "städte=köln; bytes=\xff\xfe\x80",
    "sessionid=\xe9\xe9; csrftoken=\xa0",
    "sessionid=abc\t!",
    'json={"a":[1,2;3]}',
    "a=b=c==",
    "x=" + "y" * 30_000,
    "; ".join(f"sessionid=\xe9{number}" for number in range(100)),
]


@pytest.mark.parametrize("foreign", FOREIGN, ids=lambda text: text[:20])
@pytest.mark.parametrize("ours", ['sessionid=abc; csrftoken="def"', "csrftoken = def ;\tsessionid = abc"])
def test_foreign_cookies_do_not_hide_ours(foreign: str, ours: str) -> None:
    assert read_cookies(f"{foreign};{ours}") == read_cookies(f"{ours} ; {foreign}") == (["abc"], ["def"])


# Generating the examples may be slow on a busy machine.
in_any_time = hypothesis_settings(suppress_health_check=[HealthCheck.too_slow])


@in_any_time
@given(st.lists(st.text(st.characters(max_codepoint=255), max_size=60), max_size=12).map(";".join))
def test_any_cookie_header_yields_only_alphanumeric_values(header: str) -> None:
    for values in read_cookies(header):
        assert len(values) <= 4
        assert all(re.fullmatch(r"[A-Za-z0-9]+", value) for value in values)


FOREIGN_PAIRS = st.text(st.characters(max_codepoint=255, exclude_characters=";"), max_size=30).filter(
    lambda pair: not pair.strip().startswith(("sessionid", "csrftoken"))
)


@in_any_time
@given(st.lists(FOREIGN_PAIRS, max_size=5), st.lists(FOREIGN_PAIRS, max_size=5))
def test_a_cookie_is_found_among_arbitrary_others(before: list[str], after: list[str]) -> None:
    assert read_cookies(";".join([*before, " sessionid=abc123", *after])) == (["abc123"], [])


def test_cookies_after_the_first_2048_are_ignored() -> None:
    assert read_cookies("a=b;" * 2047 + "sessionid=abc123").sessions == ["abc123"]
    assert read_cookies("a=b;" * 2048 + "sessionid=abc123").sessions == []


# Set-Cookie values.


def test_cookies_over_https_are_secure() -> None:
    values = [make(secure) for secure in (False, True) for make in SET_COOKIES]
    assert [value.endswith("; Secure") for value in values] == [False] * 3 + [True] * 3


SET_COOKIES: Final[tuple[Callable[[bool], str], ...]] = (
    lambda secure: session_cookie("id", secure=secure),
    lambda secure: clear_session_cookie(secure=secure),
    lambda secure: csrf_cookie("token", 0, secure=secure),
)


@pytest.mark.parametrize("elapsed", [0, 1, 40 * 86_400, 107 * 86_400])
def test_the_csrf_cookie_expires_52_weeks_after_each_response(
    anonymous_client: ApiClient, clock: FakeClock, elapsed: int
) -> None:
    anonymous_client.open()
    clock.moment += elapsed
    for reply in (anonymous_client.open(), anonymous_client.login()):
        (expires,) = re.findall(r"Expires=([^;]+) GMT", reply.set_cookies["csrftoken"])
        expected = datetime.fromtimestamp(clock.moment, UTC) + timedelta(weeks=52)
        assert datetime.strptime(expires, "%a, %d %b %Y %H:%M:%S").replace(tzinfo=UTC) == expected


def secure_in(reply: Reply) -> set[bool]:
    return {"; Secure" in line for line in reply.set_cookies.values()}


@pytest.mark.parametrize("connection", ["http", "https"])
@pytest.mark.parametrize("public", [None, "http", "https"])
def test_secure_follows_the_public_origin_else_the_connection(
    settings: Settings, start_console: StartConsole, connection: str, public: str | None
) -> None:
    public_origin = None if public is None else f"{public}://{ORIGIN}"
    settings = replace(settings, hosts=(ORIGIN,), public_origin=public_origin)
    client = ApiClient(start_console(settings, f"{connection}://{ORIGIN}"))
    replies = [client.open(), client.login(region=f"{public or connection}://{ORIGIN}/v3"), client.logout()]
    assert [reply.status for reply in replies] == [200, 200, 200]
    assert [secure_in(reply) for reply in replies] == [{(public or connection) == "https"}] * 3


@pytest.mark.parametrize(
    ("forwarded", "is_secure"),
    [("https", True), ("http", False), ("http, https", True), ("https, http", False), ("gopher", False), ("", False)],
)
def test_secure_follows_the_scheme_a_configured_proxy_forwards(
    settings: Settings, start_console: StartConsole, forwarded: str, is_secure: bool
) -> None:
    transport = start_console(replace(settings, proxies=(ip_network("10.0.0.0/8"),)))
    transport.address = "10.1.2.3"
    assert secure_in(transport.send("GET", "/api/", [("X-Forwarded-Proto", forwarded)])) == {is_secure}


@pytest.mark.parametrize("proxies", [(), (ip_network("10.0.0.0/8"),)])
@pytest.mark.parametrize(
    "header", [("X-Forwarded-Proto", "https"), ("Forwarded", "proto=https"), ("X-Forwarded-Ssl", "on")]
)
def test_secure_ignores_forwarded_headers_of_other_peers(
    settings: Settings, start_console: StartConsole, proxies: tuple[Network, ...], header: tuple[str, str]
) -> None:
    transport = start_console(replace(settings, proxies=proxies))
    transport.address = "192.0.2.1"
    assert secure_in(transport.send("GET", "/api/", [header])) == {False}


# The store.


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_welcome_writes_nothing_to_the_store(transport: InProcessTransport, data: Path, method: str) -> None:
    def on_disk() -> list[bytes]:
        files = [database_file(data, part) for part in DATABASE_NAMES]
        files += [file.with_name(file.name + "-wal") for file in files]
        return [file.read_bytes() if file.exists() else b"" for file in files]

    def in_tables() -> dict[str, int]:
        tables = [*ACTIVITY.sorted_tables, *CLOUD.sorted_tables]
        return {table.name: len(rows(data, table)) for table in tables}

    # Rows are counted first: counting them opens the store for writing.
    counted, written = in_tables(), on_disk()
    for cookies in ([], cookie_header(sessionid="s" + "0" * 48), cookie_header(sessionid="a" + "0" * 48)):
        assert transport.send(method, "/api/", cookies).status == 200
    assert on_disk() == written
    assert in_tables() == counted


def test_a_throttled_login_changes_no_cookie_and_no_session(demo: ApiClient) -> None:
    for _ in range(10):
        demo.login(password="wrong")
    reply = demo.login()
    assert (reply.error, reply.set_cookies) == ("too_many_requests", {})
    assert demo.call("GetUrlList").status == 200


def test_a_disabled_accounts_login_changes_no_cookie(anonymous_client: ApiClient, data: Path) -> None:
    change_account(data, "demo", disabled=True)
    reply = anonymous_client.login()
    assert (reply.error, reply.set_cookies) == ("invalid_credentials", {})
