"""Operators make what is planned, and tell what became of it; the store holds it."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from history.cloud import Cloud
from history.operators import Made, Operators, make_store
from history.plan import Change, Planner, planners
from sqlalchemy.exc import OperationalError

from cloudconsole.server.config.settings import Settings
from history import operators

CLOUD = Cloud(1)
ADDED = Change(
    ("resource", "t1", "r"),
    "add",
    {"kind": "volume", "vcpus": 0, "ram": 0, "size": 5, "ended": False},
    {"tenant": "t1", "id": "r", "kind": "volume", "name": "r", "node": "n-1", "size": 5},
)
OTHER = ADDED._replace(value={**ADDED.value, "size": 6}, given={**ADDED.given, "size": 6})
REMOVED = ADDED._replace(verb="remove", value=None, given={})


@pytest.fixture(scope="module")
def made_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the cloud; copy it, never change it."""
    folder = tmp_path_factory.mktemp("cloud") / "data"
    make_store(Settings(data=folder), CLOUD)
    return folder


@pytest.fixture
def settings(made_store: Path, tmp_path: Path) -> Settings:
    return Settings(data=copytree(made_store, tmp_path / "data"))


@pytest.fixture
def at_work(settings: Settings) -> Operators:
    return Operators(settings, CLOUD)


def test_the_store_begins_with_the_cloud(at_work: Operators) -> None:
    assert dict(at_work.stored()) == dict(CLOUD.values())


def test_whatever_is_planned_can_be_made_and_is_what_the_store_holds_then(at_work: Operators) -> None:
    now = dict(CLOUD.values())
    for planner in planners(CLOUD, 3):
        for _ in range(4):
            change = planner.next()
            at_work.expect(change)
            assert at_work.make(change) == Made("done"), change
            planner.done(change)
            now[change.register] = change.value
    held = {register: value for register, value in now.items() if value is not None}
    assert dict(at_work.stored()) == held
    assert at_work.wrong_counters() == []


def test_a_refusal_is_told(at_work: Operators) -> None:
    at_work.make(ADDED)
    assert at_work.make(ADDED) == Made("refused", problem="id: there is a resource r already")


@pytest.mark.parametrize("changes", [[ADDED], [ADDED, REMOVED]], ids=["added", "removed"])
def test_what_is_done_again_and_found_made_is_done(at_work: Operators, changes: list[Change]) -> None:
    for change in changes:
        at_work.make(change)
    made = at_work.make(changes[-1], again=True)
    assert made is not None
    assert (made.outcome, made.changed) == ("done", False)


def test_what_is_done_again_and_refused_for_another_reason_is_refused(at_work: Operators) -> None:
    at_work.make(ADDED)
    assert at_work.make(OTHER, again=True) == Made("refused", problem="id: there is a resource r already")


def test_what_had_not_been_made_is_made_when_done_again(at_work: Operators) -> None:
    assert at_work.make(ADDED, again=True) == Made("done")


def test_a_change_to_what_it_is_changes_nothing(at_work: Operators) -> None:
    quota = Change(("quota", "t1"), "change", {}, {"cores": 7})
    assert [at_work.make(quota) for _ in range(2)] == [Made("done"), Made("done", changed=False)]


def test_a_failure_of_the_store_leaves_the_outcome_unknown(at_work: Operators, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Iterator[None]:
        raise OperationalError("COMMIT", {}, Exception("the connection was lost"))

    monkeypatch.setattr(operators, "_do", fail)
    made = at_work.make(ADDED)
    assert made is not None
    assert (made.outcome, made.problem[:17]) == ("unknown", "OperationalError:")


def test_where_the_store_is_not_reached_nothing_was_tried(tmp_path: Path) -> None:
    assert Operators(Settings(data=tmp_path / "none"), CLOUD).make(ADDED) is None


def test_a_password_that_nobody_gave_is_not_taken_for_one(settings: Settings) -> None:
    planner: Planner
    (planner,) = (each for each in planners(CLOUD, 1) if "AccountPlanner" in type(each).__name__)
    change = next(change for change in iter(planner.next, None) if change.verb == "password")
    assert Operators(settings, CLOUD).make(change) == Made("done")
    forgetful = dict(Operators(settings, CLOUD).stored())
    assert forgetful[change.register]["password"] == "one that nobody gave"
