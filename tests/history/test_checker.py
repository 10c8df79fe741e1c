"""Answers that there should not be, what the store lost, and recordings that cannot be checked."""

from pathlib import Path

import msgspec
import pytest
from history.checker import check
from history.recording import Answer, Fault, Recording, RecordingError, Write, load

from tests.history.story import QUOTA, Story, limited, resource, volume


@pytest.fixture
def story() -> Story:
    return Story()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Answer(503, "unavailable", "1"), None),
        (Answer(429, "too_many_requests", "60"), None),
        (Answer(None, "ReadTimeout"), None),
        (Answer(503, "unavailable"), "503 without a sensible Retry-After"),
        (Answer(503, "unavailable", "soon"), "503 without a sensible Retry-After"),
        (Answer(429, "too_many_requests"), "429 without a sensible Retry-After"),
        (Answer(500, "internal_error"), "no answer that there should be: 500 internal_error"),
        (Answer(403, "csrf_failed"), "no answer that there should be: 403 csrf_failed"),
        (Answer(302), "no answer that there should be: 302 "),
    ],
)
def test_only_sensible_refusals_are_let_pass(story: Story, answer: Answer, problem: str | None) -> None:
    story.call(3, 4, story.login(1, 2), answer)
    assert story.problems == ([] if problem is None else [problem])


@pytest.mark.parametrize("answer", [Answer(503, "unavailable", "1"), Answer(None, "ReadTimeout")])
def test_once_nothing_is_broken_any_more_every_call_is_served(story: Story, answer: Answer) -> None:
    session = story.login(1, 2)
    story.quiet(5)
    story.call(4, 6, session, answer)
    assert story.problems == []
    story.call(6, 7, session, answer)
    assert story.problem.startswith("not served, though nothing was broken any more")


def test_once_nothing_is_broken_any_more_no_change_fails(story: Story) -> None:
    story.quiet(5)
    story.write(6, 7, QUOTA, limited(20), "unknown")
    assert story.problem.startswith("a change failed")


def test_the_store_has_what_was_acknowledged(story: Story) -> None:
    story.write(1, 2, QUOTA, limited(20))
    story.write(3, 4, resource("a"), volume(5))
    story.stored(5, 6, (QUOTA, limited(20)), (resource("a"), volume(5)))
    assert story.problems == []


@pytest.mark.parametrize("held", [[(QUOTA, limited(20))], [(resource("a"), volume(5))]])
def test_what_the_store_lost_is_found_out(story: Story, held: list[tuple[tuple[str, ...], object]]) -> None:
    story.write(1, 2, QUOTA, limited(20))
    story.write(3, 4, resource("a"), volume(5))
    story.stored(5, 6, *held)
    assert story.problem.startswith("lost: ")


def test_what_nobody_wrote_is_found_in_the_store(story: Story) -> None:
    story.stored(5, 6, (resource("a"), volume(5)))
    assert story.problem.startswith("lost: in the store resource t1 a is")


@pytest.mark.parametrize("held", [[], [(resource("a"), volume(5))]])
def test_what_was_of_unknown_outcome_may_be_in_the_store_or_not(
    story: Story, held: list[tuple[tuple[str, ...], object]]
) -> None:
    story.write(3, 4, resource("a"), volume(5), "unknown")
    story.stored(5, 6, *held)
    assert story.problems == []


def test_wrong_counters_are_found_out(story: Story) -> None:
    story.stored(5, 6, wrong=("volume of tenant t1",))
    assert story.problem == "counters are not what the resources are: volume of tenant t1"


def test_operations_are_counted_by_how_they_ended(story: Story) -> None:
    session = story.login(1, 2)
    story.call(3, 4, session, Answer(503, "unavailable", "1"))
    story.call(3, 4, session, Answer(None, "ReadTimeout"))
    story.write(3, 4, QUOTA, limited(20))
    story.write(5, 6, QUOTA, limited(20), changed=False)
    (write,) = (each for each in story.recording.operations if isinstance(each, Write) and each.changed)
    story.recording.add(msgspec.structs.replace(write, begin=7, end=8, outcome="unknown", replica=0))
    story.recording.add(Fault(begin=1, end=2, target="replica-1", kind="killed"))
    assert check(story.recording).counts == {
        ("login", "200"): 1,
        ("GetFlavors", "503 unavailable"): 1,
        ("GetFlavors", "unknown"): 1,
        ("quota set", "done"): 1,
        ("quota set", "already so"): 1,
        ("quota set at the pages", "unknown"): 1,
        ("fault of replica-1", "killed"): 1,
    }


def test_a_finding_shows_the_operation(story: Story) -> None:
    story.login(1, 2, 500)
    (finding,) = check(story.recording).findings
    assert "500" in str(finding)
    assert "account='u1'" in str(finding)


def test_a_register_with_two_writers_at_once_cannot_be_checked(story: Story) -> None:
    story.write(1, 3, QUOTA, limited(20))
    story.write(2, 4, QUOTA, limited(30))
    with pytest.raises(RecordingError, match="quota t1 has two writers at 2"):
        check(story.recording)


def test_a_session_that_nobody_opened_cannot_be_checked(story: Story) -> None:
    story.enter(1, 2, "s9")
    with pytest.raises(RecordingError, match="nobody opened the session s9"):
        check(story.recording)


def test_a_recording_is_kept_whole(story: Story, tmp_path: Path) -> None:
    session = story.login(1, 2)
    story.logout(3, 4, session, None)
    story.volumes(3, 4, 5)
    story.write(3, 4, resource("a"), volume(5), "unknown")
    story.stored(5, 6, wrong=("x",))
    story.quiet(7)
    story.recording.save(tmp_path / "history.jsonl")
    again = load(tmp_path / "history.jsonl")
    assert again.beginning == story.recording.beginning
    assert again.operations == story.recording.operations
    assert check(again).findings == check(story.recording).findings != []


@pytest.mark.parametrize(
    ("text", "line"), [("", 1), ("{}\n", 1), ("not JSON\n", 1), ('BEGINNING\n{"what": "call"}\n', 2)]
)
def test_a_file_that_is_no_recording_is_refused(story: Story, tmp_path: Path, text: str, line: int) -> None:
    file = tmp_path / "history.jsonl"
    Recording(story.recording.beginning).save(file)
    file.write_text(text.replace("BEGINNING\n", file.read_text()))
    with pytest.raises(RecordingError, match=f"line {line}: "):
        load(file)
