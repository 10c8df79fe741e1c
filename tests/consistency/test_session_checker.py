"""Sessions, logins and login throttling."""

from collections.abc import Callable

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


UNDECIDED: dict[str, Callable[[HistoryBuilder, str], None]] = {
    "concurrent logout": lambda builder, session: builder.logout(3, 9, session),
    "lost logout": lambda builder, session: builder.logout(3, 4, session, None),
    "rejected logout": lambda builder, session: builder.logout(3, 4, session, 503),
    "failed logout": lambda builder, session: builder.logout(3, 4, session, 500),
    "change of unknown outcome": lambda builder, _: builder.write(3, 4, ACCOUNT, DISABLED, "unknown"),
    "login during a change": lambda builder, _: builder.write(1.5, 2.5, ACCOUNT, ENABLED),
}


@pytest.mark.parametrize("status", [200, 401])
@pytest.mark.parametrize("event", UNDECIDED)
def test_a_session_that_may_have_ended_may_be_accepted_or_rejected(
    builder: HistoryBuilder, event: str, status: int
) -> None:
    session = builder.login(1, 2)
    UNDECIDED[event](builder, session)
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


@pytest.mark.parametrize(
    ("account", "password", "status", "problem"),
    [
        ("u1", "p0", 200, None),
        ("u1", "p0", 401, "login rejected with valid credentials"),
        ("u1", "p1", 401, None),
        ("u1", "p1", 200, "login accepted with invalid credentials"),
        ("unknown", "p0", 200, "login accepted with invalid credentials"),
        ("u1", "p0", None, None),
    ],
)
def test_a_login_succeeds_if_and_only_if_the_password_is_valid(
    builder: HistoryBuilder, account: str, password: str, status: int | None, problem: str | None
) -> None:
    builder.login(1, 2, status, password, account)
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
LOST = Response(None, "ReadTimeout")
UNAVAILABLE = Response(503, "unavailable", "1")


def guess(builder: HistoryBuilder, moment: float, response: Response, account: str = "unknown") -> None:
    builder.history.add(
        Login(begin=moment, end=moment + 0.5, account=account, password="a guess", replica=0, response=response)
    )


@pytest.mark.parametrize(
    ("failures", "later", "problem"),
    [
        (10, [(2, THROTTLED)], None),
        (10, [(2, FAILED)], "login not throttled: failure 11 within 300 s"),
        (9, [(2, THROTTLED)], "login throttled after 9 failures"),
        (0, [(2, THROTTLED)], "login throttled after 0 failures"),
        # A login of unknown outcome may count as a failure or not.
        (9, [(2, LOST), (3, FAILED), (4, THROTTLED)], None),
        (9, [(2, UNAVAILABLE), (3, FAILED), (4, THROTTLED)], None),
        # Failures expire after five minutes.
        (10, [(320, FAILED)], None),
        (10, [(320, FAILED), (330, THROTTLED)], "login throttled after 1 failures"),
    ],
)
def test_logins_are_throttled_after_ten_failures(
    builder: HistoryBuilder, failures: int, later: list[tuple[float, Response]], problem: str | None
) -> None:
    for _ in range(failures):
        guess(builder, 1, FAILED)
    for moment, response in later:
        guess(builder, moment, response)
    assert builder.problems == ([] if problem is None else [problem])


def test_a_successful_login_resets_the_count(builder: HistoryBuilder) -> None:
    for moment in range(6):
        guess(builder, moment, FAILED, "u1")
    builder.login(7, 8)
    for moment in range(10, 16):
        guess(builder, moment, FAILED, "u1")
    assert builder.problems == []


@pytest.mark.parametrize("failures", [9, 10])
def test_after_healing_throttling_still_requires_ten_failures(builder: HistoryBuilder, failures: int) -> None:
    for _ in range(failures):
        guess(builder, 1, FAILED)
    builder.healed(5)
    guess(builder, 6, THROTTLED)
    assert builder.problems == ([] if failures == 10 else ["login throttled after 9 failures"])
