"""Failed logins that are throttled too early or too late are found out."""

import pytest
from history.recording import Answer, Login

from tests.history.story import Story

THROTTLED = Answer(429, "too_many_requests", "60")
FAILED = Answer(401, "invalid_credentials")


def guess(story: Story, moment: float, answer: Answer, account: str = "nobody") -> None:
    story.recording.add(
        Login(begin=moment, end=moment + 0.5, account=account, password="a guess", replica=0, answer=answer)
    )


@pytest.fixture
def story() -> Story:
    return Story()


def test_ten_failures_are_told_and_then_no_more(story: Story) -> None:
    for moment in range(10):
        guess(story, moment, FAILED)
    guess(story, 10, THROTTLED)
    assert story.problems == []


def test_an_eleventh_failure_is_found_out(story: Story) -> None:
    for _ in range(10):
        guess(story, 1, FAILED)
    guess(story, 2, FAILED)
    assert story.problem == "not throttled: failure 11 within 300 s"


@pytest.mark.parametrize("answer", [Answer(None, "ReadTimeout"), Answer(503, "unavailable", "1")])
def test_one_of_unknown_outcome_may_have_been_counted_or_not(story: Story, answer: Answer) -> None:
    for _ in range(9):
        guess(story, 1, FAILED)
    guess(story, 2, answer)
    guess(story, 3, FAILED)
    guess(story, 4, THROTTLED)
    assert story.problems == []


@pytest.mark.parametrize("failures", [0, 9])
def test_who_is_throttled_too_early_is_found_out(story: Story, failures: int) -> None:
    for _ in range(failures):
        guess(story, 1, FAILED)
    guess(story, 2, THROTTLED)
    assert story.problem == f"throttled after {failures} failures"


def test_failures_are_forgotten_after_five_minutes(story: Story) -> None:
    for _ in range(10):
        guess(story, 1, FAILED)
    guess(story, 320, FAILED)
    assert story.problems == []
    guess(story, 330, THROTTLED)
    assert story.problem == "throttled after 1 failures"


def test_who_gets_in_begins_anew(story: Story) -> None:
    for moment in range(6):
        guess(story, moment, FAILED, "u1")
    story.login(7, 8)
    for moment in range(10, 16):
        guess(story, moment, FAILED, "u1")
    assert story.problems == []


def test_nobody_gets_in_who_has_no_account(story: Story) -> None:
    story.login(1, 2, account="nobody")
    assert story.problem == "let in, though the account could not log in so"


@pytest.mark.parametrize("failures", [9, 10])
def test_once_nothing_is_broken_only_who_has_failed_too_often_is_throttled(story: Story, failures: int) -> None:
    for _ in range(failures):
        guess(story, 1, FAILED)
    story.quiet(5)
    guess(story, 6, THROTTLED)
    assert story.problems == ([] if failures == 10 else ["throttled after 9 failures"])
