"""Unexpected responses, lost writes, and histories that cannot be checked."""

from pathlib import Path

import msgspec
import pytest
from consistency.checker import check
from consistency.history import Fault, HistoryError, Response, Write, load

from tests.consistency.history_builder import QUOTA, HistoryBuilder, limited, resource, volume


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


def test_concurrent_writes_of_a_register_cannot_be_checked(builder: HistoryBuilder) -> None:
    builder.write(1, 3, QUOTA, limited(20))
    builder.write(2, 4, QUOTA, limited(30))
    with pytest.raises(HistoryError, match="quota t1: concurrent writes at 2"):
        check(builder.history)


def test_a_session_that_was_never_opened_cannot_be_checked(builder: HistoryBuilder) -> None:
    builder.use(1, 2, "s9")
    with pytest.raises(HistoryError, match="session s9 was never opened"):
        check(builder.history)


def test_a_history_is_saved_and_loaded_unchanged(builder: HistoryBuilder, tmp_path: Path) -> None:
    session = builder.login(1, 2)
    builder.logout(3, 4, session, None)
    builder.volumes(3, 4, 5)
    builder.write(3, 4, resource("a"), volume(5), "unknown")
    builder.final_read(5, 6, wrong=("x",))
    builder.healed(7)
    builder.history.save(tmp_path / "history.jsonl")
    loaded = load(tmp_path / "history.jsonl")
    assert loaded.initial_state == builder.history.initial_state
    assert loaded.operations == builder.history.operations
    assert check(loaded).anomalies == check(builder.history).anomalies != []
