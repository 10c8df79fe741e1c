"""What a run may cost: whoever reaches a bound makes no more requests, but logs out."""

import pytest

from cloudconsole.conformance import limits as budgets
from cloudconsole.conformance.limits import MOST_REQUESTS, MOST_UNANSWERED, LimitExceeded, RunLimits

LOGIN = ("POST", "/auth/login/")


def test_requests_are_kept_back_for_those_who_are_to_log_out() -> None:
    budget = RunLimits({})
    budget.farewells = 9
    for _ in range(MOST_REQUESTS - 9):
        budget.spend("GET", "/api/", b"")
    with pytest.raises(LimitExceeded, match="no more than 199 requests"):
        budget.spend("GET", "/api/", b"")
    budget.leave()
    for _ in range(9):
        budget.spend("POST", "/auth/logout/", b"")
    with pytest.raises(LimitExceeded):
        budget.spend("POST", "/auth/logout/", b"")
    assert budget.requests == MOST_REQUESTS


def test_a_run_has_an_end_and_time_to_leave_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "LONGEST_RUN", 0.0)
    budget = RunLimits({})
    with pytest.raises(LimitExceeded, match="s are over, which all may take together"):
        budget.spend("GET", "/api/", b"")
    budget.leave()
    budget.spend("POST", "/auth/logout/", b"")


def test_who_got_no_answers_may_still_try_to_leave() -> None:
    budget = RunLimits({})
    budget.unanswered = MOST_UNANSWERED
    with pytest.raises(LimitExceeded, match="the last 3 requests got no answer"):
        budget.spend("GET", "/api/", b"")
    budget.leave()
    budget.spend("POST", "/auth/logout/", b"")


def test_all_logins_with_a_password_that_proves_right_were_right() -> None:
    budget = RunLimits({"demo": "console-demo"})
    for _ in range(2):
        budget.spend(*LOGIN, b"username=demo&password=console-demo")
    assert budget.wrong_logins == 2
    for _ in range(2):
        budget.prove("demo")
        assert budget.wrong_logins == 0


def test_one_account_proves_nothing_of_another() -> None:
    budget = RunLimits({"demo": "console-demo", "other": "console-other"})
    budget.spend(*LOGIN, b"username=other&password=console-other")
    budget.spend(*LOGIN, b"username=demo&password=console-demo")
    budget.prove("demo")
    assert budget.wrong_logins == 1
