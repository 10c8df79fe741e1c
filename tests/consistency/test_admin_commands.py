"""Changes through the admin commands, and their recorded outcomes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from consistency.admin_commands import AdminCommands, WriteResult, make_store
from consistency.generators import Change
from consistency.initial_cloud import Cloud
from sqlalchemy.exc import OperationalError

from cloudconsole.server.config.settings import Settings
from consistency import admin_commands

CLOUD = Cloud(1)
VOLUME = {"kind": "volume", "vcpus": 0, "ram": 0, "size": 5, "ended": False}
FIELDS = {"tenant": "t1", "id": "r", "kind": "volume", "name": "r", "node": "n-1", "size": 5}
ADDED = Change(("resource", "t1", "r"), "add", VOLUME, FIELDS)
OTHER = ADDED._replace(value={**VOLUME, "size": 6}, fields={**FIELDS, "size": 6})
REMOVED = ADDED._replace(verb="remove", value=None, fields={})
QUOTA = Change(("quota", "t1"), "change", {}, {"cores": 7})
REJECTED = WriteResult("rejected", problem="id: resource r already exists")


@pytest.fixture
def commands(tmp_path: Path) -> AdminCommands:
    settings = Settings(data=tmp_path / "data")
    make_store(settings, CLOUD)
    return AdminCommands(settings, CLOUD)


def test_outcomes_of_repeated_changes(commands: AdminCommands) -> None:
    def outcome(change: Change, *, is_retry: bool = False) -> tuple[str, bool]:
        result = commands.apply(change, is_retry=is_retry)
        assert result is not None
        return result.outcome, result.changed

    assert outcome(ADDED, is_retry=True) == ("ok", True), "a retry of a failed change makes it"
    assert commands.apply(ADDED) == REJECTED
    assert commands.apply(OTHER, is_retry=True) == REJECTED
    assert outcome(ADDED, is_retry=True) == ("ok", False), "a retry of a successful change is a no-op"
    assert [outcome(REMOVED), outcome(REMOVED, is_retry=True)] == [("ok", True), ("ok", False)]
    assert [outcome(QUOTA), outcome(QUOTA)] == [("ok", True), ("ok", False)]


def test_a_failure_of_the_store_leaves_the_outcome_unknown(
    commands: AdminCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Iterator[None]:
        raise OperationalError("COMMIT", {}, Exception("the connection was lost"))

    monkeypatch.setattr(admin_commands, "_apply", fail)
    result = commands.apply(ADDED)
    assert result is not None
    assert (result.outcome, result.problem[:17]) == ("unknown", "OperationalError:")
