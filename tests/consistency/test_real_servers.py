"""Changes through the admin commands, and a short round on real servers."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from consistency.admin_commands import AdminCommands, WriteResult, make_store
from consistency.checker import check
from consistency.deployment import EmbeddedDeployment
from consistency.fault_injection import FaultAction
from consistency.generators import Change
from consistency.history import FinalRead, Healed, History, Write
from consistency.initial_cloud import Cloud
from consistency.runner import Round, record_round
from sqlalchemy import update
from sqlalchemy.exc import OperationalError

from cloudconsole.server.commands.admin.store import store
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.tables import billing_entries
from consistency import admin_commands

CLOUD = Cloud(2)
VOLUME = {"kind": "volume", "vcpus": 0, "ram": 0, "size": 5, "ended": False}
FIELDS = {"tenant": "t1", "id": "r", "kind": "volume", "name": "r", "node": "n-1", "size": 5}
ADDED = Change(("resource", "t1", "r"), "add", VOLUME, FIELDS)
OTHER = ADDED._replace(value={**VOLUME, "size": 6}, fields={**FIELDS, "size": 6})
REMOVED = ADDED._replace(verb="remove", value=None, fields={})
QUOTA = Change(("quota", "t1"), "change", {}, {"cores": 7})
REJECTED = WriteResult("rejected", problem="id: resource r already exists")


@pytest.fixture
def commands(tmp_path: Path) -> AdminCommands:
    settings = commands_settings(tmp_path)
    make_store(settings, CLOUD)
    return AdminCommands(settings, CLOUD)


def commands_settings(folder: Path) -> Settings:
    return Settings(data=folder / "data")


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


def test_costs_that_contradict_each_other_are_found(commands: AdminCommands, tmp_path: Path) -> None:
    assert commands.apply(ADDED) == WriteResult("ok")
    assert commands.wrong_costs() == []
    with store(commands_settings(tmp_path)) as engine, engine.begin() as connection:
        # A correction of the month, whose row is later.
        later = {"correction": "5", "recorded_at": billing_entries.c.recorded_at + 400 * 86_400}
        connection.execute(update(billing_entries).values(later))
    (found,) = commands.wrong_costs()
    assert re.fullmatch(r"rows of \d{4}-\d\d of tenant t1: [\d.]+ instead of [\d.]+", found)


class FaultFree(EmbeddedDeployment):
    def fault_groups(self) -> list[list[FaultAction]]:
        return []


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    with FaultFree(tmp_path_factory.mktemp("deployment"), CLOUD) as deployment:
        return asyncio.run(record_round(Round(1, 300, 4, CLOUD), deployment))


def test_a_history_of_real_servers_has_no_anomalies(history: History) -> None:
    checked = check(history)
    assert checked.anomalies == []
    assert checked.counts.total() >= 300
    seen = {what for what, _ in checked.counts}
    assert {"login", "logout", "GetNews", "login (admin UI)", "admin page"} <= seen
    assert {"quota change", "resource add"} <= {what.removesuffix(" (admin UI)") for what in seen}


def test_a_round_ends_with_a_final_read_after_healing(history: History) -> None:
    assert isinstance(history.operations[-1], FinalRead)
    (healed,) = (operation for operation in history.operations if isinstance(operation, Healed))
    assert all(operation.end <= healed.begin for operation in history.operations if isinstance(operation, Write))


def test_removing_any_last_write_from_the_history_is_detected(history: History) -> None:
    """Mutation test of the checker on a real history."""
    last = {operation.register: operation for operation in history.operations if isinstance(operation, Write)}
    assert last
    for change in last.values():
        others = [operation for operation in history.operations if operation is not change]
        assert check(History(history.initial_state, others)).anomalies, change
