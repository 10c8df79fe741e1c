"""Throttling: who waits after how many failures, for how long, and who never does; the order of a login's checks."""

import re
from collections import Counter
from collections.abc import Coroutine
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest

from cloudconsole.backends.embedded import identity
from cloudconsole.backends.embedded.identity import QUEUE_LIMIT
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.passwords import password_matches
from cloudconsole.store.tables import access_audit, login_failures
from tests.harness import FORM, JSON, Caller, HeaderPairs, HeldClock, InProcess, Reply
from tests.server.http.conftest import StartConsole
from tests.server.http.world import change_account, cookie_header, login_fields, rows

WINDOW: Final = 300
USER_LIMIT: Final = 10
ADDRESS_LIMIT: Final = 100


class Guesser:
    """Someone who tries passwords, from an address of choice."""

    def __init__(self, wire: InProcess, address: str = "192.0.2.10") -> None:
        self.wire = wire
        self.address = address
        self.token = Caller(wire).open().cookie("csrftoken") or ""

    def request(self, username: str, password: str, forwarded_for: str | None = None) -> tuple[HeaderPairs, bytes]:
        headers = [("Content-Type", FORM), *cookie_header(csrftoken=self.token)]
        if forwarded_for is not None:
            headers.append(("X-Forwarded-For", forwarded_for))
        fields = login_fields(self.wire, username, password=password, csrfmiddlewaretoken=self.token)
        return headers, urlencode(fields).encode()

    def guess(self, username: str = "demo", password: str = "wrong", forwarded_for: str | None = None) -> Reply:
        self.wire.address = self.address
        return self.wire.send("POST", "/auth/login/", *self.request(username, password, forwarded_for))

    def later(self, username: str = "demo", password: str = "wrong") -> Coroutine[Any, Any, Reply]:
        return self.wire.asend("POST", "/auth/login/", *self.request(username, password))

    def fail(self, times: int, username: str = "demo") -> None:
        for _ in range(times):
            assert self.guess(username).error == "invalid_credentials"

    def fail_as_many(self, users: int, *, first: int = 0) -> None:
        for number in range(first, first + users):
            self.fail(1, f"user{number}")


@pytest.fixture
def guesser(wire: InProcess) -> Guesser:
    return Guesser(wire)


RIGHT: Final = ("demo", "console-demo")


# One user from one address.


def test_the_tenth_failure_is_still_an_answer_and_the_eleventh_attempt_waits(guesser: Guesser) -> None:
    guesser.fail(USER_LIMIT)
    assert guesser.guess().error == "too_many_requests"


def test_after_nine_failures_the_right_password_is_let_in(guesser: Guesser) -> None:
    guesser.fail(USER_LIMIT - 1)
    assert guesser.guess(*RIGHT).status == 200


def test_past_the_limit_the_right_password_waits_too(guesser: Guesser) -> None:
    guesser.fail(USER_LIMIT)
    assert guesser.guess(*RIGHT).error == "too_many_requests"


def test_another_user_from_the_same_address_does_not_wait(guesser: Guesser) -> None:
    guesser.fail(USER_LIMIT)
    assert guesser.guess("other", "console-other").status == 200


def test_the_same_user_from_another_address_does_not_wait(wire: InProcess, guesser: Guesser) -> None:
    guesser.fail(USER_LIMIT)
    assert Guesser(wire, "192.0.2.11").guess(*RIGHT).status == 200


def test_a_session_that_is_live_goes_on(demo: Caller, guesser: Guesser) -> None:
    guesser.fail(USER_LIMIT)
    assert demo.call("GetUrlList").status == 200


def test_known_and_unknown_users_wait_alike(wire: InProcess) -> None:
    known, unknown = Guesser(wire, "192.0.2.10"), Guesser(wire, "192.0.2.11")
    known.fail(USER_LIMIT)
    unknown.fail(USER_LIMIT, "nobody")
    first, second = known.guess(), unknown.guess("nobody")
    assert first.error == "too_many_requests"
    assert (first.status, first.body, first.header("Retry-After")) == (
        second.status,
        second.body,
        second.header("Retry-After"),
    )


@pytest.mark.parametrize("username", ["Demo", "DEMO", "demo ", " demo", "ｄｅｍｏ"])
def test_another_spelling_is_another_user(guesser: Guesser, username: str) -> None:
    assert guesser.guess(username, "console-demo").error == "invalid_credentials"
    guesser.fail(USER_LIMIT - 1, username)
    assert guesser.guess(username).error == "too_many_requests"
    assert guesser.guess(*RIGHT).status == 200


# What counts.


def test_a_429_does_not_count(guesser: Guesser, clock: HeldClock, data: Path) -> None:
    guesser.fail(USER_LIMIT)
    clock.moment += 100
    for _ in range(30):
        assert guesser.guess().error == "too_many_requests"
    assert len(rows(data, login_failures)) == USER_LIMIT
    clock.moment += WINDOW - 100
    assert guesser.guess(*RIGHT).status == 200


def test_a_429_is_no_failure_in_the_trail(guesser: Guesser, data: Path) -> None:
    guesser.fail(USER_LIMIT)
    guesser.guess()
    assert [row.event for row in rows(data, access_audit)] == ["login_refused"] * USER_LIMIT


def test_a_success_clears_the_users_count(guesser: Guesser) -> None:
    for _ in range(3):
        guesser.fail(USER_LIMIT - 1)
        assert guesser.guess(*RIGHT).status == 200


def test_a_success_does_not_clear_another_users_count(guesser: Guesser) -> None:
    guesser.fail(USER_LIMIT - 1, "other")
    assert guesser.guess(*RIGHT).status == 200
    guesser.fail(1, "other")
    assert guesser.guess("other", "console-other").error == "too_many_requests"


def test_a_success_does_not_clear_the_count_of_another_address(wire: InProcess, guesser: Guesser) -> None:
    guesser.fail(USER_LIMIT)
    assert Guesser(wire, "192.0.2.11").guess(*RIGHT).status == 200
    assert guesser.guess(*RIGHT).error == "too_many_requests"


def test_ones_own_successes_do_not_wash_away_failures_of_others(guesser: Guesser) -> None:
    for number in range(ADDRESS_LIMIT):
        guesser.fail(1, f"user{number}")
        if number % 9 == 0 and number < ADDRESS_LIMIT - 1:
            assert guesser.guess(*RIGHT).status == 200
    assert guesser.guess(*RIGHT).error == "too_many_requests"


def test_successes_never_make_anyone_wait(guesser: Guesser, data: Path) -> None:
    for _ in range(ADDRESS_LIMIT + 5):
        assert guesser.guess(*RIGHT).status == 200
    assert rows(data, login_failures) == []


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"csrfmiddlewaretoken": "0" * 64}, "csrf_failed"),
        ({"password": ""}, "missing_field"),
        ({"region": "https://elsewhere.example"}, "unknown_region"),
    ],
)
def test_what_never_reached_the_password_does_not_count(
    visitor: Caller, data: Path, changes: dict[str, str], error: str
) -> None:
    for _ in range(USER_LIMIT + 1):
        assert visitor.login(**changes).error == error
    assert rows(data, login_failures) == []
    assert visitor.login().status == 200


# One address.


def test_after_a_hundred_failures_the_address_waits_whoever_it_asks_for(wire: InProcess, guesser: Guesser) -> None:
    guesser.fail_as_many(ADDRESS_LIMIT)
    assert guesser.guess("never-tried").error == "too_many_requests"
    assert guesser.guess(*RIGHT).error == "too_many_requests"
    assert Guesser(wire, "192.0.2.11").guess(*RIGHT).status == 200


def test_after_ninety_nine_failures_the_address_does_not_wait(guesser: Guesser) -> None:
    guesser.fail_as_many(ADDRESS_LIMIT - 1)
    assert guesser.guess(*RIGHT).status == 200


def test_the_address_waits_until_its_hundredth_newest_failure_is_old(guesser: Guesser, clock: HeldClock) -> None:
    guesser.fail_as_many(1)
    clock.moment += 10
    guesser.fail_as_many(ADDRESS_LIMIT - 1, first=1)
    clock.moment += WINDOW - 11
    assert guesser.guess(*RIGHT).header("Retry-After") == "1"
    clock.moment += 1
    assert guesser.guess(*RIGHT).status == 200


@pytest.mark.parametrize(
    ("first", "second", "is_one"),
    [
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff:ffff:ffff:ffff", True),
        ("2001:db8:0:1::1", "2001:DB8:0:1:0:0:0:2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("::ffff:192.0.2.77", "192.0.2.77", True),
        ("::ffff:c000:24d", "192.0.2.77", True),
        ("::ffff:192.0.2.77", "::ffff:192.0.2.78", False),
        ("192.0.2.77", "192.0.2.78", False),
        ("192.0.2.77", "192.0.2.77", True),
    ],
)
def test_which_addresses_are_one(wire: InProcess, first: str, second: str, is_one: bool) -> None:
    Guesser(wire, first).fail(USER_LIMIT)
    assert Guesser(wire, second).guess(*RIGHT).status == (429 if is_one else 200)


def test_a_whole_ipv6_network_shares_the_hundred(wire: InProcess, guesser: Guesser) -> None:
    for number in range(ADDRESS_LIMIT):
        guesser.address = f"2001:db8::{number:x}"
        guesser.fail(1, f"user{number}")
    guesser.address = "2001:db8::ffff"
    assert guesser.guess(*RIGHT).error == "too_many_requests"
    guesser.address = "2001:db8:0:1::"
    assert guesser.guess(*RIGHT).status == 200


# The window and the wait.


def test_a_failure_counts_until_five_minutes_are_over(guesser: Guesser, clock: HeldClock) -> None:
    guesser.fail(USER_LIMIT)
    clock.moment += WINDOW - 1
    assert guesser.guess(*RIGHT).error == "too_many_requests"


def test_a_failure_no_longer_counts_when_five_minutes_are_over(guesser: Guesser, clock: HeldClock) -> None:
    guesser.fail(USER_LIMIT)
    clock.moment += WINDOW
    assert guesser.guess(*RIGHT).status == 200


def test_the_window_slides(guesser: Guesser, clock: HeldClock) -> None:
    for _ in range(USER_LIMIT):
        guesser.fail(1)
        clock.moment += 20
    # The first was 200 seconds ago; when it is 300 there is room for one more attempt, and no second one.
    assert guesser.guess().error == "too_many_requests"
    clock.moment += 100
    guesser.fail(1)
    assert guesser.guess().error == "too_many_requests"
    clock.moment += 20
    guesser.fail(1)
    assert guesser.guess().error == "too_many_requests"


@pytest.mark.parametrize(("waited", "told"), [(0, 60), (100, 60), (239, 60), (240, 60), (241, 59), (290, 10), (299, 1)])
def test_retry_after_is_what_is_left_and_a_minute_at_most(
    guesser: Guesser, clock: HeldClock, waited: int, told: int
) -> None:
    guesser.fail(USER_LIMIT)
    clock.moment += waited
    reply = guesser.guess()
    assert reply.error == "too_many_requests"
    assert reply.header("Retry-After") == str(told)
    assert re.findall(r"[0-9]+", reply.envelope["message"]) == [str(told)]


def test_of_two_waits_the_longer_is_told(guesser: Guesser, clock: HeldClock) -> None:
    guesser.fail_as_many(ADDRESS_LIMIT - USER_LIMIT)
    clock.moment += 20
    guesser.fail(USER_LIMIT)
    clock.moment += 270
    assert guesser.guess("other").header("Retry-After") == "10"
    assert guesser.guess("demo").header("Retry-After") == "30"
    clock.moment += 10
    assert guesser.guess("other").error == "invalid_credentials"
    assert guesser.guess("demo").header("Retry-After") == "20"


def test_a_429_has_no_retry_after_of_a_fraction(guesser: Guesser, clock: HeldClock) -> None:
    guesser.fail(USER_LIMIT)
    clock.moment += WINDOW - 0.25
    assert guesser.guess().header("Retry-After") == "1"


def test_only_429_carries_retry_after(guesser: Guesser) -> None:
    assert guesser.guess().header("Retry-After") is None
    assert guesser.guess(*RIGHT).header("Retry-After") is None


def test_old_failures_are_cleared_away_by_the_next_one(guesser: Guesser, clock: HeldClock, data: Path) -> None:
    guesser.fail(5)
    clock.moment += WINDOW
    guesser.fail(1)
    assert len(rows(data, login_failures)) == 1


def test_there_is_no_lock_that_outlasts_the_window(guesser: Guesser, clock: HeldClock) -> None:
    for _ in range(5):
        guesser.fail(USER_LIMIT)
        assert guesser.guess().error == "too_many_requests"
        clock.moment += WINDOW
    assert guesser.guess(*RIGHT).status == 200


# Several at once, and several workers.


def statuses(replies: list[Reply]) -> Counter[int]:
    return Counter(reply.status for reply in replies)


AT_ONCE = QUEUE_LIMIT // 4
"""The share of a network in the queue once a login from it has failed, which PostgreSQL tells while others wait."""


def test_of_many_wrong_guesses_at_once_ten_are_answered(wire: InProcess, guesser: Guesser) -> None:
    replies = wire.together(*(guesser.later() for _ in range(AT_ONCE)))
    assert statuses(replies) == {401: USER_LIMIT, 429: AT_ONCE - USER_LIMIT}


def test_a_right_guess_behind_many_wrong_ones_waits_though_it_was_sent_with_them(
    wire: InProcess, guesser: Guesser
) -> None:
    guesser.fail(1)  # so that all of them are in one tier, and in order
    *wrong, right = wire.together(*(guesser.later() for _ in range(AT_ONCE - 1)), guesser.later(*RIGHT))
    assert statuses(wrong) == {401: USER_LIMIT - 1, 429: AT_ONCE - USER_LIMIT}
    assert right.error == "too_many_requests"
    assert right.set_cookies == {}


def test_right_guesses_at_once_are_all_let_in(wire: InProcess, guesser: Guesser) -> None:
    assert statuses(wire.together(*(guesser.later(*RIGHT) for _ in range(40)))) == {200: 40}


def test_workers_count_together(
    wire: InProcess, guesser: Guesser, settings: Settings, start_console: StartConsole
) -> None:
    elsewhere = Guesser(start_console(settings))
    guesser.fail(5)
    elsewhere.fail(5)
    assert guesser.guess(*RIGHT).error == "too_many_requests"
    assert elsewhere.guess(*RIGHT).error == "too_many_requests"


def test_a_success_at_one_worker_clears_the_count_of_all(
    guesser: Guesser, settings: Settings, start_console: StartConsole
) -> None:
    elsewhere = Guesser(start_console(settings))
    guesser.fail(USER_LIMIT - 1)
    assert elsewhere.guess(*RIGHT).status == 200
    guesser.fail(USER_LIMIT - 1)


def test_workers_count_together_also_at_the_same_moment(
    wire: InProcess, guesser: Guesser, settings: Settings, start_console: StartConsole
) -> None:
    elsewhere = Guesser(start_console(settings, beside=wire))
    replies = wire.together(*(someone.later() for _ in range(20) for someone in (guesser, elsewhere)))
    assert statuses(replies) == {401: USER_LIMIT, 429: 40 - USER_LIMIT}


def test_the_count_survives_a_restart(guesser: Guesser, settings: Settings, start_console: StartConsole) -> None:
    guesser.fail(USER_LIMIT)
    assert Guesser(start_console(settings)).guess(*RIGHT).error == "too_many_requests"


# One wording, one timing.


@pytest.mark.parametrize("language", ["en", "zh"])
def test_wrong_password_unknown_user_and_disabled_account_answer_word_for_word_the_same(
    guesser: Guesser, data: Path, language: str
) -> None:
    change_account(data, "other", disabled=True)
    replies = []
    for username, password in (("demo", "wrong"), ("nobody", "wrong"), ("other", "console-other"), ("other", "wrong")):
        headers, body = guesser.request(username, password)
        reply = guesser.wire.send("POST", "/auth/login/", [*headers, ("Accept-Language", language)], body)
        assert reply.error == "invalid_credentials"
        replies.append(reply)
    assert len({reply.body for reply in replies}) == 1
    told = [[(name, value) for name, value in reply.headers if name != "x-request-id"] for reply in replies]
    assert all(headers == told[0] for headers in told)


@pytest.mark.parametrize(
    ("username", "password"),
    [("demo", "wrong"), ("nobody", "wrong"), ("other", "console-other"), ("other", "wrong"), ("demo", "console-demo")],
)
def test_every_login_checks_one_password_against_one_hash(
    guesser: Guesser, data: Path, monkeypatch: pytest.MonkeyPatch, username: str, password: str
) -> None:
    change_account(data, "other", disabled=True)
    checked: list[str] = []

    def noting(password_hash: str, given: str) -> bool:
        checked.append(given)
        assert password_hash.startswith("$argon2id$")
        return password_matches(password_hash, given)

    monkeypatch.setattr(identity, "password_matches", noting)
    guesser.guess(username, password)
    assert checked == [password]


def test_a_throttled_login_checks_no_password(guesser: Guesser, monkeypatch: pytest.MonkeyPatch) -> None:
    guesser.fail(USER_LIMIT)
    checked: list[str] = []

    def noting(_hash: str, given: str) -> bool:
        checked.append(given)
        return True

    monkeypatch.setattr(identity, "password_matches", noting)
    guesser.guess(*RIGHT)
    assert checked == []


# The order of a login's checks.


def test_a_login_is_checked_in_order(wire: InProcess, guesser: Guesser, clock: HeldClock) -> None:
    guesser.fail(USER_LIMIT)
    headers = {"Host": "evil.example", "Content-Type": JSON, "Cookie": f"csrftoken={guesser.token}"}
    fields = {"csrfmiddlewaretoken": "0" * 64, "username": "", "password": "wrong", "region": "https://no.example"}
    padding = b"&x=" + b"y" * 70_000

    def send() -> str:
        wire.address = guesser.address
        reply = wire.send("POST", "/auth/login/", list(headers.items()), urlencode(fields).encode() + padding)
        return "let in" if reply.status == 200 else reply.error

    # Everything is wrong at first; each step mends what was complained about and nothing else.
    assert send() == "invalid_host"
    headers["Host"] = "127.0.0.1:8000"
    assert send() == "body_too_large"
    padding = b""
    assert send() == "unsupported_media_type"
    headers["Content-Type"] = FORM
    assert send() == "csrf_failed"
    fields["csrfmiddlewaretoken"] = guesser.token
    assert send() == "missing_field"
    fields["username"] = "demo"
    assert send() == "unknown_region"
    fields["region"] = f"{wire.base}/v3"
    assert send() == "too_many_requests"
    clock.moment += WINDOW
    assert send() == "invalid_credentials"
    fields["password"] = "console-demo"
    assert send() == "let in"


@pytest.mark.parametrize("origin", ["http://evil.example", "null"])
def test_a_foreign_origin_is_refused_before_any_field_is_looked_at(
    wire: InProcess, guesser: Guesser, origin: str
) -> None:
    headers = [("Content-Type", FORM), ("Origin", origin), *cookie_header(csrftoken=guesser.token)]
    body = f"csrfmiddlewaretoken={guesser.token}".encode()
    assert wire.send("POST", "/auth/login/", headers, body).error == "csrf_failed"


@pytest.mark.parametrize("field", ["username", "password", "region"])
@pytest.mark.parametrize("value", [None, ""])
def test_an_absent_or_empty_field_is_named(visitor: Caller, field: str, value: str | None) -> None:
    reply = visitor.login(**{field: value})  # type: ignore[arg-type]
    assert (reply.error, reply.envelope["field"]) == ("missing_field", field)


# Behind a proxy.


@pytest.fixture
def proxied(settings: Settings, start_console: StartConsole) -> Guesser:
    """Someone whose requests come through a proxy that the console is told of."""
    proxies = (ip_network("10.0.0.0/8"), ip_network("2001:db8:aaaa::/48"))
    return Guesser(start_console(replace(settings, proxies=proxies)), "10.0.0.1")


def fail_from(guesser: Guesser, *chains: str) -> None:
    for chain in chains:
        assert guesser.guess(forwarded_for=chain).error == "invalid_credentials"


def test_behind_a_proxy_the_forwarded_address_counts(proxied: Guesser) -> None:
    fail_from(proxied, *["203.0.113.1"] * USER_LIMIT)
    assert proxied.guess(*RIGHT, forwarded_for="203.0.113.1").error == "too_many_requests"
    assert proxied.guess(*RIGHT, forwarded_for="203.0.113.2").status == 200


def test_what_the_caller_put_in_front_of_the_chain_does_not_count(proxied: Guesser) -> None:
    fail_from(proxied, *(f"198.51.100.{number}, 203.0.113.1" for number in range(USER_LIMIT)))
    assert proxied.guess(*RIGHT, forwarded_for="198.51.100.99, 203.0.113.1").error == "too_many_requests"


def test_further_proxies_of_ours_are_passed_over(proxied: Guesser) -> None:
    fail_from(proxied, *["203.0.113.1, 10.3.2.1, 2001:db8:aaaa::7"] * USER_LIMIT)
    assert proxied.guess(*RIGHT, forwarded_for="203.0.113.1").error == "too_many_requests"


@pytest.mark.parametrize(
    "nearest", ["::ffff:203.0.113.1", "203.0.113.1:4711", "[::ffff:203.0.113.1]:4711", "[::ffff:cb00:7101]"]
)
def test_every_spelling_of_the_nearest_address_counts_as_that_address(proxied: Guesser, nearest: str) -> None:
    fail_from(proxied, *(f"198.51.100.{number}, {nearest}" for number in range(USER_LIMIT)))
    assert proxied.guess(*RIGHT, forwarded_for="203.0.113.1").error == "too_many_requests"


@pytest.mark.parametrize(
    "nearest", ["", "unknown", "a.b.c", "_hidden", "203.0.113.256", "[", "1.2.3", "::ffff:1.2.3.4.5"]
)
def test_an_entry_that_is_no_address_never_lets_the_caller_choose_one(proxied: Guesser, nearest: str) -> None:
    fail_from(proxied, *(f"198.51.100.{number}, {nearest}" for number in range(USER_LIMIT)))
    assert proxied.guess(*RIGHT, forwarded_for=f"198.51.100.99, {nearest}").error == "too_many_requests"


def test_a_chain_of_nothing_but_proxies_counts_as_the_proxy(proxied: Guesser) -> None:
    fail_from(proxied, *["10.0.0.3, 10.0.0.2"] * USER_LIMIT)
    assert proxied.guess(*RIGHT, forwarded_for="10.0.0.3").error == "too_many_requests"
    assert proxied.guess(*RIGHT).error == "too_many_requests"


def test_others_are_not_believed(proxied: Guesser) -> None:
    proxied.address = "192.0.2.50"
    fail_from(proxied, *(f"198.51.100.{number}" for number in range(USER_LIMIT)))
    assert proxied.guess(*RIGHT, forwarded_for="198.51.100.99").error == "too_many_requests"
    assert proxied.guess(*RIGHT).error == "too_many_requests"


def test_without_a_configured_proxy_nobody_is_believed(guesser: Guesser) -> None:
    guesser.address = "127.0.0.1"
    fail_from(guesser, *(f"198.51.100.{number}" for number in range(USER_LIMIT)))
    assert guesser.guess(*RIGHT, forwarded_for="198.51.100.99").error == "too_many_requests"


def test_the_trail_names_the_forwarded_address(proxied: Guesser, data: Path) -> None:
    proxied.guess(forwarded_for="198.51.100.1, 203.0.113.1")
    proxied.guess(forwarded_for="2001:db8:1:2:3::4")
    assert [row.address for row in rows(data, access_audit)] == ["203.0.113.1", "2001:db8:1:2:3::4"]
