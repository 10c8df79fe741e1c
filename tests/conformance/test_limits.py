"""Limits of a run: once one is reached, only logouts are sent."""

import pytest

from cloudconsole.conformance import limits
from cloudconsole.conformance.limits import MAX_REQUESTS, MAX_UNANSWERED, LimitExceeded, RunLimits

LOGIN = ("POST", "/auth/login/")


def test_requests_are_reserved_for_logouts() -> None:
    run_limits = RunLimits({})
    run_limits.reserved_logouts = 9
    for _ in range(MAX_REQUESTS - 9):
        run_limits.spend("GET", "/api/", b"")
    with pytest.raises(LimitExceeded, match="the limit of 199 requests"):
        run_limits.spend("GET", "/api/", b"")
    run_limits.begin_logouts()
    for _ in range(9):
        run_limits.spend("POST", "/auth/logout/", b"")
    with pytest.raises(LimitExceeded):
        run_limits.spend("POST", "/auth/logout/", b"")
    assert run_limits.requests == MAX_REQUESTS


def test_run_time_is_limited_except_for_logouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_RUN_SECONDS", 0.0)
    run_limits = RunLimits({})
    with pytest.raises(LimitExceeded, match="s for the whole run is over"):
        run_limits.spend("GET", "/api/", b"")
    run_limits.begin_logouts()
    run_limits.spend("POST", "/auth/logout/", b"")


def test_logouts_are_sent_after_unanswered_requests() -> None:
    run_limits = RunLimits({})
    run_limits.unanswered = MAX_UNANSWERED
    with pytest.raises(LimitExceeded, match="the last 3 requests got no response"):
        run_limits.spend("GET", "/api/", b"")
    run_limits.begin_logouts()
    run_limits.spend("POST", "/auth/logout/", b"")


@pytest.mark.parametrize(
    "body",
    [
        b"username=demo&password=wrong",
        b"username=nobody&password=console-demo",
        b"username=demo",
        b"password=console-demo",
        b"",
        b'{"username":"demo","password":"wrong"}',
        b"[]",
        b"\xff",
        b"username=demo&password=console-demo&password=x",
    ],
)
def test_login_without_known_credentials_counts_as_wrong(body: bytes) -> None:
    run_limits = RunLimits({"demo": "console-demo"})
    run_limits.verify("demo")
    for _ in range(2):
        run_limits.spend(*LOGIN, body)
    with pytest.raises(LimitExceeded, match="2 wrong logins"):
        run_limits.spend(*LOGIN, body)
    run_limits.spend(*LOGIN, b"username=demo&password=console-demo")
    assert (run_limits.requests, run_limits.wrong_logins) == (3, 2)


def test_given_password_counts_as_wrong_until_verified() -> None:
    run_limits = RunLimits({"demo": "console-demo"})
    for _ in range(2):
        run_limits.spend(*LOGIN, b"username=demo&password=console-demo")
    with pytest.raises(LimitExceeded):
        run_limits.spend(*LOGIN, b"username=demo&password=console-demo")
    for _ in range(2):
        run_limits.verify("demo")
        assert run_limits.wrong_logins == 0


def test_verifying_one_account_does_not_verify_another() -> None:
    run_limits = RunLimits({"demo": "console-demo", "other": "console-other"})
    run_limits.spend(*LOGIN, b"username=other&password=console-other")
    run_limits.spend(*LOGIN, b"username=demo&password=console-demo")
    run_limits.verify("demo")
    assert run_limits.wrong_logins == 1
