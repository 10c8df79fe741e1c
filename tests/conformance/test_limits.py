"""What a run may cost: whoever reaches a bound makes no more requests, but logs out."""

import pytest

from cloudconsole.conformance import limits as budgets
from cloudconsole.conformance.limits import MAX_REQUESTS, MAX_UNANSWERED, LimitExceeded, RunLimits

LOGIN = ("POST", "/auth/login/")


def test_requests_are_kept_back_for_those_who_are_to_log_out() -> None:
    budget = RunLimits({})
    budget.reserved_logouts = 9
    for _ in range(MAX_REQUESTS - 9):
        budget.spend("GET", "/api/", b"")
    with pytest.raises(LimitExceeded, match="the limit of 199 requests"):
        budget.spend("GET", "/api/", b"")
    budget.begin_logouts()
    for _ in range(9):
        budget.spend("POST", "/auth/logout/", b"")
    with pytest.raises(LimitExceeded):
        budget.spend("POST", "/auth/logout/", b"")
    assert budget.requests == MAX_REQUESTS


def test_a_run_has_an_end_and_time_to_leave_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "MAX_RUN_SECONDS", 0.0)
    budget = RunLimits({})
    with pytest.raises(LimitExceeded, match="s for the whole run is over"):
        budget.spend("GET", "/api/", b"")
    budget.begin_logouts()
    budget.spend("POST", "/auth/logout/", b"")


def test_who_got_no_answers_may_still_try_to_leave() -> None:
    budget = RunLimits({})
    budget.unanswered = MAX_UNANSWERED
    with pytest.raises(LimitExceeded, match="the last 3 requests got no response"):
        budget.spend("GET", "/api/", b"")
    budget.begin_logouts()
    budget.spend("POST", "/auth/logout/", b"")


def test_all_logins_with_a_password_that_proves_right_were_right() -> None:
    budget = RunLimits({"demo": "console-demo"})
    for _ in range(2):
        budget.spend(*LOGIN, b"username=demo&password=console-demo")
    assert budget.wrong_logins == 2
    for _ in range(2):
        budget.verify("demo")
        assert budget.wrong_logins == 0


def test_one_account_proves_nothing_of_another() -> None:
    budget = RunLimits({"demo": "console-demo", "other": "console-other"})
    budget.spend(*LOGIN, b"username=other&password=console-other")
    budget.spend(*LOGIN, b"username=demo&password=console-demo")
    budget.verify("demo")
    assert budget.wrong_logins == 1
