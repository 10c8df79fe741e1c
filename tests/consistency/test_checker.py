"""Unexpected responses, lost writes, sessions, logins, and histories that cannot be checked."""

import msgspec
import pytest
from consistency.checker import check
from consistency.history import Fault, HistoryError, Login, Response, Write

from tests.consistency.history_builder import (
    ACCOUNT,
    DISABLED,
    ENABLED,
    QUOTA,
    HistoryBuilder,
    limited,
    resource,
    volume,
)


@pytest.fixture
def builder() -> HistoryBuilder:
    return HistoryBuilder()


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        (Response(503, "unavailable", "1"), None),
        (Response(429, "too_many_requests", "60"), None),
        (Response(None, "ReadTimeout"), None),
        (Response(503, "unavailable"), "503 without a valid Retry-After"),
        (Response(503, "unavailable", "soon"), "503 without a valid Retry-After"),
        (Response(429, "too_many_requests"), "429 without a valid Retry-After"),
        (Response(500, "internal_error"), "unexpected response: 500 internal_error"),
        (Response(403, "csrf_failed"), "unexpected response: 403 csrf_failed"),
        (Response(302), "unexpected response: 302 "),
    ],
)
def test_only_valid_rejections_are_accepted(builder: HistoryBuilder, response: Response, problem: str | None) -> None:
    builder.read(3, 4, builder.login(1, 2), response)
    assert builder.problems == ([] if problem is None else [problem])


@pytest.mark.parametrize("response", [Response(503, "unavailable", "1"), Response(None, "ReadTimeout")])
def test_after_healing_every_request_succeeds(builder: HistoryBuilder, response: Response) -> None:
    session = builder.login(1, 2)
    builder.healed(5)
    builder.read(4, 6, session, response)
    assert builder.problems == []
    builder.read(6, 7, session, response)
    assert builder.problem.startswith("request failed without an active fault")


def test_after_healing_no_write_fails(builder: HistoryBuilder) -> None:
    builder.healed(5)
    builder.write(6, 7, QUOTA, limited(20), "unknown")
    assert builder.problem.startswith("write failed without an active fault")


NEW_QUOTA, ADDED = (QUOTA, limited(20)), (resource("a"), volume(5))


@pytest.mark.parametrize(
    ("outcome", "stored", "is_lost"),
    [
        ("ok", [NEW_QUOTA, ADDED], False),
        ("ok", [NEW_QUOTA], True),
        ("ok", [ADDED], True),
        ("unknown", [NEW_QUOTA], False),
        ("unknown", [NEW_QUOTA, ADDED], False),
        ("unknown", [NEW_QUOTA, ADDED, (resource("never written"), volume(5))], True),
    ],
)
def test_a_lost_write_is_detected(
    builder: HistoryBuilder, outcome: str, stored: list[tuple[tuple[str, ...], object]], is_lost: bool
) -> None:
    builder.write(1, 2, *NEW_QUOTA)
    builder.write(3, 4, *ADDED, outcome)
    builder.final_read(5, 6, *stored)
    assert [problem[:12] for problem in builder.problems] == (["lost write: "] if is_lost else [])


def test_wrong_counters_are_detected(builder: HistoryBuilder) -> None:
    builder.final_read(5, 6, wrong=("volume of tenant t1",))
    assert builder.problem == "counter differs from the resources: volume of tenant t1"


def test_costs_that_do_not_add_up_are_detected(builder: HistoryBuilder) -> None:
    builder.final_read(5, 6, wrong_costs=["summary of tenant t1: 1 instead of 2"])
    assert builder.problem == "costs do not add up: summary of tenant t1: 1 instead of 2"


def test_operations_are_counted_by_outcome(builder: HistoryBuilder) -> None:
    session = builder.login(1, 2)
    builder.read(3, 4, session, Response(503, "unavailable", "1"))
    builder.read(3, 4, session, Response(None, "ReadTimeout"))
    builder.write(3, 4, QUOTA, limited(20))
    builder.write(5, 6, QUOTA, limited(20), changed=False)
    (write,) = (each for each in builder.history.operations if isinstance(each, Write) and each.changed)
    builder.history.add(msgspec.structs.replace(write, begin=7, end=8, outcome="unknown", replica=0))
    builder.history.add(Fault(begin=1, end=2, target="replica-1", kind="killed"))
    assert check(builder.history).counts == {
        ("login", "200"): 1,
        ("GetFlavors", "503 unavailable"): 1,
        ("GetFlavors", "unknown"): 1,
        ("quota set", "ok"): 1,
        ("quota set", "no-op"): 1,
        ("quota set (admin UI)", "unknown"): 1,
        ("fault: replica-1", "killed"): 1,
    }


def test_concurrent_writes_and_unknown_sessions_cannot_be_checked(builder: HistoryBuilder) -> None:
    builder.use(1, 2, "s9")
    with pytest.raises(HistoryError, match="session s9 was never opened"):
        check(builder.history)
    builder.write(1, 3, QUOTA, limited(20))
    builder.write(2, 4, QUOTA, limited(30))
    with pytest.raises(HistoryError, match="quota t1: concurrent writes at 2"):
        check(builder.history)


# Sessions and logins


OTHER_PASSWORD = {"disabled": False, "password": "p1"}


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


def test_a_rejected_session_stays_rejected(builder: HistoryBuilder) -> None:
    session = builder.login(1, 2)
    builder.logout(3, 4, session, None)
    builder.use(5, 6, session, 401)
    builder.use(6.5, 7, session)
    assert builder.problems == []
    builder.use(6.7, 7, session)
    assert builder.problem == "session accepted 0.700 s after it was rejected"


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


@pytest.mark.parametrize("failures", [9, 10])
def test_after_healing_throttling_still_requires_ten_failures(builder: HistoryBuilder, failures: int) -> None:
    for _ in range(failures):
        guess(builder, 1, FAILED)
    builder.healed(5)
    guess(builder, 6, THROTTLED)
    assert builder.problems == ([] if failures == 10 else ["login throttled after 9 failures"])
