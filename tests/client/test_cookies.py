"""Cookies: which are taken, which go where, and those that come too late."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from cloudconsole import SavedCookie
from cloudconsole.client.cookies import MAX_COOKIES, CookieJar, csrf_token
from tests.client.conftest import Connect
from tests.client.scripted_server import LOGGED_IN, Canned, ScriptedServer, Seen, envelope
from tests.client.sync_async import together
from tests.e2e.processes import eventually

BASE = "https://console.example.com"


def cookies(*lines: str, base: str = BASE) -> CookieJar:
    taken = CookieJar(base)
    taken.take(lines, 0)
    return taken


def sent(taken: CookieJar, path: str = "/api/") -> dict[str, str]:
    return {cookie.name: cookie.value for cookie in taken.sent_to(path)}


@pytest.mark.parametrize(
    "line",
    [
        "a=1",
        "a=1; Path=/",
        "a=1; Path=/api",
        "a=1; Path=/api/",
        "a=1; path=nowhere",
        "a=1; Domain=console.example.com",
        "a=1; DOMAIN=.Example.com",
        "a=1; Secure; HttpOnly; SameSite=Lax",
        "a=1; Max-Age=60",
        "a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        "a=1; Expires=Fri, 31 Dec 2199 00:00:00 GMT",
        "a=1; Expires=Fri, 31-Dec-2199 00:00:00 GMT",
        "a=1; Expires=some day",
        "a=1; Max-Age=soon",
        " a = 1 ;;",
    ],
)
def test_taken_and_sent(line: str) -> None:
    assert sent(cookies(line)) == {"a": "1"}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "a",
        "=1",
        "a=é",
        "a=1\x01",
        "a=1; Domain=example.org",
        "a=1; Domain=other.console.example.com",
        "a=1; Path=/apis",
        "a=1; Path=/auth/",
        "a=1; Max-Age=0",
        "a=1; Max-Age=-5",
        "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        "a=" + "1" * 5000,
    ],
)
def test_not_taken_or_not_sent_to_calls(line: str) -> None:
    assert sent(cookies(line)) == {}


def test_one_is_replaced_and_taken_away() -> None:
    taken = cookies("a=1", "b=1", "a=2; Path=/", "b=; Max-Age=0")
    assert sent(taken) == {"a": "2"}


def test_the_nearest_path_comes_first() -> None:
    taken = cookies("csrftoken=far; Path=/", "csrftoken=near; Path=/api")
    assert csrf_token(taken.sent_to("/api/")) == "near"
    assert csrf_token(taken.sent_to("/auth/login/")) == "far"


@pytest.mark.parametrize(
    ("base", "is_sent"),
    [
        ("https://console", True),
        ("http://console", False),
        ("http://localhost:8000", True),
        ("http://127.0.0.1", True),
        ("http://[::1]:80", True),
        ("http://192.0.2.1", False),
    ],
)
def test_a_secure_one_goes_over_https_or_to_this_machine(base: str, is_sent: bool) -> None:
    assert bool(sent(cookies("a=1; Secure", base=base))) is is_sent


@pytest.mark.parametrize("base", ["http://localhost", "http://127.0.0.1", "http://[::1]"])
def test_a_domain_that_is_the_host_itself(base: str) -> None:
    host = base.removeprefix("http://").strip("[]")
    assert sent(cookies(f"a=1; Domain={host}", base=base)) == {"a": "1"}


def test_a_console_under_a_path() -> None:
    taken = cookies("a=1; Path=/console/", "b=1; Path=/api/", base=f"{BASE}/console")
    assert sent(taken) == {"a": "1"}


def test_they_do_not_grow_without_bound() -> None:
    taken = cookies(*(f"c{number}=1" for number in range(1000)))
    assert len(taken.all()) == MAX_COOKIES


def test_what_was_asked_for_in_another_era_is_not_taken() -> None:
    taken = CookieJar(BASE)
    taken.begin_era()
    taken.take(["a=late"], 0)
    taken.take(["b=never"], None)
    taken.take(["c=now"], taken.era)
    assert sent(taken) == {"c": "now"}


def test_a_kept_one_is_as_it_was() -> None:
    kept = SavedCookie(name="a", value="1", path="/api/", secure=True, expires=1.0)
    assert CookieJar(BASE, [kept]).all() == (kept,)


class TestLateAnswers:
    """Some consoles take a dead session's cookie away with every answer, and answers may overtake each other."""

    GONE = envelope({}, code=401, headers=[("Set-Cookie", "sessionid=; Max-Age=0; Path=/")])
    DONE = envelope({})

    def late(self, delay: float) -> Canned:
        return Canned(200, self.GONE.body, self.GONE.headers, delay)

    def test_a_refusal_that_is_late_takes_no_new_session_away(self, guest: Any, other: ScriptedServer) -> None:
        guest.call("GetIt")
        other.actions = [self.late(0.6), self.GONE, self.DONE]
        slow = started(lambda: guest.call("GetIt"))
        eventually(lambda: len(other.calls) == 2)
        guest.call("GetIt")
        slow()
        assert len(other.logins) == 2
        assert other.calls[-1].cookies["sessionid"] == "guest"

    def test_many_of_them(self, guest: Any, other: ScriptedServer) -> None:
        other.login = [Canned(200, headers=[("Set-Cookie", f"sessionid={name}; Path=/")]) for name in ("old", "new")]
        guest.call("GetIt")
        delays = iter(range(100))

        def by_session(seen: Seen) -> Canned:
            return self.DONE if seen.cookies.get("sessionid") == "new" else self.late(next(delays) * 0.02)

        other.rule = by_session
        assert together(20, lambda: guest.call("GetIt")) == [{}] * 20
        assert len(other.logins) == 2

    def test_an_opening_that_is_late_replaces_no_new_session(self, connect: Connect, other: ScriptedServer) -> None:
        welcome = other.opening[0]
        other.opening = [Canned(200, headers=welcome.headers, delay=0.6), welcome]
        guest = connect(other.base, region="r", username="guest", password="secret")
        slow = started(guest.about)
        eventually(lambda: len(other.seen) == 1)
        guest.login()
        slow()
        guest.call("GetIt")
        assert other.calls[-1].cookies["sessionid"] == "guest"

    def test_after_a_logout_nothing_is_left(self, guest: Any, other: ScriptedServer) -> None:
        guest.call("GetIt")
        other.actions = [Canned(200, self.DONE.body, LOGGED_IN.headers, 0.6)]
        slow = started(lambda: guest.call("GetIt"))
        eventually(lambda: len(other.calls) == 2)
        guest.logout()
        slow()
        guest.login()
        assert other.seen[-2].cookies == {}


def started(call: Callable[[], Any]) -> Callable[[], None]:
    """Something in a thread of its own; gives what waits for it."""
    thread = threading.Thread(target=call)
    thread.start()
    return thread.join
