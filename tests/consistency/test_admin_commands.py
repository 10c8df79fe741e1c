"""Changes through the admin commands, their results, and the content of the store."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from consistency.admin_commands import UNKNOWN_PASSWORD, AdminCommands, WriteResult, make_store
from consistency.generators import Change, WriteGenerator, write_generators
from consistency.initial_cloud import Cloud
from sqlalchemy.exc import OperationalError

from cloudconsole.server.config.settings import Settings
from consistency import admin_commands

CLOUD = Cloud(1)
ADDED = Change(
    ("resource", "t1", "r"),
    "add",
    {"kind": "volume", "vcpus": 0, "ram": 0, "size": 5, "ended": False},
    {"tenant": "t1", "id": "r", "kind": "volume", "name": "r", "node": "n-1", "size": 5},
)
OTHER = ADDED._replace(value={**ADDED.value, "size": 6}, fields={**ADDED.fields, "size": 6})
REMOVED = ADDED._replace(verb="remove", value=None, fields={})


@pytest.fixture(scope="module")
def new_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the cloud; copy it, do not change it."""
    folder = tmp_path_factory.mktemp("cloud") / "data"
    make_store(Settings(data=folder), CLOUD)
    return folder


@pytest.fixture
def settings(new_store: Path, tmp_path: Path) -> Settings:
    return Settings(data=copytree(new_store, tmp_path / "data"))


@pytest.fixture
def commands(settings: Settings) -> AdminCommands:
    return AdminCommands(settings, CLOUD)


def test_a_new_store_has_the_initial_cloud(commands: AdminCommands) -> None:
    assert dict(commands.read_store()) == dict(CLOUD.values())


def test_all_generated_changes_succeed_and_are_stored(commands: AdminCommands) -> None:
    now = dict(CLOUD.values())
    for generator in write_generators(CLOUD, 3):
        for _ in range(4):
            change = generator.next()
            commands.expect(change)
            assert commands.apply(change) == WriteResult("ok"), change
            generator.completed(change)
            now[change.register] = change.value
    expected = {register: value for register, value in now.items() if value is not None}
    assert dict(commands.read_store()) == expected
    assert commands.wrong_counters() == []


def test_a_rejection_is_reported(commands: AdminCommands) -> None:
    commands.apply(ADDED)
    assert commands.apply(ADDED) == WriteResult("rejected", problem="id: resource r already exists")


@pytest.mark.parametrize("changes", [[ADDED], [ADDED, REMOVED]], ids=["added", "removed"])
def test_a_retry_of_a_successful_change_is_a_no_op(commands: AdminCommands, changes: list[Change]) -> None:
    for change in changes:
        commands.apply(change)
    made = commands.apply(changes[-1], is_retry=True)
    assert made is not None
    assert (made.outcome, made.changed) == ("ok", False)


def test_a_retry_rejected_for_another_reason_is_rejected(commands: AdminCommands) -> None:
    commands.apply(ADDED)
    assert commands.apply(OTHER, is_retry=True) == WriteResult("rejected", problem="id: resource r already exists")


def test_a_retry_of_a_failed_change_makes_it(commands: AdminCommands) -> None:
    assert commands.apply(ADDED, is_retry=True) == WriteResult("ok")


def test_a_change_to_the_current_value_is_a_no_op(commands: AdminCommands) -> None:
    quota = Change(("quota", "t1"), "change", {}, {"cores": 7})
    assert [commands.apply(quota) for _ in range(2)] == [WriteResult("ok"), WriteResult("ok", changed=False)]


def test_a_failure_of_the_store_leaves_the_outcome_unknown(
    commands: AdminCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Iterator[None]:
        raise OperationalError("COMMIT", {}, Exception("the connection was lost"))

    monkeypatch.setattr(admin_commands, "_apply", fail)
    made = commands.apply(ADDED)
    assert made is not None
    assert (made.outcome, made.problem[:17]) == ("unknown", "OperationalError:")


def test_without_a_store_there_is_no_attempt(tmp_path: Path) -> None:
    assert AdminCommands(Settings(data=tmp_path / "none"), CLOUD).apply(ADDED) is None


def test_an_unexpected_password_is_reported_as_unknown(settings: Settings) -> None:
    generator: WriteGenerator
    (generator,) = (each for each in write_generators(CLOUD, 1) if "AccountGenerator" in type(each).__name__)
    change = next(change for change in iter(generator.next, None) if change.verb == "password")
    assert AdminCommands(settings, CLOUD).apply(change) == WriteResult("ok")
    values = dict(AdminCommands(settings, CLOUD).read_store())
    assert values[change.register]["password"] == UNKNOWN_PASSWORD
