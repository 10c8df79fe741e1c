"""The two cookies: their attributes, when they are kept and when renewed, and reading them among whatever comes."""

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
from cloudconsole.server.net import Network
from cloudconsole.store.base import DATABASE_NAMES
from cloudconsole.store.sqlite.engine import database_file
from cloudconsole.store.tables import ACTIVITY, CLOUD
from tests.harness import Caller, HeaderPairs, HeldClock, InProcess, Reply
from tests.server.http.conftest import StartConsole
from tests.server.http.world import (
    change_account,
    cookie_header,
    login_fields,
    post_action,
    post_login,
    rows,
)

FIFTY_TWO_WEEKS: Final = timedelta(weeks=52)
IMF_FIXDATE: Final = re.compile(
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [0-9]{4} "
    r"[0-9]{2}:[0-9]{2}:[0-9]{2} GMT"
)


def attributes(line: str) -> dict[str, str]:
    """What stands behind a cookie's value, by lower-case name."""
    pairs = [part.strip().partition("=") for part in line.split(";")[1:]]
    found = {name.lower(): value for name, _, value in pairs}
    assert len(found) == len(pairs), line
    return found


def opening(caller: Caller) -> Reply:
    return caller.open()


def head(caller: Caller) -> Reply:
    return caller.send("HEAD", "/api/")


def login(caller: Caller) -> Reply:
    return caller.login()


def logout(caller: Caller) -> Reply:
    caller.login()
    return caller.logout()


Step = Callable[[Caller], Reply]
SETTING_BOTH: Final = (opening, head, login)
STEPS: Final = (*SETTING_BOTH, logout)


# Attributes.


@pytest.mark.parametrize("step", SETTING_BOTH)
def test_both_cookies_are_set(visitor: Caller, step: Step) -> None:
    assert set(step(visitor).set_cookies) == {"sessionid", "csrftoken"}


@pytest.mark.parametrize("step", SETTING_BOTH)
def test_the_session_cookie_is_host_only_hidden_from_scripts_and_without_expiry(visitor: Caller, step: Step) -> None:
    line = step(visitor).set_cookies["sessionid"]
    assert attributes(line) == {"httponly": "", "path": "/", "samesite": "Lax"}


@pytest.mark.parametrize("step", SETTING_BOTH)
def test_the_token_cookie_is_host_only_readable_by_scripts_and_expires(visitor: Caller, step: Step) -> None:
    found = attributes(step(visitor).set_cookies["csrftoken"])
    assert {name: value for name, value in found.items() if name not in ("expires", "max-age")} == {
        "path": "/",
        "samesite": "Lax",
    }
    assert {"expires", "max-age"} <= set(found)


@pytest.mark.parametrize("moved", [0, 1, 40 * 86_400, 107 * 86_400])
@pytest.mark.parametrize("step", SETTING_BOTH)
def test_both_expiries_of_the_token_are_52_weeks_from_now(
    visitor: Caller, clock: HeldClock, step: Step, moved: int
) -> None:
    clock.moment += moved
    found = attributes(step(visitor).set_cookies["csrftoken"])
    assert found["max-age"] == str(int(FIFTY_TWO_WEEKS.total_seconds()))
    assert IMF_FIXDATE.fullmatch(found["expires"])
    expires = datetime.strptime(found["expires"], "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    assert expires == datetime.fromtimestamp(clock.moment, UTC) + FIFTY_TWO_WEEKS


def test_logout_clears_the_session_cookie_and_leaves_the_token(demo: Caller) -> None:
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
def test_values_are_letters_and_digits(visitor: Caller, step: Step, name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9]{32,}", step(visitor).cookie(name) or "")


def test_no_two_newcomers_get_the_same(wire: InProcess) -> None:
    replies = [Caller(wire).open() for _ in range(50)]
    assert len({reply.cookie("sessionid") for reply in replies}) == 50
    assert len({reply.cookie("csrftoken") for reply in replies}) == 50


@pytest.mark.parametrize("path", ["/", "/api", "/nowhere"])
def test_no_other_path_sets_a_cookie(visitor: Caller, path: str) -> None:
    assert visitor.send("GET", path).set_cookies == {}


def test_an_action_sets_no_cookie(demo: Caller) -> None:
    assert demo.call("GetUrlList").set_cookies == {}


# Secure.


def secure_in(reply: Reply) -> set[bool]:
    return {"secure" in attributes(line) for line in reply.set_cookies.values()}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_secure_follows_the_scheme_of_the_connection(
    settings: Settings, start_console: StartConsole, step: Step, scheme: str
) -> None:
    caller = Caller(start_console(settings, f"{scheme}://localhost:8000"))
    assert secure_in(step(caller)) == {scheme == "https"}


@pytest.mark.parametrize("connection", ["http", "https"])
@pytest.mark.parametrize("public", ["http", "https"])
@pytest.mark.parametrize("forwarded", [None, "http", "https"])
def test_a_public_origin_decides_on_secure_whatever_the_connection(
    settings: Settings, start_console: StartConsole, connection: str, public: str, forwarded: str | None
) -> None:
    settings = replace(settings, public_origin=f"{public}://console.example.com", proxies=(ip_network("127.0.0.1/32"),))
    wire = start_console(settings, f"{connection}://console.example.com")
    headers = [] if forwarded is None else [("X-Forwarded-Proto", forwarded)]
    opened = wire.send("GET", "/api/", headers)
    token = opened.cookie("csrftoken") or ""
    fields = login_fields(wire, region=f"{public}://console.example.com/v3", csrfmiddlewaretoken=token)
    entered = post_login(wire, [*headers, *cookie_header(csrftoken=token)], fields)
    assert entered.status == 200
    cookies = cookie_header(csrftoken=token, sessionid=entered.cookie("sessionid"))
    left = wire.send("POST", "/auth/logout/", [*headers, *cookies, ("X-CSRFToken", token)])
    assert left.status == 200
    assert [secure_in(reply) for reply in (opened, entered, left)] == [{public == "https"}] * 3


@pytest.mark.parametrize(
    ("forwarded", "is_secure"),
    [("https", True), ("http", False), ("http, https", True), ("https, http", False), ("gopher", False), ("", False)],
)
def test_a_configured_proxy_says_whether_the_public_scheme_is_https(
    settings: Settings, start_console: StartConsole, forwarded: str, is_secure: bool
) -> None:
    wire = start_console(replace(settings, proxies=(ip_network("10.0.0.0/8"),)))
    wire.address = "10.1.2.3"
    assert secure_in(wire.send("GET", "/api/", [("X-Forwarded-Proto", forwarded)])) == {is_secure}


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
def test_nobody_else_says_so(
    settings: Settings, start_console: StartConsole, proxies: tuple[Network, ...], header: tuple[str, str]
) -> None:
    wire = start_console(replace(settings, proxies=proxies))
    wire.address = "192.0.2.1"
    assert secure_in(wire.send("GET", "/api/", [header])) == {False}


# Kept or renewed.

STALE_SESSION: Final = "s" + "0" * 48
ANONYMOUS: Final = "a" + "0123456789abcdef" * 3


def open_with(wire: InProcess, headers: HeaderPairs) -> Reply:
    reply = wire.send("GET", "/api/", headers)
    assert set(reply.set_cookies) == {"sessionid", "csrftoken"}
    return reply


def test_a_newcomers_cookies_are_kept(wire: InProcess, visitor: Caller) -> None:
    visitor.open()
    reply = open_with(wire, cookie_header(**visitor.cookies))
    assert (reply.cookie("sessionid"), reply.cookie("csrftoken")) == (visitor.cookies["sessionid"], visitor.token)


def test_a_live_sessions_cookies_are_kept(wire: InProcess, demo: Caller) -> None:
    reply = open_with(wire, cookie_header(**demo.cookies))
    assert (reply.cookie("sessionid"), reply.cookie("csrftoken")) == (demo.cookies["sessionid"], demo.token)


def test_a_kept_tokens_expiry_is_renewed(visitor: Caller, clock: HeldClock) -> None:
    before = visitor.open().set_cookies["csrftoken"]
    clock.moment += 3600
    after = visitor.open().set_cookies["csrftoken"]
    assert after.partition(";")[0] == before.partition(";")[0]
    assert attributes(after)["expires"] != attributes(before)["expires"]


def test_a_session_is_kept_beside_a_bad_token(wire: InProcess, visitor: Caller) -> None:
    session_id = visitor.open().cookie("sessionid")
    reply = open_with(wire, cookie_header(sessionid=session_id, csrftoken="0" * 64))
    assert reply.cookie("sessionid") == session_id
    assert reply.cookie("csrftoken") not in ("0" * 64, visitor.token)


def test_a_token_is_kept_beside_a_bad_session(wire: InProcess, visitor: Caller) -> None:
    token = visitor.open().cookie("csrftoken")
    reply = open_with(wire, cookie_header(sessionid=STALE_SESSION, csrftoken=token))
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
def test_a_session_id_that_is_neither_live_nor_ours_is_replaced(wire: InProcess, session_id: str) -> None:
    reply = open_with(wire, cookie_header(sessionid=session_id))
    assert re.fullmatch("a[0-9a-f]{48}", reply.cookie("sessionid") or "")
    assert reply.cookie("sessionid") != session_id


@pytest.mark.parametrize("change", [str.upper, lambda token: token[:-1], lambda token: token + "0", lambda _: "x"])
def test_a_token_that_we_never_issued_is_replaced(
    wire: InProcess, visitor: Caller, change: Callable[[str], str]
) -> None:
    visitor.open()
    changed = change(visitor.token)
    reply = open_with(wire, cookie_header(csrftoken=changed))
    assert reply.cookie("csrftoken") not in (changed, visitor.token)
    assert len(reply.cookie("csrftoken") or "") == 64


@pytest.mark.parametrize("token", [None, "0" * 64, "x", ""])
def test_a_session_that_lost_its_token_gets_its_own_back(wire: InProcess, demo: Caller, token: str | None) -> None:
    reply = open_with(wire, cookie_header(sessionid=demo.cookies["sessionid"], csrftoken=token))
    assert reply.cookie("csrftoken") == demo.token


def test_an_ended_session_does_not_tell_its_token(wire: InProcess, demo: Caller) -> None:
    session_id, token = demo.cookies["sessionid"], demo.token
    demo.logout()
    assert open_with(wire, cookie_header(sessionid=session_id)).cookie("csrftoken") != token


def test_opening_never_logs_anyone_out(demo: Caller) -> None:
    for cookies in ({}, demo.cookies, {"sessionid": demo.cookies["sessionid"]}, {"csrftoken": demo.token}):
        Caller(demo.wire, dict(cookies)).open()
    assert demo.call("GetUrlList").status == 200


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_opening_writes_nothing(wire: InProcess, data: Path, method: str) -> None:
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
            assert wire.send(method, "/api/", cookies).status == 200
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
    visitor: Caller, changes: dict[str, str | None], error: str, logged_in: bool
) -> None:
    visitor.open()
    if logged_in:
        visitor.login()
    reply = visitor.login(**changes)  # type: ignore[arg-type]
    assert (reply.error, reply.set_cookies) == (error, {})
    assert visitor.call("GetUrlList").status == (200 if logged_in else 401)


def test_a_throttled_login_changes_no_cookie_and_no_session(demo: Caller) -> None:
    for _ in range(10):
        demo.login(password="wrong")
    reply = demo.login()
    assert (reply.error, reply.set_cookies) == ("too_many_requests", {})
    assert demo.call("GetUrlList").status == 200


def test_a_disabled_accounts_login_changes_no_cookie(visitor: Caller, data: Path) -> None:
    change_account(data, "demo", disabled=True)
    visitor.open()
    reply = visitor.login()
    assert (reply.error, reply.set_cookies) == ("invalid_credentials", {})


# Several of one name, and foreign ones.


def call_with(wire: InProcess, cookie: str | list[str], token: str) -> Reply:
    lines = [cookie] if isinstance(cookie, str) else cookie
    return post_action(wire, [*(("Cookie", line) for line in lines), ("X-CSRFToken", token)])


@pytest.mark.parametrize("position", range(5))
@pytest.mark.parametrize("others", [STALE_SESSION, ANONYMOUS, "x"])
def test_the_live_session_counts_wherever_it_stands_among_four(
    wire: InProcess, demo: Caller, position: int, others: str
) -> None:
    values = [others] * 4
    values.insert(position, demo.cookies["sessionid"])
    pairs = [f"sessionid={value}" for value in values] + [f"csrftoken={demo.token}"]
    reply = call_with(wire, "; ".join(pairs), demo.token)
    assert reply.status == (200 if position < 4 else 401)


def test_of_two_live_sessions_the_first_counts(wire: InProcess, demo: Caller) -> None:
    other = Caller(wire)
    other.login("other", "console-other")
    tokens = f"csrftoken={demo.token}; csrftoken={other.token}"
    line = f"sessionid={other.cookies['sessionid']}; sessionid={demo.cookies['sessionid']}; {tokens}"
    assert call_with(wire, line, other.token).status == 200
    assert call_with(wire, line, demo.token).error == "csrf_failed"


def test_a_foreign_live_session_does_not_take_the_place_of_the_one_whose_token_came_along(
    wire: InProcess, demo: Caller
) -> None:
    foreign = Caller(wire)
    foreign.login("other", "console-other")
    own_id = demo.cookies["sessionid"]
    line = f"sessionid={foreign.cookies['sessionid']}; sessionid={own_id}; csrftoken={demo.token}"
    assert call_with(wire, line, demo.token).status == 200
    assert open_with(wire, [("Cookie", line)]).cookie("sessionid") == own_id


def test_a_planted_token_does_not_take_the_place_of_the_sessions_own(wire: InProcess, demo: Caller) -> None:
    planted = Caller(wire).open().cookie("csrftoken")
    line = f"csrftoken={planted}; sessionid={demo.cookies['sessionid']}; csrftoken={demo.token}"
    assert open_with(wire, [("Cookie", line)]).cookie("csrftoken") == demo.token


@pytest.mark.parametrize("position", range(5))
def test_the_sessions_token_counts_wherever_it_stands_among_four(wire: InProcess, demo: Caller, position: int) -> None:
    values = ["0" * 64, "x", "1" * 64, "2" * 64]
    values.insert(position, demo.token)
    pairs = [f"csrftoken={value}" for value in values] + [f"sessionid={demo.cookies['sessionid']}"]
    reply = call_with(wire, "; ".join(pairs), demo.token)
    assert reply.status == (200 if position < 4 else 403)


@pytest.mark.parametrize("position", range(5))
def test_at_login_the_token_that_equals_the_field_counts_among_four(wire: InProcess, position: int) -> None:
    values = [Caller(wire).open().cookie("csrftoken") or "" for _ in range(5)]
    cookie = "; ".join(f"csrftoken={value}" for value in values)
    fields = login_fields(wire, csrfmiddlewaretoken=values[position])
    reply = post_login(wire, [("Cookie", cookie)], fields)
    assert reply.status == (200 if position < 4 else 403)


def test_opening_keeps_the_live_session_among_several(wire: InProcess, demo: Caller) -> None:
    session_id = demo.cookies["sessionid"]
    cookie = f"sessionid={ANONYMOUS}; sessionid={STALE_SESSION}; sessionid={session_id}"
    assert open_with(wire, [("Cookie", cookie)]).cookie("sessionid") == session_id


def test_opening_keeps_the_valid_token_among_several(wire: InProcess, visitor: Caller) -> None:
    visitor.open()
    cookie = f"csrftoken={'0' * 64}; csrftoken={visitor.token}"
    assert open_with(wire, [("Cookie", cookie)]).cookie("csrftoken") == visitor.token


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
@pytest.mark.parametrize("in_front", [True, False])
def test_foreign_cookies_break_neither_login_nor_calls(
    wire: InProcess, visitor: Caller, foreign: str, in_front: bool
) -> None:
    def line(**cookies: str | None) -> str:
        ours = "; ".join(f"{name}={value}" for name, value in cookies.items())
        return "; ".join([foreign, ours] if in_front else [ours, foreign])

    token = open_with(wire, [("Cookie", foreign)]).cookie("csrftoken") or ""
    reply = post_login(wire, [("Cookie", line(csrftoken=token))], login_fields(wire, csrfmiddlewaretoken=token))
    assert reply.status == 200
    assert call_with(wire, line(sessionid=reply.cookie("sessionid"), csrftoken=token), token).status == 200


def test_quoted_cookies_are_read(wire: InProcess, visitor: Caller) -> None:
    token = visitor.open().cookie("csrftoken") or ""
    fields = login_fields(wire, csrfmiddlewaretoken=token)
    reply = post_login(wire, [("Cookie", f'csrftoken="{token}"')], fields)
    assert reply.status == 200
    line = f'$Version=1; sessionid="{reply.cookie("sessionid")}"; $Path="/"; csrftoken="{token}"'
    assert call_with(wire, line, token).status == 200


@pytest.mark.parametrize("separator", [";", " ; ", ";  ", ";\t"])
def test_the_space_between_cookies_does_not_matter(wire: InProcess, demo: Caller, separator: str) -> None:
    line = separator.join(f"{name}={value}" for name, value in demo.cookies.items())
    assert call_with(wire, line, demo.token).status == 200


def test_several_cookie_headers_are_read_as_one(wire: InProcess, demo: Caller) -> None:
    lines = ["a=1", f"sessionid={demo.cookies['sessionid']}", "b=2", f"csrftoken={demo.token}"]
    assert call_with(wire, lines, demo.token).status == 200


def test_a_stale_session_cookie_does_not_stand_in_the_way_of_a_login(visitor: Caller) -> None:
    visitor.open()
    visitor.cookies["sessionid"] = STALE_SESSION
    assert visitor.login().status == 200
    assert visitor.call("GetUrlList").status == 200


@hypothesis_settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.text(st.characters(max_codepoint=255), max_size=60), max_size=12).map(";".join))
def test_reading_any_header_gives_only_letters_and_digits(header: str) -> None:
    cookies = read_cookies(header)
    for values in cookies:
        assert len(values) <= 4
        assert all(re.fullmatch(r"[A-Za-z0-9]+", value) for value in values)


@hypothesis_settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text(st.characters(max_codepoint=255, exclude_characters=";"), max_size=30), max_size=5),
    st.lists(st.text(st.characters(max_codepoint=255, exclude_characters=";"), max_size=30), max_size=5),
)
def test_a_lone_cookie_is_found_among_any_others(before: list[str], after: list[str]) -> None:
    others = [pair for pair in (*before, *after) if not pair.strip().startswith(("sessionid", "csrftoken"))]
    half = len(before) if len(others) == len(before) + len(after) else 0
    header = ";".join([*others[:half], " sessionid=abc123", *others[half:]])
    assert read_cookies(header) == (["abc123"], [])


def test_cookies_after_the_first_2048_are_ignored() -> None:
    assert read_cookies("a=b;" * 2047 + "sessionid=abc123").sessions == ["abc123"]
    assert read_cookies("a=b;" * 2048 + "sessionid=abc123").sessions == []
