"""Sessions, logins and login throttling."""

import pytest
from consistency.history import Login, Response

from tests.consistency.history_builder import ACCOUNT, DISABLED, ENABLED, HistoryBuilder

OTHER_PASSWORD = {"disabled": False, "password": "p1"}


@pytest.fixture
def builder() -> HistoryBuilder:
    return HistoryBuilder()


def test_a_session_is_valid_on_all_replicas_from_its_login_on(builder: HistoryBuilder) -> None:
    session = builder.login(1, 2)
    builder.use(2.1, 2.2, session)
    assert builder.problems == []
    builder.use(2.3, 2.4, session, 401)
    assert builder.problem == "valid session rejected"


def test_a_session_is_rejected_after_the_acknowledged_logout(builder: HistoryBuilder) -> None:
    session = builder.login(1, 2)
    builder.logout(3, 4, session)
    builder.use(4.1, 4.2, session, 401)
    assert builder.problems == []
    builder.use(4.3, 4.4, session)
    assert builder.problem == "session accepted 0.300 s after its logout was acknowledged at 4.000"


@pytest.mark.parametrize("status", [200, 401])
def test_a_read_concurrent_with_the_logout_may_be_accepted_or_rejected(builder: HistoryBuilder, status: int) -> None:
    session = builder.login(1, 2)
    builder.logout(3, 4, session)
    builder.use(3.9, 9, session, status)
    assert builder.problems == []


@pytest.mark.parametrize("status", [200, 401])
@pytest.mark.parametrize("lost", [None, 503, 500])
def test_after_a_logout_of_unknown_outcome_a_session_may_be_accepted_or_rejected(
    builder: HistoryBuilder, status: int, lost: int | None
) -> None:
    session = builder.login(1, 2)
    builder.logout(3, 4, session, lost)
    builder.use(8, 9, session, status)
    assert [problem for problem in builder.problems if "session" in problem or "accepted" in problem] == []


def test_a_rejected_session_stays_rejected(builder: HistoryBuilder) -> None:
    session = builder.login(1, 2)
    builder.logout(3, 4, session, None)
    builder.use(5, 6, session, 401)
    builder.use(6.5, 7, session)
    assert builder.problems == []
    builder.use(6.7, 7, session)
    assert builder.problem == "session accepted 0.700 s after it was rejected"


@pytest.mark.parametrize("status", [None, 503, 429])
def test_a_failed_request_says_nothing_about_the_session(builder: HistoryBuilder, status: int | None) -> None:
    session = builder.login(1, 2)
    builder.use(3, 4, session, status)
    assert not [problem for problem in builder.problems if "Retry-After" not in problem]


@pytest.mark.parametrize("value", [DISABLED, OTHER_PASSWORD, ENABLED], ids=["disabled", "password", "ended"])
def test_a_change_of_the_account_ends_its_sessions(builder: HistoryBuilder, value: dict[str, object]) -> None:
    session = builder.login(1, 2)
    builder.write(3, 4, ACCOUNT, value)
    builder.use(3.1, 3.2, session)
    builder.use(3.3, 3.4, session, 401)
    builder.use(5, 6, session, 401)
    assert builder.problems == []
    builder.use(5, 6, session)
    assert "after the change of its account" in builder.problem


def test_a_session_opened_during_a_change_of_the_account_may_have_ended_or_not(builder: HistoryBuilder) -> None:
    session = builder.login(1, 2)
    builder.write(1.5, 2.5, ACCOUNT, ENABLED)
    builder.use(5, 6, session)
    builder.use(5, 6, session, 401)
    assert builder.problems == []


def test_a_session_opened_after_a_change_is_not_ended_by_it(builder: HistoryBuilder) -> None:
    builder.write(1, 2, ACCOUNT, OTHER_PASSWORD)
    session = builder.login(3, 4, password="p1")
    builder.use(5, 6, session, 401)
    assert builder.problem == "valid session rejected"


def test_a_no_op_retry_ends_only_sessions_opened_before_the_first_attempt(builder: HistoryBuilder) -> None:
    before = builder.login(0, 0.5)
    builder.write(1, 2, ACCOUNT, OTHER_PASSWORD, "unknown")
    builder.write(3, 4, ACCOUNT, OTHER_PASSWORD, "unknown")
    meanwhile = builder.login(2.2, 2.4, password="p1")
    builder.write(5, 6, ACCOUNT, OTHER_PASSWORD, changed=False)
    builder.use(7, 8, meanwhile)
    builder.use(7, 8, before, 401)
    assert builder.problems == []
    builder.use(7, 8, before)
    assert "after the change of its account" in builder.problem


@pytest.mark.parametrize("status", [200, 401])
def test_a_change_of_unknown_outcome_may_have_ended_a_session_or_not(builder: HistoryBuilder, status: int) -> None:
    session = builder.login(1, 2)
    builder.write(3, 4, ACCOUNT, DISABLED, "unknown")
    builder.use(9, 10, session, status)
    assert builder.problems == []


@pytest.mark.parametrize(
    ("password", "status", "problem"),
    [
        ("p0", 200, None),
        ("p0", 401, "login rejected with valid credentials"),
        ("p1", 401, None),
        ("p1", 200, "login accepted with invalid credentials"),
        ("p0", None, None),
    ],
)
def test_a_login_succeeds_if_and_only_if_the_password_is_valid(
    builder: HistoryBuilder, password: str, status: int | None, problem: str | None
) -> None:
    builder.login(1, 2, status, password)
    assert builder.problems == ([] if problem is None else [problem])


@pytest.mark.parametrize(
    ("time", "status", "is_right"),
    [
        ((1, 2), 401, False),
        ((3.5, 3.6), 401, True),
        ((3.5, 3.6), 200, True),
        ((5, 6), 200, False),
        ((5, 6), 401, True),
        ((7.5, 7.6), 200, True),
        ((9, 10), 401, False),
    ],
)
def test_a_disabled_account_cannot_log_in_until_it_is_enabled(
    builder: HistoryBuilder, time: tuple[float, float], status: int, is_right: bool
) -> None:
    builder.write(3, 4, ACCOUNT, DISABLED)
    builder.write(7, 8, ACCOUNT, ENABLED)
    builder.login(*time, status)
    assert (builder.problems == []) is is_right


def test_a_successful_logout_of_an_ended_session_is_detected(builder: HistoryBuilder) -> None:
    session = builder.login(1, 2)
    builder.logout(3, 4, session)
    builder.logout(5, 6, session, 401)
    assert builder.problems == []
    builder.logout(5, 6, session)
    assert "after its logout" in builder.problems[-1]


THROTTLED = Response(429, "too_many_requests", "60")
FAILED = Response(401, "invalid_credentials")


def guess(builder: HistoryBuilder, moment: float, response: Response, account: str = "unknown") -> None:
    builder.history.add(
        Login(begin=moment, end=moment + 0.5, account=account, password="a guess", replica=0, response=response)
    )


def test_logins_are_throttled_after_ten_failures(builder: HistoryBuilder) -> None:
    for moment in range(10):
        guess(builder, moment, FAILED)
    guess(builder, 10, THROTTLED)
    assert builder.problems == []


def test_an_eleventh_failure_is_detected(builder: HistoryBuilder) -> None:
    for _ in range(10):
        guess(builder, 1, FAILED)
    guess(builder, 2, FAILED)
    assert builder.problem == "login not throttled: failure 11 within 300 s"


@pytest.mark.parametrize("response", [Response(None, "ReadTimeout"), Response(503, "unavailable", "1")])
def test_a_login_of_unknown_outcome_may_count_as_a_failure_or_not(builder: HistoryBuilder, response: Response) -> None:
    for _ in range(9):
        guess(builder, 1, FAILED)
    guess(builder, 2, response)
    guess(builder, 3, FAILED)
    guess(builder, 4, THROTTLED)
    assert builder.problems == []


@pytest.mark.parametrize("failures", [0, 9])
def test_throttling_too_early_is_detected(builder: HistoryBuilder, failures: int) -> None:
    for _ in range(failures):
        guess(builder, 1, FAILED)
    guess(builder, 2, THROTTLED)
    assert builder.problem == f"login throttled after {failures} failures"


def test_failures_expire_after_five_minutes(builder: HistoryBuilder) -> None:
    for _ in range(10):
        guess(builder, 1, FAILED)
    guess(builder, 320, FAILED)
    assert builder.problems == []
    guess(builder, 330, THROTTLED)
    assert builder.problem == "login throttled after 1 failures"


def test_a_successful_login_resets_the_count(builder: HistoryBuilder) -> None:
    for moment in range(6):
        guess(builder, moment, FAILED, "u1")
    builder.login(7, 8)
    for moment in range(10, 16):
        guess(builder, moment, FAILED, "u1")
    assert builder.problems == []


def test_a_login_without_an_account_is_detected(builder: HistoryBuilder) -> None:
    builder.login(1, 2, account="unknown")
    assert builder.problem == "login accepted with invalid credentials"


@pytest.mark.parametrize("failures", [9, 10])
def test_after_healing_throttling_still_requires_ten_failures(builder: HistoryBuilder, failures: int) -> None:
    for _ in range(failures):
        guess(builder, 1, FAILED)
    builder.healed(5)
    guess(builder, 6, THROTTLED)
    assert builder.problems == ([] if failures == 10 else ["login throttled after 9 failures"])
