"""Sessions accepted after their end, or refused before it, are found out; so are logins that ended wrongly."""

import pytest

from tests.history.story import ACCOUNT, DISABLED, ENABLED, Story

OTHER_PASSWORD = {"disabled": False, "password": "p1"}


@pytest.fixture
def story() -> Story:
    return Story()


def test_a_session_is_good_everywhere_from_its_login_on(story: Story) -> None:
    session = story.login(1, 2)
    story.enter(2.1, 2.2, session)
    assert story.problems == []
    story.enter(2.3, 2.4, session, 401)
    assert story.problem == "refused, though nothing had ended the session"


def test_a_call_after_the_logout_was_acknowledged_is_refused(story: Story) -> None:
    session = story.login(1, 2)
    story.logout(3, 4, session)
    story.enter(4.1, 4.2, session, 401)
    assert story.problems == []
    story.enter(4.3, 4.4, session)
    assert story.problem == "accepted 0.300 s after its logout was acknowledged at 4.000"


@pytest.mark.parametrize("status", [200, 401])
def test_a_call_beside_the_logout_may_be_let_in_or_not(story: Story, status: int) -> None:
    session = story.login(1, 2)
    story.logout(3, 4, session)
    story.enter(3.9, 9, session, status)
    assert story.problems == []


@pytest.mark.parametrize("status", [200, 401])
@pytest.mark.parametrize("lost", [None, 503, 500])
def test_after_a_logout_of_unknown_outcome_a_call_may_be_let_in_or_not(
    story: Story, status: int, lost: int | None
) -> None:
    session = story.login(1, 2)
    story.logout(3, 4, session, lost)
    story.enter(8, 9, session, status)
    assert [problem for problem in story.problems if "session" in problem or "accepted" in problem] == []


def test_a_session_that_was_refused_does_not_come_back(story: Story) -> None:
    session = story.login(1, 2)
    story.logout(3, 4, session, None)
    story.enter(5, 6, session, 401)
    story.enter(6.5, 7, session)
    assert story.problems == []
    story.enter(6.7, 7, session)
    assert story.problem == "accepted 0.700 s after it was refused"


@pytest.mark.parametrize("status", [None, 503, 429])
def test_no_answer_says_nothing_about_a_session(story: Story, status: int | None) -> None:
    session = story.login(1, 2)
    story.enter(3, 4, session, status)
    assert not [problem for problem in story.problems if "Retry-After" not in problem]


@pytest.mark.parametrize("value", [DISABLED, OTHER_PASSWORD, ENABLED], ids=["disabled", "password", "ended"])
def test_a_change_of_the_account_ends_its_sessions(story: Story, value: dict[str, object]) -> None:
    session = story.login(1, 2)
    story.write(3, 4, ACCOUNT, value)
    story.enter(3.1, 3.2, session)
    story.enter(3.3, 3.4, session, 401)
    story.enter(5, 6, session, 401)
    assert story.problems == []
    story.enter(5, 6, session)
    assert "after its account's change" in story.problem


def test_a_session_opened_while_the_account_changed_may_be_of_before_or_after(story: Story) -> None:
    session = story.login(1, 2)
    story.write(1.5, 2.5, ACCOUNT, ENABLED)
    story.enter(5, 6, session)
    story.enter(5, 6, session, 401)
    assert story.problems == []


def test_a_session_opened_after_a_change_is_not_ended_by_it(story: Story) -> None:
    story.write(1, 2, ACCOUNT, OTHER_PASSWORD)
    session = story.login(3, 4, password="p1")
    story.enter(5, 6, session, 401)
    assert story.problem == "refused, though nothing had ended the session"


def test_a_change_found_made_when_done_again_ends_only_sessions_from_before_it_was_first_tried(story: Story) -> None:
    before = story.login(0, 0.5)
    story.write(1, 2, ACCOUNT, OTHER_PASSWORD, "unknown")
    story.write(3, 4, ACCOUNT, OTHER_PASSWORD, "unknown")
    meanwhile = story.login(2.2, 2.4, password="p1")
    story.write(5, 6, ACCOUNT, OTHER_PASSWORD, changed=False)
    story.enter(7, 8, meanwhile)
    story.enter(7, 8, before, 401)
    assert story.problems == []
    story.enter(7, 8, before)
    assert "after its account's change" in story.problem


@pytest.mark.parametrize("status", [200, 401])
def test_a_change_of_unknown_outcome_may_have_ended_a_session_or_not(story: Story, status: int) -> None:
    session = story.login(1, 2)
    story.write(3, 4, ACCOUNT, DISABLED, "unknown")
    story.enter(9, 10, session, status)
    assert story.problems == []


@pytest.mark.parametrize(
    ("password", "status", "problem"),
    [
        ("p0", 200, None),
        ("p0", 401, "refused, though the password was right"),
        ("p1", 401, None),
        ("p1", 200, "let in, though the account could not log in so"),
        ("p0", None, None),
    ],
)
def test_a_login_ends_as_its_password_says(
    story: Story, password: str, status: int | None, problem: str | None
) -> None:
    story.login(1, 2, status, password)
    assert story.problems == ([] if problem is None else [problem])


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
    story: Story, time: tuple[float, float], status: int, is_right: bool
) -> None:
    story.write(3, 4, ACCOUNT, DISABLED)
    story.write(7, 8, ACCOUNT, ENABLED)
    story.login(*time, status)
    assert (story.problems == []) is is_right


def test_a_logout_of_a_session_that_was_over_is_found_out(story: Story) -> None:
    session = story.login(1, 2)
    story.logout(3, 4, session)
    story.logout(5, 6, session, 401)
    assert story.problems == []
    story.logout(5, 6, session)
    assert "after its logout" in story.problems[-1]
