"""Cookies: which are stored, where they are sent, and cookies of late responses."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cloudconsole import Console, SavedCookie
from cloudconsole.client.cookies import MAX_COOKIES, CookieJar, csrf_token
from tests.client.conftest import run_concurrently
from tests.client.scripted_server import LOGGED_IN, Canned, ReceivedRequest, Script, envelope
from tests.e2e.processes import eventually

BASE = "https://console.example.com"


def jar_with(*lines: str, base: str = BASE) -> CookieJar:
    jar = CookieJar(base)
    jar.take(lines, 0)
    return jar


def sent(jar: CookieJar, path: str = "/api/") -> dict[str, str]:
    return {cookie.name: cookie.value for cookie in jar.sent_to(path)}


class TestCookieJar:
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
    def test_cookie_is_stored_and_sent(self, line: str) -> None:
        assert sent(jar_with(line)) == {"a": "1"}

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
    def test_cookie_is_not_stored_or_not_sent_to_the_api(self, line: str) -> None:
        assert sent(jar_with(line)) == {}

    @pytest.mark.parametrize(
        ("base", "lines", "expected"),
        [
            # Replaced and deleted.
            (BASE, ["a=1", "b=1", "a=2; Path=/", "b=; Max-Age=0"], {"a": "2"}),
            # A console under a path.
            (f"{BASE}/console", ["a=1; Path=/console/", "b=1; Path=/api/"], {"a": "1"}),
            # The domain may be the host itself.
            ("http://localhost", ["a=1; Domain=localhost"], {"a": "1"}),
            ("http://127.0.0.1", ["a=1; Domain=127.0.0.1"], {"a": "1"}),
            ("http://[::1]", ["a=1; Domain=::1"], {"a": "1"}),
            # Secure cookies are sent over HTTPS, or to this machine.
            ("https://console", ["a=1; Secure"], {"a": "1"}),
            ("http://console", ["a=1; Secure"], {}),
            ("http://localhost:8000", ["a=1; Secure"], {"a": "1"}),
            ("http://127.0.0.1", ["a=1; Secure"], {"a": "1"}),
            ("http://[::1]:80", ["a=1; Secure"], {"a": "1"}),
            ("http://192.0.2.1", ["a=1; Secure"], {}),
        ],
    )
    def test_cookies_sent_to_the_api(self, base: str, lines: list[str], expected: dict[str, str]) -> None:
        assert sent(jar_with(*lines, base=base)) == expected

    def test_most_specific_path_comes_first(self) -> None:
        jar = jar_with("csrftoken=far; Path=/", "csrftoken=near; Path=/api")
        assert csrf_token(jar.sent_to("/api/")) == "near"
        assert csrf_token(jar.sent_to("/auth/login/")) == "far"

    def test_number_of_cookies_is_limited(self) -> None:
        jar = jar_with(*(f"c{number}=1" for number in range(1000)))
        assert len(jar.all()) == MAX_COOKIES

    def test_cookies_of_another_era_are_ignored(self) -> None:
        jar = CookieJar(BASE)
        jar.begin_era()
        jar.take(["a=late"], 0)
        jar.take(["b=never"], None)
        jar.take(["c=now"], jar.era)
        assert sent(jar) == {"c": "now"}

    def test_saved_cookie_is_restored_unchanged(self) -> None:
        saved = SavedCookie(name="a", value="1", path="/api/", secure=True, expires=1.0)
        assert CookieJar(BASE, [saved]).all() == (saved,)


class TestLateResponses:
    """Some consoles delete an ended session's cookie in every response, and responses may arrive out of order."""

    ENDED = envelope({}, code=401, headers=[("Set-Cookie", "sessionid=; Max-Age=0; Path=/")])
    DONE = envelope({})

    @pytest.fixture
    def late(self) -> threading.Event:
        return threading.Event()

    def test_late_rejection_does_not_delete_the_new_session(
        self, client: Console, scripted: Script, late: threading.Event
    ) -> None:
        client.call("GetIt")
        scripted.actions = [replace(self.ENDED, after=late), self.ENDED, self.DONE]
        slow = start(lambda: client.call("GetIt"))
        eventually(lambda: len(scripted.action_requests) == 2)
        client.call("GetIt")
        late.set()
        slow()
        assert len(scripted.logins) == 2
        assert scripted.action_requests[-1].cookies["sessionid"] == "guest"

    def test_many_late_rejections_cause_one_new_login(
        self, client: Console, scripted: Script, late: threading.Event
    ) -> None:
        scripted.login = [Canned(200, headers=[("Set-Cookie", f"sessionid={name}; Path=/")]) for name in ("old", "new")]
        client.call("GetIt")
        rejections = iter([self.ENDED] * 5)

        def by_session(request: ReceivedRequest) -> Canned:
            if request.cookies.get("sessionid") == "new":
                late.set()
                return self.DONE
            return next(rejections, replace(self.ENDED, after=late))

        scripted.rule = by_session
        assert run_concurrently(20, lambda: client.call("GetIt")) == [{}] * 20
        assert len(scripted.logins) == 2

    def test_late_opening_does_not_replace_the_new_session(
        self, client: Console, scripted: Script, late: threading.Event
    ) -> None:
        (opened,) = scripted.opening
        scripted.opening = [replace(opened, after=late), opened]
        slow = start(client.about)
        eventually(lambda: len(scripted.requests) == 1)
        client.login()
        late.set()
        slow()
        client.call("GetIt")
        assert scripted.action_requests[-1].cookies["sessionid"] == "guest"

    def test_late_response_after_logout_leaves_no_cookie(
        self, client: Console, scripted: Script, late: threading.Event
    ) -> None:
        client.call("GetIt")
        scripted.actions = [Canned(200, self.DONE.body, LOGGED_IN.headers, late)]
        slow = start(lambda: client.call("GetIt"))
        eventually(lambda: len(scripted.action_requests) == 2)
        client.logout()
        late.set()
        slow()
        client.login()
        assert scripted.requests[-2].cookies == {}


def start(call: Callable[[], Any]) -> Callable[[], None]:
    """Start a call in a thread; return a function that waits for it."""
    thread = threading.Thread(target=call)
    thread.start()
    return thread.join
