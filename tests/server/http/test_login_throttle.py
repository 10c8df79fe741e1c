"""Login throttling: limits per user and address, Retry-After, workers and proxies; the order of a login's checks."""

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
from tests.harness import FORM, JSON, ApiClient, FakeClock, HeaderPairs, InProcessTransport, Reply
from tests.server.http.conftest import StartConsole
from tests.server.http.helpers import change_account, cookie_header, login_fields, rows

WINDOW: Final = 300
USER_LIMIT: Final = 10
ADDRESS_LIMIT: Final = 100


class Guesser:
    """Client that guesses passwords from a given address."""

    def __init__(self, transport: InProcessTransport, address: str = "192.0.2.10") -> None:
        self.transport = transport
        self.address = address
        self.token = ApiClient(transport).open().cookie("csrftoken") or ""

    def request(self, username: str, password: str, forwarded_for: str | None = None) -> tuple[HeaderPairs, bytes]:
        headers = [("Content-Type", FORM), *cookie_header(csrftoken=self.token)]
        if forwarded_for is not None:
            headers.append(("X-Forwarded-For", forwarded_for))
        fields = login_fields(self.transport, username, password=password, csrfmiddlewaretoken=self.token)
        return headers, urlencode(fields).encode()

    def guess(self, username: str = "demo", password: str = "wrong", forwarded_for: str | None = None) -> Reply:
        self.transport.address = self.address
        return self.transport.send("POST", "/auth/login/", *self.request(username, password, forwarded_for))

    def aguess(self, username: str = "demo", password: str = "wrong") -> Coroutine[Any, Any, Reply]:
        return self.transport.asend("POST", "/auth/login/", *self.request(username, password))

    def fail(self, times: int, username: str = "demo") -> None:
        for _ in range(times):
            assert self.guess(username).error == "invalid_credentials"

    def fail_as_users(self, users: int, *, first: int = 0) -> None:
        for number in range(first, first + users):
            self.fail(1, f"user{number}")


@pytest.fixture
def guesser(transport: InProcessTransport) -> Guesser:
    return Guesser(transport)


VALID_LOGIN: Final = ("demo", "console-demo")


# One user from one address.


def test_the_attempt_after_ten_failures_is_throttled(guesser: Guesser) -> None:
    guesser.fail(USER_LIMIT)
    assert guesser.guess().error == "too_many_requests"


def test_the_right_password_logs_in_after_nine_failures(guesser: Guesser) -> None:
    guesser.fail(USER_LIMIT - 1)
    assert guesser.guess(*VALID_LOGIN).status == 200


def test_the_right_password_is_throttled_past_the_limit(guesser: Guesser) -> None:
    guesser.fail(USER_LIMIT)
    assert guesser.guess(*VALID_LOGIN).error == "too_many_requests"


def test_another_user_from_the_same_address_is_not_throttled(guesser: Guesser) -> None:
    guesser.fail(USER_LIMIT)
    assert guesser.guess("other", "console-other").status == 200


def test_the_same_user_from_another_address_is_not_throttled(transport: InProcessTransport, guesser: Guesser) -> None:
    guesser.fail(USER_LIMIT)
    assert Guesser(transport, "192.0.2.11").guess(*VALID_LOGIN).status == 200


def test_throttling_does_not_affect_live_sessions(demo: ApiClient, guesser: Guesser) -> None:
    guesser.fail(USER_LIMIT)
    assert demo.call("GetUrlList").status == 200


def test_known_and_unknown_users_are_throttled_alike(transport: InProcessTransport) -> None:
    known, unknown = Guesser(transport, "192.0.2.10"), Guesser(transport, "192.0.2.11")
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
    assert guesser.guess(*VALID_LOGIN).status == 200


# What counts.


def test_a_throttled_attempt_does_not_count_as_failure(guesser: Guesser, clock: FakeClock, data: Path) -> None:
    guesser.fail(USER_LIMIT)
    clock.moment += 100
    for _ in range(30):
        assert guesser.guess().error == "too_many_requests"
    assert len(rows(data, login_failures)) == USER_LIMIT
    clock.moment += WINDOW - 100
    assert guesser.guess(*VALID_LOGIN).status == 200


def test_a_throttled_attempt_is_not_in_the_audit_log(guesser: Guesser, data: Path) -> None:
    guesser.fail(USER_LIMIT)
    guesser.guess()
    assert [row.event for row in rows(data, access_audit)] == ["login_refused"] * USER_LIMIT


def test_a_successful_login_clears_the_users_failures(guesser: Guesser) -> None:
    for _ in range(3):
        guesser.fail(USER_LIMIT - 1)
        assert guesser.guess(*VALID_LOGIN).status == 200


def test_a_successful_login_keeps_failures_of_other_users(guesser: Guesser) -> None:
    guesser.fail(USER_LIMIT - 1, "other")
    assert guesser.guess(*VALID_LOGIN).status == 200
    guesser.fail(1, "other")
    assert guesser.guess("other", "console-other").error == "too_many_requests"


def test_a_successful_login_keeps_failures_of_other_addresses(transport: InProcessTransport, guesser: Guesser) -> None:
    guesser.fail(USER_LIMIT)
    assert Guesser(transport, "192.0.2.11").guess(*VALID_LOGIN).status == 200
    assert guesser.guess(*VALID_LOGIN).error == "too_many_requests"


def test_successful_logins_do_not_reset_the_address_limit(guesser: Guesser) -> None:
    for number in range(ADDRESS_LIMIT):
        guesser.fail(1, f"user{number}")
        if number % 9 == 0 and number < ADDRESS_LIMIT - 1:
            assert guesser.guess(*VALID_LOGIN).status == 200
    assert guesser.guess(*VALID_LOGIN).error == "too_many_requests"


def test_successful_logins_are_never_throttled(guesser: Guesser, data: Path) -> None:
    for _ in range(ADDRESS_LIMIT + 5):
        assert guesser.guess(*VALID_LOGIN).status == 200
    assert rows(data, login_failures) == []


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"csrfmiddlewaretoken": "0" * 64}, "csrf_failed"),
        ({"password": ""}, "missing_field"),
        ({"region": "https://elsewhere.example"}, "unknown_region"),
    ],
)
def test_requests_rejected_before_the_password_check_do_not_count(
    anonymous_client: ApiClient, data: Path, changes: dict[str, str], error: str
) -> None:
    for _ in range(USER_LIMIT + 1):
        assert anonymous_client.login(**changes).error == error
    assert rows(data, login_failures) == []
    assert anonymous_client.login().status == 200


# One address.


def test_an_address_with_100_failures_is_throttled_for_every_user(
    transport: InProcessTransport, guesser: Guesser
) -> None:
    guesser.fail_as_users(ADDRESS_LIMIT)
    assert guesser.guess("never-tried").error == "too_many_requests"
    assert guesser.guess(*VALID_LOGIN).error == "too_many_requests"
    assert Guesser(transport, "192.0.2.11").guess(*VALID_LOGIN).status == 200


def test_an_address_with_99_failures_is_not_throttled(guesser: Guesser) -> None:
    guesser.fail_as_users(ADDRESS_LIMIT - 1)
    assert guesser.guess(*VALID_LOGIN).status == 200


def test_an_address_is_throttled_until_a_failure_expires(guesser: Guesser, clock: FakeClock) -> None:
    guesser.fail_as_users(1)
    clock.moment += 10
    guesser.fail_as_users(ADDRESS_LIMIT - 1, first=1)
    clock.moment += WINDOW - 11
    assert guesser.guess(*VALID_LOGIN).header("Retry-After") == "1"
    clock.moment += 1
    assert guesser.guess(*VALID_LOGIN).status == 200


@pytest.mark.parametrize(
    ("first", "second", "is_shared"),
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
def test_addresses_of_one_network_share_the_count(
    transport: InProcessTransport, first: str, second: str, is_shared: bool
) -> None:
    Guesser(transport, first).fail(USER_LIMIT)
    assert Guesser(transport, second).guess(*VALID_LOGIN).status == (429 if is_shared else 200)


def test_an_ipv6_network_shares_the_address_limit(transport: InProcessTransport, guesser: Guesser) -> None:
    for number in range(ADDRESS_LIMIT):
        guesser.address = f"2001:db8::{number:x}"
        guesser.fail(1, f"user{number}")
    guesser.address = "2001:db8::ffff"
    assert guesser.guess(*VALID_LOGIN).error == "too_many_requests"
    guesser.address = "2001:db8:0:1::"
    assert guesser.guess(*VALID_LOGIN).status == 200


# The window and the wait.


def test_a_failure_counts_for_five_minutes(guesser: Guesser, clock: FakeClock) -> None:
    guesser.fail(USER_LIMIT)
    clock.moment += WINDOW - 1
    assert guesser.guess(*VALID_LOGIN).error == "too_many_requests"


def test_a_failure_expires_after_five_minutes(guesser: Guesser, clock: FakeClock) -> None:
    guesser.fail(USER_LIMIT)
    clock.moment += WINDOW
    assert guesser.guess(*VALID_LOGIN).status == 200


def test_the_window_slides(guesser: Guesser, clock: FakeClock) -> None:
    for _ in range(USER_LIMIT):
        guesser.fail(1)
        clock.moment += 20
    # The first failure is 200 seconds old; when it is 300, exactly one more attempt is allowed.
    assert guesser.guess().error == "too_many_requests"
    clock.moment += 100
    guesser.fail(1)
    assert guesser.guess().error == "too_many_requests"
    clock.moment += 20
    guesser.fail(1)
    assert guesser.guess().error == "too_many_requests"


@pytest.mark.parametrize(
    ("waited", "retry_after"), [(0, 60), (100, 60), (239, 60), (240, 60), (241, 59), (290, 10), (299, 1)]
)
def test_retry_after_is_the_remaining_time_up_to_a_minute(
    guesser: Guesser, clock: FakeClock, waited: int, retry_after: int
) -> None:
    guesser.fail(USER_LIMIT)
    clock.moment += waited
    reply = guesser.guess()
    assert reply.error == "too_many_requests"
    assert reply.header("Retry-After") == str(retry_after)
    assert re.findall(r"[0-9]+", reply.envelope["message"]) == [str(retry_after)]


def test_retry_after_is_the_longer_of_two_waits(guesser: Guesser, clock: FakeClock) -> None:
    guesser.fail_as_users(ADDRESS_LIMIT - USER_LIMIT)
    clock.moment += 20
    guesser.fail(USER_LIMIT)
    clock.moment += 270
    assert guesser.guess("other").header("Retry-After") == "10"
    assert guesser.guess("demo").header("Retry-After") == "30"
    clock.moment += 10
    assert guesser.guess("other").error == "invalid_credentials"
    assert guesser.guess("demo").header("Retry-After") == "20"


def test_retry_after_is_rounded_up_to_whole_seconds(guesser: Guesser, clock: FakeClock) -> None:
    guesser.fail(USER_LIMIT)
    clock.moment += WINDOW - 0.25
    assert guesser.guess().header("Retry-After") == "1"


def test_only_a_429_has_retry_after(guesser: Guesser) -> None:
    assert guesser.guess().header("Retry-After") is None
    assert guesser.guess(*VALID_LOGIN).header("Retry-After") is None


def test_the_next_failure_deletes_expired_ones(guesser: Guesser, clock: FakeClock, data: Path) -> None:
    guesser.fail(5)
    clock.moment += WINDOW
    guesser.fail(1)
    assert len(rows(data, login_failures)) == 1


def test_throttling_never_outlasts_the_window(guesser: Guesser, clock: FakeClock) -> None:
    for _ in range(5):
        guesser.fail(USER_LIMIT)
        assert guesser.guess().error == "too_many_requests"
        clock.moment += WINDOW
    assert guesser.guess(*VALID_LOGIN).status == 200


# Concurrent attempts and several workers.


def statuses(replies: list[Reply]) -> Counter[int]:
    return Counter(reply.status for reply in replies)


AT_ONCE = QUEUE_LIMIT // 4
"""Queue share of a network after a failed login, which is visible on PostgreSQL while the others still wait."""


def test_ten_of_many_concurrent_wrong_guesses_are_checked(transport: InProcessTransport, guesser: Guesser) -> None:
    replies = transport.gather(*(guesser.aguess() for _ in range(AT_ONCE)))
    assert statuses(replies) == {401: USER_LIMIT, 429: AT_ONCE - USER_LIMIT}


def test_a_right_guess_queued_behind_wrong_ones_is_throttled(transport: InProcessTransport, guesser: Guesser) -> None:
    guesser.fail(1)  # puts all of them in one tier, in order
    *wrong, right = transport.gather(*(guesser.aguess() for _ in range(AT_ONCE - 1)), guesser.aguess(*VALID_LOGIN))
    assert statuses(wrong) == {401: USER_LIMIT - 1, 429: AT_ONCE - USER_LIMIT}
    assert right.error == "too_many_requests"
    assert right.set_cookies == {}


def test_concurrent_right_guesses_all_log_in(transport: InProcessTransport, guesser: Guesser) -> None:
    assert statuses(transport.gather(*(guesser.aguess(*VALID_LOGIN) for _ in range(40)))) == {200: 40}


def test_workers_share_the_failure_count(
    transport: InProcessTransport, guesser: Guesser, settings: Settings, start_console: StartConsole
) -> None:
    elsewhere = Guesser(start_console(settings))
    guesser.fail(5)
    elsewhere.fail(5)
    assert guesser.guess(*VALID_LOGIN).error == "too_many_requests"
    assert elsewhere.guess(*VALID_LOGIN).error == "too_many_requests"


def test_a_login_on_one_worker_clears_the_count_on_all(
    guesser: Guesser, settings: Settings, start_console: StartConsole
) -> None:
    elsewhere = Guesser(start_console(settings))
    guesser.fail(USER_LIMIT - 1)
    assert elsewhere.guess(*VALID_LOGIN).status == 200
    guesser.fail(USER_LIMIT - 1)


def test_workers_share_the_count_of_concurrent_failures(
    transport: InProcessTransport, guesser: Guesser, settings: Settings, start_console: StartConsole
) -> None:
    elsewhere = Guesser(start_console(settings, share_loop_with=transport))
    replies = transport.gather(*(each.aguess() for _ in range(20) for each in (guesser, elsewhere)))
    assert statuses(replies) == {401: USER_LIMIT, 429: 40 - USER_LIMIT}


def test_the_failure_count_survives_a_restart(
    guesser: Guesser, settings: Settings, start_console: StartConsole
) -> None:
    guesser.fail(USER_LIMIT)
    assert Guesser(start_console(settings)).guess(*VALID_LOGIN).error == "too_many_requests"


# Equal wording and timing.


@pytest.mark.parametrize("language", ["en", "zh"])
def test_failed_logins_do_not_reveal_the_reason(guesser: Guesser, data: Path, language: str) -> None:
    change_account(data, "other", disabled=True)
    replies = []
    for username, password in (("demo", "wrong"), ("nobody", "wrong"), ("other", "console-other"), ("other", "wrong")):
        headers, body = guesser.request(username, password)
        reply = guesser.transport.send("POST", "/auth/login/", [*headers, ("Accept-Language", language)], body)
        assert reply.error == "invalid_credentials"
        replies.append(reply)
    assert len({reply.body for reply in replies}) == 1
    headers_sent = [[(name, value) for name, value in reply.headers if name != "x-request-id"] for reply in replies]
    assert all(headers == headers_sent[0] for headers in headers_sent)


@pytest.mark.parametrize(
    ("username", "password"),
    [("demo", "wrong"), ("nobody", "wrong"), ("other", "console-other"), ("other", "wrong"), ("demo", "console-demo")],
)
def test_every_login_checks_one_password_against_one_hash(
    guesser: Guesser, data: Path, monkeypatch: pytest.MonkeyPatch, username: str, password: str
) -> None:
    change_account(data, "other", disabled=True)
    checked: list[str] = []

    def recording(password_hash: str, given: str) -> bool:
        checked.append(given)
        assert password_hash.startswith("$argon2id$")
        return password_matches(password_hash, given)

    monkeypatch.setattr(identity, "password_matches", recording)
    guesser.guess(username, password)
    assert checked == [password]


def test_a_throttled_login_checks_no_password(guesser: Guesser, monkeypatch: pytest.MonkeyPatch) -> None:
    guesser.fail(USER_LIMIT)
    checked: list[str] = []

    def recording(_hash: str, given: str) -> bool:
        checked.append(given)
        return True

    monkeypatch.setattr(identity, "password_matches", recording)
    guesser.guess(*VALID_LOGIN)
    assert checked == []


# The order of a login's checks.


def test_a_login_is_checked_in_order(transport: InProcessTransport, guesser: Guesser, clock: FakeClock) -> None:
    guesser.fail(USER_LIMIT)
    headers = {"Host": "evil.example", "Content-Type": JSON, "Cookie": f"csrftoken={guesser.token}"}
    fields = {"csrfmiddlewaretoken": "0" * 64, "username": "", "password": "wrong", "region": "https://no.example"}
    padding = b"&x=" + b"y" * 70_000

    def send() -> str:
        transport.address = guesser.address
        reply = transport.send("POST", "/auth/login/", list(headers.items()), urlencode(fields).encode() + padding)
        return "logged in" if reply.status == 200 else reply.error

    # Everything is wrong at first; each step fixes only what was reported.
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
    fields["region"] = f"{transport.base}/v3"
    assert send() == "too_many_requests"
    clock.moment += WINDOW
    assert send() == "invalid_credentials"
    fields["password"] = "console-demo"
    assert send() == "logged in"


@pytest.mark.parametrize("origin", ["http://evil.example", "null"])
def test_a_foreign_origin_is_rejected_before_fields_are_checked(
    transport: InProcessTransport, guesser: Guesser, origin: str
) -> None:
    headers = [("Content-Type", FORM), ("Origin", origin), *cookie_header(csrftoken=guesser.token)]
    body = f"csrfmiddlewaretoken={guesser.token}".encode()
    assert transport.send("POST", "/auth/login/", headers, body).error == "csrf_failed"


@pytest.mark.parametrize("field", ["username", "password", "region"])
@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_or_empty_field_is_named(anonymous_client: ApiClient, field: str, value: str | None) -> None:
    reply = anonymous_client.login(**{field: value})  # type: ignore[arg-type]
    assert (reply.error, reply.envelope["field"]) == ("missing_field", field)


# Behind a proxy.


@pytest.fixture
def proxied(settings: Settings, start_console: StartConsole) -> Guesser:
    """Client behind a configured proxy."""
    proxies = (ip_network("10.0.0.0/8"), ip_network("2001:db8:aaaa::/48"))
    return Guesser(start_console(replace(settings, proxies=proxies)), "10.0.0.1")


def fail_from(guesser: Guesser, *chains: str) -> None:
    for chain in chains:
        assert guesser.guess(forwarded_for=chain).error == "invalid_credentials"


def test_behind_a_proxy_the_forwarded_address_is_throttled(proxied: Guesser) -> None:
    fail_from(proxied, *["203.0.113.1"] * USER_LIMIT)
    assert proxied.guess(*VALID_LOGIN, forwarded_for="203.0.113.1").error == "too_many_requests"
    assert proxied.guess(*VALID_LOGIN, forwarded_for="203.0.113.2").status == 200


def test_forwarded_addresses_added_by_the_client_are_ignored(proxied: Guesser) -> None:
    fail_from(proxied, *(f"198.51.100.{number}, 203.0.113.1" for number in range(USER_LIMIT)))
    assert proxied.guess(*VALID_LOGIN, forwarded_for="198.51.100.99, 203.0.113.1").error == "too_many_requests"


def test_other_configured_proxies_in_the_chain_are_skipped(proxied: Guesser) -> None:
    fail_from(proxied, *["203.0.113.1, 10.3.2.1, 2001:db8:aaaa::7"] * USER_LIMIT)
    assert proxied.guess(*VALID_LOGIN, forwarded_for="203.0.113.1").error == "too_many_requests"


@pytest.mark.parametrize(
    "nearest", ["::ffff:203.0.113.1", "203.0.113.1:4711", "[::ffff:203.0.113.1]:4711", "[::ffff:cb00:7101]"]
)
def test_spellings_of_a_forwarded_address_count_as_one(proxied: Guesser, nearest: str) -> None:
    fail_from(proxied, *(f"198.51.100.{number}, {nearest}" for number in range(USER_LIMIT)))
    assert proxied.guess(*VALID_LOGIN, forwarded_for="203.0.113.1").error == "too_many_requests"


@pytest.mark.parametrize(
    "nearest", ["", "unknown", "a.b.c", "_hidden", "203.0.113.256", "[", "1.2.3", "::ffff:1.2.3.4.5"]
)
def test_an_invalid_entry_does_not_let_clients_spoof_an_address(proxied: Guesser, nearest: str) -> None:
    fail_from(proxied, *(f"198.51.100.{number}, {nearest}" for number in range(USER_LIMIT)))
    assert proxied.guess(*VALID_LOGIN, forwarded_for=f"198.51.100.99, {nearest}").error == "too_many_requests"


def test_a_chain_of_only_proxies_counts_as_the_proxy(proxied: Guesser) -> None:
    fail_from(proxied, *["10.0.0.3, 10.0.0.2"] * USER_LIMIT)
    assert proxied.guess(*VALID_LOGIN, forwarded_for="10.0.0.3").error == "too_many_requests"
    assert proxied.guess(*VALID_LOGIN).error == "too_many_requests"


def test_forwarded_addresses_from_other_peers_are_ignored(proxied: Guesser) -> None:
    proxied.address = "192.0.2.50"
    fail_from(proxied, *(f"198.51.100.{number}" for number in range(USER_LIMIT)))
    assert proxied.guess(*VALID_LOGIN, forwarded_for="198.51.100.99").error == "too_many_requests"
    assert proxied.guess(*VALID_LOGIN).error == "too_many_requests"


def test_without_proxies_forwarded_addresses_are_ignored(guesser: Guesser) -> None:
    guesser.address = "127.0.0.1"
    fail_from(guesser, *(f"198.51.100.{number}" for number in range(USER_LIMIT)))
    assert guesser.guess(*VALID_LOGIN, forwarded_for="198.51.100.99").error == "too_many_requests"


def test_the_audit_log_has_the_forwarded_address(proxied: Guesser, data: Path) -> None:
    proxied.guess(forwarded_for="198.51.100.1, 203.0.113.1")
    proxied.guess(forwarded_for="2001:db8:1:2:3::4")
    assert [row.address for row in rows(data, access_audit)] == ["203.0.113.1", "2001:db8:1:2:3::4"]
