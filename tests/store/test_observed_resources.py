"""Resources observed in a cloud: the latest observation of each, by project, until it expires."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, text

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import Reader, run_with_reader
from cloudconsole.store.observed_resources import ObservedResource, ObservedResources, tenant_of_project
from cloudconsole.store.tables import tenants
from tests.stores import open_engine, opened, run, store_in

HOUR = 1_000_800
ENDPOINT, PROJECT = "https://keystone.example", "p"


def observed(resource_id: str, size_gb: int = 1, at: int = HOUR, **more: Any) -> ObservedResource:
    return ObservedResource(
        **{"region": "north", "kind": "volume", "type": None} | more,
        resource_id=resource_id,
        size_gb=size_gb,
        seen_at=at,
    )


class Observations:
    def __init__(self, folder: Path, reader: Reader) -> None:
        self.engine = open_engine(folder, "activity")
        self.resources = ObservedResources(reader, self.engine, self._write)
        self.writes = 0

    def record(self, *rows: ObservedResource, since: int = HOUR, project: str = PROJECT) -> None:
        run(self.resources.record(ENDPOINT, project, rows, since))

    def since(self, moment: int = HOUR, project: str = PROJECT, endpoint: str = ENDPOINT) -> list[ObservedResource]:
        return run(self.resources.since(endpoint, project, moment))

    async def _write(self, work: Callable[..., None], *arguments: Any) -> None:
        self.writes += 1
        work(*arguments)


@pytest.fixture
def observations(folder: Path, reader: Reader) -> Iterator[Observations]:
    opened = Observations(folder, reader)
    yield opened
    opened.engine.dispose()


def test_recorded_resources_are_found_by_project(observations: Observations) -> None:
    observations.record(observed("a"), observed("b", type="ssd", region="south"))
    assert observations.since() == [observed("a"), observed("b", type="ssd", region="south")]
    assert observations.since(project="another") == []
    assert observations.since(endpoint="https://another.example") == []


@pytest.mark.parametrize(("moment", "found"), [(HOUR, True), (HOUR + 1, False)])
def test_only_later_observations_are_found(observations: Observations, moment: int, found: bool) -> None:
    observations.record(observed("a"))
    assert bool(observations.since(moment)) == found


def test_snapshot_does_not_see_later_observations(observations: Observations, folder: Path) -> None:
    async def record_meanwhile() -> tuple[list[ObservedResource], list[ObservedResource]]:
        async with run_with_reader(store_in(folder)) as another, another.snapshot() as moment:
            await observations.resources.since(ENDPOINT, PROJECT, HOUR, moment)
            await observations.resources.record(ENDPOINT, PROJECT, [observed("a")], HOUR)
            then = await observations.resources.since(ENDPOINT, PROJECT, HOUR, moment)
            return then, await observations.resources.since(ENDPOINT, PROJECT, HOUR)

    assert run(record_meanwhile()) == ([], [observed("a")])


@pytest.mark.parametrize(
    ("first", "change", "writes"),
    [(HOUR, {}, 1), (HOUR, {"size_gb": 2}, 2), (HOUR, {"type": "ssd"}, 2), (HOUR - 1, {}, 2)],
    ids=["unchanged", "another size", "another type", "an earlier hour"],
)
def test_only_a_changed_or_older_observation_is_written_again(
    observations: Observations, first: int, change: dict[str, Any], writes: int
) -> None:
    observations.record(observed("a", at=first), since=first)
    observations.record(observed("a", at=HOUR + 60, **change))
    observations.record()
    assert observations.writes == writes
    assert observations.since() == [observed("a", at=HOUR + 60 if writes == 2 else first, **change)]


@pytest.mark.parametrize(("at", "stays"), [(HOUR - 3601, False), (HOUR - 3600, True)])
def test_expired_observations_of_all_projects_are_removed(observations: Observations, at: int, stays: bool) -> None:
    observations.record(observed("old", at=at), since=HOUR - 7200, project="another")
    observations.record(observed("a"))
    assert bool(observations.since(0, project="another")) == stays


def test_failed_write_is_unavailable(observations: Observations) -> None:
    with observations.engine.begin() as connection:
        connection.execute(text("ALTER TABLE sightings ADD COLUMN more INTEGER NOT NULL CHECK (more > 0) DEFAULT 0"))
    with pytest.raises(Unavailable):
        observations.record(observed("a"))
    assert observations.since() == []


def test_latest_observation_of_a_resource_is_stored(observations: Observations) -> None:
    observations.record(observed("a", size_gb=5), observed("b"), observed("a", size_gb=7, at=HOUR + 60))
    observations.record(observed("a", size_gb=5, at=HOUR), observed("c"))
    assert observations.since() == [observed("a", size_gb=7, at=HOUR + 60), observed("b"), observed("c")]


# Tenants of OpenStack projects


@pytest.mark.parametrize(
    ("project", "found"),
    [
        ("p@https://id.example.com", (1, False)),
        ("p@HTTPS://ID.example.com:443/v3/", (1, False)),
        ("q@https://id.example.com", (2, True)),
        ("P@https://id.example.com", None),
        ("p@https://other.example.com", None),
    ],
)
def test_tenant_of_a_project(folder: Path, reader: Reader, project: str, found: tuple[int, bool] | None) -> None:
    rows: list[dict[str, Any]] = [
        {"id": 1, "name": "t1", "project": "p@https://id.example.com", "disabled": False},
        {"id": 2, "name": "t2", "project": "q@https://id.example.com", "disabled": True},
        {"id": 3, "name": "t3", "project": None, "disabled": False},
    ]
    with opened(folder, "cloud") as engine, engine.begin() as connection:
        connection.execute(insert(tenants), rows)
    assert run(tenant_of_project(reader, project)) == found
