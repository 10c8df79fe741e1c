"""Login throttling through the console: clock, addresses, proxies, concurrent attempts, workers, equal responses.

The limits themselves are tested with the store.
"""

import re
from collections import Counter
from collections.abc import Coroutine, Hashable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest
from sqlalchemy import insert

from cloudconsole.backends.embedded import identity
from cloudconsole.backends.embedded.identity import QUEUE_LIMIT
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.login_queue import ConcurrencyLimiter, Priority
from cloudconsole.store.activity_writes import hash_username
from cloudconsole.store.tables import access_audit, login_failures
from tests.harness import FORM, ApiClient, FakeClock, HeaderPairs, InProcessTransport, Reply
from tests.server.http.conftest import StartConsole
from tests.server.http.helpers import change_account, cookie_header, login_fields, rows
from tests.stores import write_transaction

WINDOW: Final = 300
USER_LIMIT: Final = 10
VALID_LOGIN: Final = ("demo", "console-demo")


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


@pytest.fixture
def guesser(transport: InProcessTransport) -> Guesser:
    return Guesser(transport)


def test_one_user_is_throttled_at_one_address(transport: InProcessTransport, guesser: Guesser, demo: ApiClient) -> None:
    guesser.fail(USER_LIMIT)
    assert guesser.guess(*VALID_LOGIN).error == "too_many_requests"
    assert guesser.guess("DEMO").error == "invalid_credentials"
    assert guesser.guess("other", "console-other").status == 200
    assert Guesser(transport, "192.0.2.11").guess(*VALID_LOGIN).status == 200
    assert demo.call("GetUrlList").status == 200


def test_priority_of_attempts_depends_on_recent_logins(
    transport: InProcessTransport, guesser: Guesser, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiers: list[Priority] = []
    slot = ConcurrencyLimiter.slot

    def record(limiter: ConcurrencyLimiter, tier: Priority, *owner: Hashable) -> AbstractAsyncContextManager[None]:
        tiers.append(tier)
        return slot(limiter, tier, *owner)

    monkeypatch.setattr(ConcurrencyLimiter, "slot", record)
    guesser.fail(2)
    for _ in range(2):
        assert guesser.guess(*VALID_LOGIN).status == 200
    guesser.fail(1, "other")
    Guesser(transport, "192.0.2.11").fail(1)
    expected = [Priority.PLAIN, Priority.SUSPECT, Priority.SUSPECT, Priority.TRUSTED, Priority.PLAIN, Priority.PLAIN]
    assert tiers == expected


def test_throttled_attempt_checks_no_password_and_leaves_no_record(
    guesser: Guesser, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check_password(_hash: str, _password: str) -> bool:
        raise AssertionError("the password was checked")

    guesser.fail(USER_LIMIT)
    monkeypatch.setattr(identity, "password_matches", check_password)
    for _ in range(3):
        assert guesser.guess(*VALID_LOGIN).error == "too_many_requests"
    assert len(rows(data, login_failures)) == USER_LIMIT
    assert [row.event for row in rows(data, access_audit)] == ["login_refused"] * USER_LIMIT


def test_requests_rejected_before_the_password_check_are_not_counted(anonymous_client: ApiClient, data: Path) -> None:
    rejected = {
        "csrf_failed": {"csrfmiddlewaretoken": "0" * 64},
        "missing_field": {"password": ""},
        "unknown_region": {"region": "https://elsewhere.example"},
    }
    assert [anonymous_client.login(**changes).error for changes in rejected.values()] == list(rejected)
    assert rows(data, login_failures) == []
    for _ in range(USER_LIMIT):
        anonymous_client.login(password="wrong")
    # They are rejected for the same reason while the user is throttled.
    assert [anonymous_client.login(**changes).error for changes in rejected.values()] == list(rejected)
    assert anonymous_client.login().error == "too_many_requests"


def test_addresses_of_one_network_share_the_count(transport: InProcessTransport) -> None:
    Guesser(transport, "2001:db8:0:1::1").fail(USER_LIMIT)
    addresses = ("2001:DB8:0:1:ffff:ffff:ffff:ffff", "2001:db8:0:2::1")
    assert [Guesser(transport, address).guess(*VALID_LOGIN).status for address in addresses] == [429, 200]


# The window and the wait.


@pytest.mark.parametrize(("waited", "retry_after"), [(0, 60), (241, 59), (WINDOW - 0.25, 1), (WINDOW, None)])
def test_retry_after_is_the_remaining_time_up_to_a_minute(
    guesser: Guesser, clock: FakeClock, waited: float, retry_after: int | None
) -> None:
    guesser.fail(USER_LIMIT)
    clock.moment += waited
    reply = guesser.guess()
    assert reply.header("Retry-After") == (None if retry_after is None else str(retry_after))
    if retry_after is not None:
        assert reply.error == "too_many_requests"
        assert re.findall(r"[0-9]+", reply.envelope["message"]) == [str(retry_after)]


def test_retry_after_is_the_longer_of_two_waits(guesser: Guesser, clock: FakeClock, data: Path) -> None:
    """The address waits for the oldest of its 100 failures, and the user for the oldest of 10 later ones."""
    first = int(clock.now())
    demo = {"network": guesser.address, "user_hash": hash_username("demo"), "at": first + 20}
    others = {"network": guesser.address, "user_hash": b"", "at": first}
    with write_transaction(data, "activity") as connection:
        connection.execute(insert(login_failures), [others] * 90 + [demo] * 10)
    clock.moment += 290
    assert [guesser.guess(user).header("Retry-After") for user in ("other", "demo")] == ["10", "30"]
    clock.moment += 10
    assert guesser.guess("other").error == "invalid_credentials"
    assert guesser.guess("demo").header("Retry-After") == "20"


# Concurrent attempts and several workers.


def statuses(replies: list[Reply]) -> Counter[int]:
    return Counter(reply.status for reply in replies)


AT_ONCE = QUEUE_LIMIT // 4
"""Queue share of a network after a failed login, which is visible on PostgreSQL while the others still wait."""


def test_right_guess_queued_behind_wrong_ones_is_throttled(transport: InProcessTransport, guesser: Guesser) -> None:
    guesser.fail(1)  # puts all of them in one tier, in order
    *wrong, right = transport.gather(*(guesser.aguess() for _ in range(AT_ONCE - 1)), guesser.aguess(*VALID_LOGIN))
    assert statuses(wrong) == {401: USER_LIMIT - 1, 429: AT_ONCE - USER_LIMIT}
    assert right.error == "too_many_requests"
    assert right.set_cookies == {}


def test_concurrent_right_guesses_all_log_in(transport: InProcessTransport, guesser: Guesser) -> None:
    assert statuses(transport.gather(*(guesser.aguess(*VALID_LOGIN) for _ in range(40)))) == {200: 40}


def test_workers_share_the_count_of_concurrent_failures(
    transport: InProcessTransport, guesser: Guesser, settings: Settings, start_console: StartConsole
) -> None:
    elsewhere = Guesser(start_console(settings, share_loop_with=transport))
    replies = transport.gather(*(each.aguess() for _ in range(20) for each in (guesser, elsewhere)))
    assert statuses(replies) == {401: USER_LIMIT, 429: 40 - USER_LIMIT}


# Equal responses.


def test_known_and_unknown_users_are_throttled_alike(transport: InProcessTransport) -> None:
    known, unknown = Guesser(transport, "192.0.2.10"), Guesser(transport, "192.0.2.11")
    known.fail(USER_LIMIT)
    unknown.fail(USER_LIMIT, "nobody")
    replies = [known.guess(), unknown.guess("nobody")]
    assert {(reply.error, reply.body, reply.header("Retry-After")) for reply in replies} == {
        ("too_many_requests", replies[0].body, "60")
    }


def test_failed_logins_do_not_reveal_the_reason(guesser: Guesser, data: Path) -> None:
    change_account(data, "other", disabled=True)
    attempts = (("demo", "wrong"), ("nobody", "wrong"), ("other", "console-other"), ("other", "wrong"))
    replies = [guesser.guess(*attempt) for attempt in attempts]
    assert replies[0].error == "invalid_credentials"
    assert len({reply.body for reply in replies}) == 1
    headers = [[(name, value) for name, value in reply.headers if name != "x-request-id"] for reply in replies]
    assert all(each == headers[0] for each in headers)
    assert replies[0].set_cookies == {}


# Behind a proxy.


@pytest.fixture
def proxied(settings: Settings, start_console: StartConsole) -> Guesser:
    """Client behind a configured proxy."""
    return Guesser(start_console(replace(settings, proxies=(ip_network("10.0.0.0/8"),))), "10.0.0.1")


def test_behind_a_proxy_the_forwarded_address_is_throttled(proxied: Guesser) -> None:
    for number in range(USER_LIMIT):
        assert proxied.guess(forwarded_for=f"198.51.100.{number}, 203.0.113.1").error == "invalid_credentials"
    assert proxied.guess(*VALID_LOGIN, forwarded_for="203.0.113.1").error == "too_many_requests"
    assert proxied.guess(*VALID_LOGIN, forwarded_for="203.0.113.2").status == 200


def test_audit_log_has_the_forwarded_address(proxied: Guesser, data: Path) -> None:
    proxied.guess(forwarded_for="198.51.100.1, 203.0.113.1")
    proxied.guess(forwarded_for="2001:db8:1:2:3::4")
    assert [row.address for row in rows(data, access_audit)] == ["203.0.113.1", "2001:db8:1:2:3::4"]
