"""What was seen of a cloud: per project, the newest of each, and nothing that is long past."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import Reader, run_with_reader
from cloudconsole.store.observed_resources import ObservedResource, ObservedResources
from tests.stores import open_engine, run, store_in

HOUR = 1_000_800
ENDPOINT, PROJECT = "https://keystone.example", "p"


def seen(resource_id: str, size_gb: int = 1, at: int = HOUR, **more: Any) -> ObservedResource:
    return ObservedResource(
        **{"region": "north", "kind": "volume", "type": None} | more,
        resource_id=resource_id,
        size_gb=size_gb,
        seen_at=at,
    )


class Book:
    def __init__(self, folder: Path, reader: Reader) -> None:
        self.engine = open_engine(folder, "activity")
        self.sightings = ObservedResources(reader, self.engine, self._write)
        self.writes = 0

    def note(
        self, *rows: ObservedResource, since: int = HOUR, project: str = PROJECT, endpoint: str = ENDPOINT
    ) -> None:
        run(self.sightings.record(endpoint, project, rows, since))

    def since(self, moment: int = HOUR, project: str = PROJECT, endpoint: str = ENDPOINT) -> list[ObservedResource]:
        return run(self.sightings.since(endpoint, project, moment))

    async def _write(self, work: Callable[..., None], *arguments: Any) -> None:
        self.writes += 1
        work(*arguments)


@pytest.fixture
def book(folder: Path, reader: Reader) -> Iterator[Book]:
    opened = Book(folder, reader)
    yield opened
    opened.engine.dispose()


def test_what_was_noted_is_found_by_its_project(book: Book) -> None:
    book.note(seen("a"), seen("b", type="ssd", region="south"))
    assert book.since() == [seen("a"), seen("b", type="ssd", region="south")]
    assert book.since(project="another") == []
    assert book.since(endpoint="https://another.example") == []


@pytest.mark.parametrize(("moment", "found"), [(HOUR, True), (HOUR + 1, False)])
def test_only_what_was_seen_since_is_found(book: Book, moment: int, found: bool) -> None:
    book.note(seen("a"))
    assert bool(book.since(moment)) == found


def test_in_a_snapshot_it_is_as_of_its_moment(book: Book, folder: Path) -> None:
    async def note_meanwhile() -> tuple[list[ObservedResource], list[ObservedResource]]:
        async with run_with_reader(store_in(folder)) as another, another.snapshot() as moment:
            await book.sightings.since(ENDPOINT, PROJECT, HOUR, moment)
            await book.sightings.record(ENDPOINT, PROJECT, [seen("a")], HOUR)
            then = await book.sightings.since(ENDPOINT, PROJECT, HOUR, moment)
            return then, await book.sightings.since(ENDPOINT, PROJECT, HOUR)

    assert run(note_meanwhile()) == ([], [seen("a")])


def test_what_is_known_is_not_written_again(book: Book) -> None:
    book.note(seen("a"))
    book.note(seen("a", at=HOUR + 60))
    book.note()
    assert book.writes == 1
    assert book.since() == [seen("a")]


@pytest.mark.parametrize("change", [{"size_gb": 2}, {"type": "ssd"}])
def test_what_has_changed_is(book: Book, change: dict[str, Any]) -> None:
    book.note(seen("a"))
    book.note(seen("a", at=HOUR + 60, **change))
    assert book.since() == [seen("a", at=HOUR + 60, **change)]


def test_of_an_earlier_hour_is_written_anew(book: Book) -> None:
    book.note(seen("a", at=HOUR - 1), since=HOUR - 3600)
    book.note(seen("a"))
    assert book.since() == [seen("a")]


@pytest.mark.parametrize(("at", "stays"), [(HOUR - 3601, False), (HOUR - 3600, True)])
def test_what_is_long_past_goes_whoever_writes(book: Book, at: int, stays: bool) -> None:
    book.note(seen("old", at=at), since=HOUR - 7200, project="another")
    book.note(seen("a"))
    assert bool(book.since(0, project="another")) == stays


def test_a_store_that_cannot_be_written_is_unavailable(book: Book) -> None:
    with book.engine.begin() as connection:
        connection.execute(text("ALTER TABLE sightings ADD COLUMN more INTEGER NOT NULL CHECK (more > 0) DEFAULT 0"))
    with pytest.raises(Unavailable):
        book.note(seen("a"))
    assert book.since() == []


def test_what_was_seen_later_is_not_undone_by_who_saw_it_earlier_and_wrote_it_down_later(book: Book) -> None:
    book.note(seen("a", size_gb=7, at=HOUR + 60))
    book.note(seen("a", size_gb=5, at=HOUR), seen("b"))
    assert book.since() == [seen("a", size_gb=7, at=HOUR + 60), seen("b")]


def test_what_a_cloud_lists_twice_is_written_down_once_as_it_was_last(book: Book) -> None:
    book.note(seen("a", size_gb=5), seen("b"), seen("a", size_gb=7))
    assert book.since() == [seen("a", size_gb=7), seen("b")]
