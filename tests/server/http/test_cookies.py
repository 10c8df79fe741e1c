"""Session and CSRF cookies: attributes, reuse and replacement, and parsing among arbitrary other cookies."""

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
from cloudconsole.server.http.cookies import read_cookies
from cloudconsole.server.ip_addresses import Network
from cloudconsole.store.base import DATABASE_NAMES
from cloudconsole.store.sqlite.engine import database_file
from cloudconsole.store.tables import ACTIVITY, CLOUD
from tests.harness import ApiClient, FakeClock, HeaderPairs, InProcessTransport, Reply
from tests.server.http.conftest import StartConsole
from tests.server.http.helpers import change_account, cookie_header, login_fields, post_action, post_login, rows

FIFTY_TWO_WEEKS: Final = timedelta(weeks=52)
IMF_FIXDATE: Final = re.compile(
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [0-9]{4} "
    r"[0-9]{2}:[0-9]{2}:[0-9]{2} GMT"
)


def attributes(set_cookie: str) -> dict[str, str]:
    """A cookie's attributes by lower-case name."""
    pairs = [part.strip().partition("=") for part in set_cookie.split(";")[1:]]
    found = {name.lower(): value for name, _, value in pairs}
    assert len(found) == len(pairs), set_cookie
    return found


def welcome(client: ApiClient) -> Reply:
    return client.open()


def head(client: ApiClient) -> Reply:
    return client.send("HEAD", "/api/")


def login(client: ApiClient) -> Reply:
    return client.login()


def logout(client: ApiClient) -> Reply:
    client.login()
    return client.logout()


Step = Callable[[ApiClient], Reply]
SETTING_BOTH: Final = (welcome, head, login)
STEPS: Final = (*SETTING_BOTH, logout)


# Attributes.


@pytest.mark.parametrize("step", SETTING_BOTH)
def test_both_cookies_are_set(anonymous_client: ApiClient, step: Step) -> None:
    assert set(step(anonymous_client).set_cookies) == {"sessionid", "csrftoken"}


@pytest.mark.parametrize("step", SETTING_BOTH)
def test_the_session_cookie_is_host_only_http_only_and_has_no_expiry(anonymous_client: ApiClient, step: Step) -> None:
    set_cookie = step(anonymous_client).set_cookies["sessionid"]
    assert attributes(set_cookie) == {"httponly": "", "path": "/", "samesite": "Lax"}


@pytest.mark.parametrize("step", SETTING_BOTH)
def test_the_csrf_cookie_is_host_only_script_readable_and_expires(anonymous_client: ApiClient, step: Step) -> None:
    found = attributes(step(anonymous_client).set_cookies["csrftoken"])
    assert {name: value for name, value in found.items() if name not in ("expires", "max-age")} == {
        "path": "/",
        "samesite": "Lax",
    }
    assert {"expires", "max-age"} <= set(found)


@pytest.mark.parametrize("elapsed", [0, 1, 40 * 86_400, 107 * 86_400])
@pytest.mark.parametrize("step", SETTING_BOTH)
def test_the_csrf_cookie_expires_after_52_weeks(
    anonymous_client: ApiClient, clock: FakeClock, step: Step, elapsed: int
) -> None:
    clock.moment += elapsed
    found = attributes(step(anonymous_client).set_cookies["csrftoken"])
    assert found["max-age"] == str(int(FIFTY_TWO_WEEKS.total_seconds()))
    assert IMF_FIXDATE.fullmatch(found["expires"])
    expires = datetime.strptime(found["expires"], "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    assert expires == datetime.fromtimestamp(clock.moment, UTC) + FIFTY_TWO_WEEKS


def test_logout_clears_the_session_cookie_and_leaves_the_token(demo: ApiClient) -> None:
    cookies = demo.logout().set_cookies
    assert set(cookies) == {"sessionid"}
    found = attributes(cookies["sessionid"])
    assert cookies["sessionid"].startswith("sessionid=;")
    assert found.pop("max-age") == "0"
    expires = found.pop("expires")
    assert IMF_FIXDATE.fullmatch(expires)
    assert expires.endswith("1970 00:00:00 GMT")
    assert found == {"httponly": "", "path": "/", "samesite": "Lax"}


@pytest.mark.parametrize("step", SETTING_BOTH)
@pytest.mark.parametrize("name", ["sessionid", "csrftoken"])
def test_cookie_values_are_alphanumeric(anonymous_client: ApiClient, step: Step, name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9]{32,}", step(anonymous_client).cookie(name) or "")


def test_every_new_client_gets_different_cookies(transport: InProcessTransport) -> None:
    replies = [ApiClient(transport).open() for _ in range(50)]
    assert len({reply.cookie("sessionid") for reply in replies}) == 50
    assert len({reply.cookie("csrftoken") for reply in replies}) == 50


@pytest.mark.parametrize("path", ["/", "/api", "/nowhere"])
def test_no_other_path_sets_a_cookie(anonymous_client: ApiClient, path: str) -> None:
    assert anonymous_client.send("GET", path).set_cookies == {}


def test_an_action_sets_no_cookie(demo: ApiClient) -> None:
    assert demo.call("GetUrlList").set_cookies == {}


# Secure.


def secure_in(reply: Reply) -> set[bool]:
    return {"secure" in attributes(line) for line in reply.set_cookies.values()}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_secure_follows_the_scheme_of_the_connection(
    settings: Settings, start_console: StartConsole, step: Step, scheme: str
) -> None:
    client = ApiClient(start_console(settings, f"{scheme}://localhost:8000"))
    assert secure_in(step(client)) == {scheme == "https"}


@pytest.mark.parametrize("connection", ["http", "https"])
@pytest.mark.parametrize("public", ["http", "https"])
@pytest.mark.parametrize("forwarded", [None, "http", "https"])
def test_secure_follows_the_public_origin_if_one_is_set(
    settings: Settings, start_console: StartConsole, connection: str, public: str, forwarded: str | None
) -> None:
    settings = replace(settings, public_origin=f"{public}://console.example.com", proxies=(ip_network("127.0.0.1/32"),))
    transport = start_console(settings, f"{connection}://console.example.com")
    headers = [] if forwarded is None else [("X-Forwarded-Proto", forwarded)]
    opened = transport.send("GET", "/api/", headers)
    token = opened.cookie("csrftoken") or ""
    fields = login_fields(transport, region=f"{public}://console.example.com/v3", csrfmiddlewaretoken=token)
    logged_in = post_login(transport, [*headers, *cookie_header(csrftoken=token)], fields)
    assert logged_in.status == 200
    cookies = cookie_header(csrftoken=token, sessionid=logged_in.cookie("sessionid"))
    logged_out = transport.send("POST", "/auth/logout/", [*headers, *cookies, ("X-CSRFToken", token)])
    assert logged_out.status == 200
    assert [secure_in(reply) for reply in (opened, logged_in, logged_out)] == [{public == "https"}] * 3


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
    "header",
    [
        ("X-Forwarded-Proto", "https"),
        ("Forwarded", "proto=https"),
        ("X-Forwarded-Ssl", "on"),
        ("Front-End-Https", "on"),
    ],
)
def test_secure_ignores_forwarded_headers_of_other_peers(
    settings: Settings, start_console: StartConsole, proxies: tuple[Network, ...], header: tuple[str, str]
) -> None:
    transport = start_console(replace(settings, proxies=proxies))
    transport.address = "192.0.2.1"
    assert secure_in(transport.send("GET", "/api/", [header])) == {False}


# Reuse and replacement.

STALE_SESSION: Final = "s" + "0" * 48
ANONYMOUS: Final = "a" + "0123456789abcdef" * 3


def get_welcome(transport: InProcessTransport, headers: HeaderPairs) -> Reply:
    reply = transport.send("GET", "/api/", headers)
    assert set(reply.set_cookies) == {"sessionid", "csrftoken"}
    return reply


def test_anonymous_cookies_are_reused(transport: InProcessTransport, anonymous_client: ApiClient) -> None:
    anonymous_client.open()
    reply = get_welcome(transport, cookie_header(**anonymous_client.cookies))
    assert (reply.cookie("sessionid"), reply.cookie("csrftoken")) == (
        anonymous_client.cookies["sessionid"],
        anonymous_client.token,
    )


def test_cookies_of_a_live_session_are_reused(transport: InProcessTransport, demo: ApiClient) -> None:
    reply = get_welcome(transport, cookie_header(**demo.cookies))
    assert (reply.cookie("sessionid"), reply.cookie("csrftoken")) == (demo.cookies["sessionid"], demo.token)


def test_the_expiry_of_a_reused_token_is_renewed(anonymous_client: ApiClient, clock: FakeClock) -> None:
    before = anonymous_client.open().set_cookies["csrftoken"]
    clock.moment += 3600
    after = anonymous_client.open().set_cookies["csrftoken"]
    assert after.partition(";")[0] == before.partition(";")[0]
    assert attributes(after)["expires"] != attributes(before)["expires"]


def test_a_session_is_reused_despite_an_invalid_token(
    transport: InProcessTransport, anonymous_client: ApiClient
) -> None:
    session_id = anonymous_client.open().cookie("sessionid")
    reply = get_welcome(transport, cookie_header(sessionid=session_id, csrftoken="0" * 64))
    assert reply.cookie("sessionid") == session_id
    assert reply.cookie("csrftoken") not in ("0" * 64, anonymous_client.token)


def test_a_token_is_reused_despite_an_invalid_session(
    transport: InProcessTransport, anonymous_client: ApiClient
) -> None:
    token = anonymous_client.open().cookie("csrftoken")
    reply = get_welcome(transport, cookie_header(sessionid=STALE_SESSION, csrftoken=token))
    assert reply.cookie("csrftoken") == token
    assert reply.cookie("sessionid") != STALE_SESSION


@pytest.mark.parametrize(
    "session_id",
    [
        STALE_SESSION,
        "a" * 48,
        "A" + "0" * 48,
        "a" + "0" * 47,
        "a" + "0" * 49,
        "a" + "g" * 48,
        "b" + "0" * 48,
        "x",
        "",
        "ü" * 49,
        "a" + "0" * 48 + "\t!",
    ],
)
def test_an_unknown_session_id_is_replaced(transport: InProcessTransport, session_id: str) -> None:
    reply = get_welcome(transport, cookie_header(sessionid=session_id))
    assert re.fullmatch("a[0-9a-f]{48}", reply.cookie("sessionid") or "")
    assert reply.cookie("sessionid") != session_id


@pytest.mark.parametrize("change", [str.upper, lambda token: token[:-1], lambda token: token + "0", lambda _: "x"])
def test_an_unknown_token_is_replaced(
    transport: InProcessTransport, anonymous_client: ApiClient, change: Callable[[str], str]
) -> None:
    anonymous_client.open()
    changed = change(anonymous_client.token)
    reply = get_welcome(transport, cookie_header(csrftoken=changed))
    assert reply.cookie("csrftoken") not in (changed, anonymous_client.token)
    assert len(reply.cookie("csrftoken") or "") == 64


@pytest.mark.parametrize("token", [None, "0" * 64, "x", ""])
def test_a_session_without_its_token_gets_it_back(
    transport: InProcessTransport, demo: ApiClient, token: str | None
) -> None:
    reply = get_welcome(transport, cookie_header(sessionid=demo.cookies["sessionid"], csrftoken=token))
    assert reply.cookie("csrftoken") == demo.token


def test_an_ended_session_does_not_reveal_its_token(transport: InProcessTransport, demo: ApiClient) -> None:
    session_id, token = demo.cookies["sessionid"], demo.token
    demo.logout()
    assert get_welcome(transport, cookie_header(sessionid=session_id)).cookie("csrftoken") != token


def test_welcome_never_ends_a_session(demo: ApiClient) -> None:
    for cookies in ({}, demo.cookies, {"sessionid": demo.cookies["sessionid"]}, {"csrftoken": demo.token}):
        ApiClient(demo.transport, dict(cookies)).open()
    assert demo.call("GetUrlList").status == 200


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
    for cookies in ([], cookie_header(sessionid=STALE_SESSION), cookie_header(sessionid=ANONYMOUS), []):
        for _ in range(10):
            assert transport.send(method, "/api/", cookies).status == 200
    assert on_disk() == written
    assert in_tables() == counted


# A failed login.


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"password": "wrong"}, "invalid_credentials"),
        ({"username": "nobody"}, "invalid_credentials"),
        ({"username": None}, "missing_field"),
        ({"region": "https://elsewhere.example"}, "unknown_region"),
        ({"csrfmiddlewaretoken": "0" * 64}, "csrf_failed"),
    ],
)
@pytest.mark.parametrize("logged_in", [False, True])
def test_a_failed_login_changes_no_cookie_and_no_session(
    anonymous_client: ApiClient, changes: dict[str, str | None], error: str, logged_in: bool
) -> None:
    anonymous_client.open()
    if logged_in:
        anonymous_client.login()
    reply = anonymous_client.login(**changes)  # type: ignore[arg-type]
    assert (reply.error, reply.set_cookies) == (error, {})
    assert anonymous_client.call("GetUrlList").status == (200 if logged_in else 401)


def test_a_throttled_login_changes_no_cookie_and_no_session(demo: ApiClient) -> None:
    for _ in range(10):
        demo.login(password="wrong")
    reply = demo.login()
    assert (reply.error, reply.set_cookies) == ("too_many_requests", {})
    assert demo.call("GetUrlList").status == 200


def test_a_disabled_accounts_login_changes_no_cookie(anonymous_client: ApiClient, data: Path) -> None:
    change_account(data, "demo", disabled=True)
    anonymous_client.open()
    reply = anonymous_client.login()
    assert (reply.error, reply.set_cookies) == ("invalid_credentials", {})


# Repeated and foreign cookies.


def post_action_with(transport: InProcessTransport, cookie: str | list[str], token: str) -> Reply:
    values = [cookie] if isinstance(cookie, str) else cookie
    return post_action(transport, [*(("Cookie", value) for value in values), ("X-CSRFToken", token)])


@pytest.mark.parametrize("position", range(5))
@pytest.mark.parametrize("others", [STALE_SESSION, ANONYMOUS, "x"])
def test_the_live_session_is_found_among_the_first_four(
    transport: InProcessTransport, demo: ApiClient, position: int, others: str
) -> None:
    values = [others] * 4
    values.insert(position, demo.cookies["sessionid"])
    pairs = [f"sessionid={value}" for value in values] + [f"csrftoken={demo.token}"]
    reply = post_action_with(transport, "; ".join(pairs), demo.token)
    assert reply.status == (200 if position < 4 else 401)


def test_the_first_of_two_live_sessions_is_used(transport: InProcessTransport, demo: ApiClient) -> None:
    other = ApiClient(transport)
    other.login("other", "console-other")
    tokens = f"csrftoken={demo.token}; csrftoken={other.token}"
    cookie = f"sessionid={other.cookies['sessionid']}; sessionid={demo.cookies['sessionid']}; {tokens}"
    assert post_action_with(transport, cookie, other.token).status == 200
    assert post_action_with(transport, cookie, demo.token).error == "csrf_failed"


def test_the_session_that_matches_the_token_is_preferred(transport: InProcessTransport, demo: ApiClient) -> None:
    foreign = ApiClient(transport)
    foreign.login("other", "console-other")
    own_id = demo.cookies["sessionid"]
    cookie = f"sessionid={foreign.cookies['sessionid']}; sessionid={own_id}; csrftoken={demo.token}"
    assert post_action_with(transport, cookie, demo.token).status == 200
    assert get_welcome(transport, [("Cookie", cookie)]).cookie("sessionid") == own_id


def test_a_planted_token_does_not_replace_the_sessions_own(transport: InProcessTransport, demo: ApiClient) -> None:
    planted = ApiClient(transport).open().cookie("csrftoken")
    cookie = f"csrftoken={planted}; sessionid={demo.cookies['sessionid']}; csrftoken={demo.token}"
    assert get_welcome(transport, [("Cookie", cookie)]).cookie("csrftoken") == demo.token


@pytest.mark.parametrize("position", range(5))
def test_the_sessions_token_is_found_among_the_first_four(
    transport: InProcessTransport, demo: ApiClient, position: int
) -> None:
    values = ["0" * 64, "x", "1" * 64, "2" * 64]
    values.insert(position, demo.token)
    pairs = [f"csrftoken={value}" for value in values] + [f"sessionid={demo.cookies['sessionid']}"]
    reply = post_action_with(transport, "; ".join(pairs), demo.token)
    assert reply.status == (200 if position < 4 else 403)


@pytest.mark.parametrize("position", range(5))
def test_login_finds_the_matching_token_among_the_first_four(transport: InProcessTransport, position: int) -> None:
    values = [ApiClient(transport).open().cookie("csrftoken") or "" for _ in range(5)]
    cookie = "; ".join(f"csrftoken={value}" for value in values)
    fields = login_fields(transport, csrfmiddlewaretoken=values[position])
    reply = post_login(transport, [("Cookie", cookie)], fields)
    assert reply.status == (200 if position < 4 else 403)


def test_welcome_reuses_the_live_session_among_several(transport: InProcessTransport, demo: ApiClient) -> None:
    session_id = demo.cookies["sessionid"]
    cookie = f"sessionid={ANONYMOUS}; sessionid={STALE_SESSION}; sessionid={session_id}"
    assert get_welcome(transport, [("Cookie", cookie)]).cookie("sessionid") == session_id


def test_welcome_reuses_the_valid_token_among_several(
    transport: InProcessTransport, anonymous_client: ApiClient
) -> None:
    anonymous_client.open()
    cookie = f"csrftoken={'0' * 64}; csrftoken={anonymous_client.token}"
    assert get_welcome(transport, [("Cookie", cookie)]).cookie("csrftoken") == anonymous_client.token


FOREIGN: Final = [
    "a[b]=1",
    "$Version=1",
    '$Version="1"; $Path="/"; $Domain=x',
    "=",
    "=value",
    "name",
    "",
    ";;;;",
    "; ; =; ==;",
    "sessionid",
    "csrftoken",
    "sessionid=",
    "csrftoken=",
    'sessionid=""',
    'sessionid="',
    "Sessionid=x; CSRFTOKEN=y",
    "sessionid =; csrftoken\t=",
    "lang=ü; städte=köln",
    "bytes=\xff\xfe\x80",
    "sessionid=\xe9\xe9; csrftoken=\xa0",
    'json={"a":[1,2;3]}',
    "a=b=c==",
    "x=" + "y" * 30_000,
    "; ".join(f"c{number}={number}" for number in range(2_000)),
    "; ".join(f"sessionid=\xe9{number}" for number in range(100)),
]


@pytest.mark.parametrize("foreign", FOREIGN, ids=lambda text: text[:20])
@pytest.mark.parametrize("foreign_first", [True, False])
def test_foreign_cookies_break_neither_login_nor_actions(
    transport: InProcessTransport, anonymous_client: ApiClient, foreign: str, foreign_first: bool
) -> None:
    def with_foreign(**cookies: str | None) -> str:
        ours = "; ".join(f"{name}={value}" for name, value in cookies.items())
        return "; ".join([foreign, ours] if foreign_first else [ours, foreign])

    token = get_welcome(transport, [("Cookie", foreign)]).cookie("csrftoken") or ""
    reply = post_login(
        transport, [("Cookie", with_foreign(csrftoken=token))], login_fields(transport, csrfmiddlewaretoken=token)
    )
    assert reply.status == 200
    assert (
        post_action_with(transport, with_foreign(sessionid=reply.cookie("sessionid"), csrftoken=token), token).status
        == 200
    )


def test_quoted_cookies_are_read(transport: InProcessTransport, anonymous_client: ApiClient) -> None:
    token = anonymous_client.open().cookie("csrftoken") or ""
    fields = login_fields(transport, csrfmiddlewaretoken=token)
    reply = post_login(transport, [("Cookie", f'csrftoken="{token}"')], fields)
    assert reply.status == 200
    cookie = f'$Version=1; sessionid="{reply.cookie("sessionid")}"; $Path="/"; csrftoken="{token}"'
    assert post_action_with(transport, cookie, token).status == 200


@pytest.mark.parametrize("separator", [";", " ; ", ";  ", ";\t"])
def test_whitespace_between_cookies_does_not_matter(
    transport: InProcessTransport, demo: ApiClient, separator: str
) -> None:
    cookie = separator.join(f"{name}={value}" for name, value in demo.cookies.items())
    assert post_action_with(transport, cookie, demo.token).status == 200


def test_several_cookie_headers_are_read_as_one(transport: InProcessTransport, demo: ApiClient) -> None:
    headers = ["a=1", f"sessionid={demo.cookies['sessionid']}", "b=2", f"csrftoken={demo.token}"]
    assert post_action_with(transport, headers, demo.token).status == 200


def test_a_stale_session_cookie_does_not_prevent_login(anonymous_client: ApiClient) -> None:
    anonymous_client.open()
    anonymous_client.cookies["sessionid"] = STALE_SESSION
    assert anonymous_client.login().status == 200
    assert anonymous_client.call("GetUrlList").status == 200


@hypothesis_settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.text(st.characters(max_codepoint=255), max_size=60), max_size=12).map(";".join))
def test_any_cookie_header_yields_only_alphanumeric_values(header: str) -> None:
    cookies = read_cookies(header)
    for values in cookies:
        assert len(values) <= 4
        assert all(re.fullmatch(r"[A-Za-z0-9]+", value) for value in values)


@hypothesis_settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text(st.characters(max_codepoint=255, exclude_characters=";"), max_size=30), max_size=5),
    st.lists(st.text(st.characters(max_codepoint=255, exclude_characters=";"), max_size=30), max_size=5),
)
def test_a_cookie_is_found_among_arbitrary_others(before: list[str], after: list[str]) -> None:
    others = [pair for pair in (*before, *after) if not pair.strip().startswith(("sessionid", "csrftoken"))]
    half = len(before) if len(others) == len(before) + len(after) else 0
    header = ";".join([*others[:half], " sessionid=abc123", *others[half:]])
    assert read_cookies(header) == (["abc123"], [])


def test_cookies_after_the_first_2048_are_ignored() -> None:
    assert read_cookies("a=b;" * 2047 + "sessionid=abc123").sessions == ["abc123"]
    assert read_cookies("a=b;" * 2048 + "sessionid=abc123").sessions == []
